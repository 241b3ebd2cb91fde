package assets

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestLockIsCompleteAndNamesNoRegistry(t *testing.T) {
	l := Pinned()
	if l.Name == "" || l.Version == "" || l.File == "" || l.License != "Apache-2.0" {
		t.Errorf("lock is incomplete: %+v", l)
	}
	for _, digest := range []string{l.Integrity, l.FileIntegrity} {
		if !strings.HasPrefix(digest, "sha512-") || len(digest) != len(integrity(nil)) {
			t.Errorf("%q is not a SHA-512 digest", digest)
		}
	}
	data, err := files.ReadFile("echarts.lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "://") {
		t.Error("the lock names a host; the user's npm configuration decides that")
	}
}

func TestNoticeNamesBothAuthors(t *testing.T) {
	for _, want := range []string{"Apache Software Foundation", "Bostock"} {
		if !strings.Contains(Notice(), want) {
			t.Errorf("the notice lacks %q", want)
		}
	}
}

func TestEmbeddedScript(t *testing.T) {
	_, err := os.Stat(scriptFile)
	js, ok := ECharts()
	if err != nil {
		if ok {
			t.Fatal("a script is embedded that is not there")
		}
		t.Skip("built without echarts.min.js (internal/assets/fetch.sh)")
	}
	if !ok {
		t.Fatalf("%s is not the pinned file", scriptFile)
	}
	// Either would break a page that carries the script inline.
	for _, bad := range []string{"</script", "<!--"} {
		if strings.Contains(strings.ToLower(string(js)), bad) {
			t.Errorf("the script contains %q", bad)
		}
	}
}

// fetch runs fetch.sh on a copy of this folder, with npm in front of the PATH.
func fetch(t *testing.T, npm string) (output string, fetched bool, err error) {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"fetch.sh", "echarts.lock.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := bin
	if npm != "" {
		path += ":" + os.Getenv("PATH")
		if err := os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\n"+npm), 0o755); err != nil {
			t.Fatal(err)
		}
	} else {
		for _, tool := range []string{"sed", "dirname"} {
			at, err := exec.LookPath(tool)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(at, filepath.Join(bin, tool)); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command("/bin/sh", filepath.Join(dir, "fetch.sh"))
	cmd.Env = append(os.Environ(), "PATH="+path)
	out, err := cmd.CombinedOutput()
	_, missing := os.Stat(filepath.Join(dir, scriptFile))
	return string(out), missing == nil, err
}

func TestFetchWithoutNpmOrNetwork(t *testing.T) {
	for npm, want := range map[string]string{
		"":                     "npm, which fetches echarts, is not installed",
		"echo offline; exit 1": fmt.Sprintf("npm pack echarts@%s failed", Pinned().Version),
	} {
		out, fetched, err := fetch(t, npm)
		if err != nil || fetched || !strings.Contains(out, want) {
			t.Errorf("npm %q: %v, fetched %t, said %q, want %q", npm, err, fetched, out, want)
		}
	}
}

func TestFetchAcceptsOnlyThePinnedContent(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("needs node, which comes with npm")
	}
	out, fetched, err := fetch(t, "mkdir -p package/dist; echo 'steal()' >package/dist/echarts.min.js; tar -czf echarts.tgz package")
	if err == nil || fetched || !strings.Contains(out, "differs from echarts.lock.json") {
		t.Errorf("another archive: %v, fetched %t, said %q", err, fetched, out)
	}
}
