package assets

import (
	"os"
	"strings"
	"testing"
)

func TestLockIsCompleteAndNamesNoRegistry(t *testing.T) {
	l := Pinned()
	if l.Name == "" || l.Version == "" || l.File == "" || l.License != "Apache-2.0" {
		t.Errorf("lock is incomplete: %+v", l)
	}
	for _, digest := range []string{l.Integrity, l.FileIntegrity} {
		if !strings.HasPrefix(digest, "sha512-") || len(digest) != len(Integrity(nil)) {
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
	_, err := os.Stat(ScriptFile)
	js, ok := ECharts()
	if err != nil {
		if ok {
			t.Fatal("a script is embedded that is not there")
		}
		t.Skip("built without echarts.min.js (go run ./internal/assets/fetch)")
	}
	if !ok {
		t.Fatalf("%s is not the pinned file", ScriptFile)
	}
	// Either would break a page that carries the script inline.
	for _, bad := range []string{"</script", "<!--"} {
		if strings.Contains(strings.ToLower(string(js)), bad) {
			t.Errorf("the script contains %q", bad)
		}
	}
}
