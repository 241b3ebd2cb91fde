package userfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/ndjson"
	"github.com/watchbench/watchbench/internal/userfile"
)

// compressed is text through zstd.
func compressed(t *testing.T, text string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	return string(z.EncodeAll([]byte(text), nil))
}

// TestCheck: two outputs that are one file under whatever name, and a file of somebody
// else, are refused, and nothing is left or changed.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("notes", "mine")
	write("empty", "")
	whole := compressed(t, `{"seq":1}`+"\n")
	write("old", whole)
	write("older", whole)
	write("cut", whole[:len(whole)-9])
	write("other", compressed(t, `{"schema":"x"}`+"\n"))
	write("damaged", whole[:4]+"\xff\xff\xff\xff\xff\xff")
	write("plain", `{"seq":1}`+"\n")
	for link, target := range map[string]string{"link": "new", "oldlink": "old", "folder": dir} {
		if err := os.Symlink(target, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(in("old"), in("hard")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	before := listing(t, dir)
	for _, tc := range []struct{ name, a, b, want string }{
		{"two files", in("new"), in("new2"), ""},
		{"none", "", "", ""},
		{"one alone", "", in("new"), ""},
		{"what an earlier run left", in("old"), in("older"), ""},
		{"an empty file", in("empty"), "", ""},
		{"one new file", in("new"), in("new"), "--b: " + in("new") + " is the file of --a, too; name another one"},
		{"relative and absolute", "new", in("new"), "is the file of --a, too"},
		{"with dots", in("new"), dir + "/./x/../new", "--b: open"},
		{"through a linked folder", in("new"), in("folder/new"), "is the file of --a, too"},
		{"a link to a new file", in("new"), in("link"), "is the file of --a, too"},
		{"a link to an old file", in("oldlink"), in("old"), "is the file of --a, too"},
		{"a hard link", in("old"), in("hard"), "is the file of --a, too"},
		{"somebody else's", in("notes"), "", "--a: " + in("notes") + " is there and is no thing, so it is not overwritten; name another file, or remove it"},
		{"a folder", dir, "", "--a: open " + dir + ": is a directory; name a file"},
		{"no folder", in("nope/x"), "", "no such file or directory; name a file in an existing folder"},
		{"what a killed run left", in("cut"), "", ""},
		{"lines of another sort", in("other"), "", "is no thing"},
		{"not compressed", in("plain"), "", "is no thing"},
		{"damaged", in("damaged"), "", "is no thing"},
	} {
		ours := ndjson.Begins(`{"seq":`)
		err := userfile.CheckOutputs(userfile.Output{Flag: "--a", Path: tc.a, What: "thing", Ours: ours}, userfile.Output{Flag: "--b", Path: tc.b, What: "thing", Ours: ours})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		if after := listing(t, dir); after != before {
			t.Fatalf("%s: the folder was\n%s and is\n%s", tc.name, before, after)
		}
	}
}

// listing is each file with its content.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text := "link"
		if e.Type()&fs.ModeSymlink == 0 {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		all.WriteString(e.Name() + " " + text + "\n")
	}
	return all.String()
}
