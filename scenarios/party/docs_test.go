package party

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestDocumentedKeys: docs/your-watcher.md explains every key of the files that another watcher is given, and no other.
func TestDocumentedKeys(t *testing.T) {
	w := spec.Default().Watcher
	w.Command, w.Synchronizer.Period = "x {config}", 1e9
	setup := WatcherSetup{
		Cell: t.TempDir(), Spec: w, Kinds: []string{"Pod"}, Customs: []string{"g/v1"}, Masks: []check.Mask{{Kind: "Pod", Namespace: "a", Path: []string{"spec"}}},
		CAFile: "ca", Lease: "l", Selectors: map[string]string{"Pod": "a=b"},
	}
	rendered := map[string]bool{}
	for _, edit := range []func(*spec.Watcher){
		func(*spec.Watcher) {},
		func(w *spec.Watcher) { w.Synchronizer.Disabled = true },
		func(*spec.Watcher) { setup.Conditional = true },
	} {
		edit(&setup.Spec)
		path, err := setup.renderConfig([]int{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		var config, filter map[string]any
		read(t, path, &config)
		read(t, config["filterConfigPath"].(string), &filter)
		keysOf("", config, rendered)
		keysOf("", filter, rendered)
	}
	docs, err := os.ReadFile("../../docs/your-watcher.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(docs), "<!-- keys -->")
	tables, _, _ = strings.Cut(tables, "<!-- /keys -->")
	explained := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllStringSubmatch(tables, -1) {
		for _, key := range regexp.MustCompile("`(.*?)`").FindAllStringSubmatch(row[1], -1) {
			explained[key[1]] = true
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(rendered)), slices.Sorted(maps.Keys(explained))); d != "" {
		t.Errorf("docs/your-watcher.md (-rendered +explained):\n%s", d)
	}
}

// keysOf adds the paths of all values. Selectors have kinds for keys.
func keysOf(path string, v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if path != "watch_resource.label_selectors" {
			for k, e := range v {
				keysOf(strings.TrimPrefix(path+"."+k, "."), e, into)
			}
			return
		}
	case []any:
		if _, objects := v[0].(map[string]any); objects {
			for _, e := range v {
				keysOf(path+"[]", e, into)
			}
			return
		}
	}
	into[path] = true
}
