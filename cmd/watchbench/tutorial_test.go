package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var updateTutorial = flag.Bool("update-tutorial", false, "rewrite the output that docs/first-scenario.md and docs/tune.md show")

// TestTutorial: the files that the pages show are scenarios, and the commands that start
// nothing print what stands there.
func TestTutorial(t *testing.T) {
	for _, page := range []string{"first-scenario.md", "tune.md"} {
		t.Run(page, func(t *testing.T) { tutorial(t, "../../docs/"+page) })
	}
}

func tutorial(t *testing.T, path string) {
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	docs := string(data)
	t.Chdir(t.TempDir())
	for _, f := range shownFiles(docs) {
		write0600(t, f.name, f.text)
	}
	shown := regexp.MustCompile("(?s)(<!-- run: ([^>]+) -->\n```\n)(.*?)```")
	runs := shown.FindAllStringSubmatch(docs, -1)
	if len(runs) < 1 {
		t.Fatalf("%d commands", len(runs))
	}
	for _, run := range runs {
		out, _, code, err := invoke(t, strings.Fields(run[2])...)
		if code != exitOK {
			t.Fatalf("%s: %v", run[2], err)
		}
		if out != run[3] && !*updateTutorial {
			t.Errorf("%s prints\n%s\nwant\n%s", run[2], out, run[3])
		}
		docs = strings.Replace(docs, run[0], run[1]+out+"```", 1)
	}
	if *updateTutorial {
		if err := os.WriteFile(path, []byte(docs), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
