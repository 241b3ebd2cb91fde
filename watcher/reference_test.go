package watcher

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/watches"
)

const referenceHead = `# Reference of k8s-watch

Generated from the code (` + "`go test ./watcher -run TestReference -update`" + `). How to run it: [watcher.md](watcher.md).

## Where to start

Five keys make a configuration:

1. ` + "`default.clusterID`" + `: which cluster's rows these are
2. ` + "`bcs.custom-storage-endpoints`" + ` (or ` + "`bcs.zk`" + `): where storage is
3. ` + "`k8s.kubeconfig`" + `, outside of the cluster: where the apiserver is
4. ` + "`filterConfigPath`" + `, a file with at least ` + "`k8sResourceWhiteList`" + `: what is watched
5. ` + "`watch_resource.disable_netservice`" + `: ` + "`true`" + ` without netservice

` + "`k8s-watch check -f config.json`" + ` shows what a configuration would do. Five metrics make a first dashboard and alerts:
[k8swatch_lag_seconds](#k8swatch_lag_seconds), [k8swatch_storage_endpoint_up](#k8swatch_storage_endpoint_up),
[k8swatch_watch_silent_seconds](#k8swatch_watch_silent_seconds), [k8swatch_events_queued](#k8swatch_events_queued) and
[k8swatch_events_dropped_total](#k8swatch_events_dropped_total).

`

// TestReference: the page has every key and every metric, as the code has them.
func TestReference(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	docs := comments(t, "config/config.go", "config/filter.go", "access/config.go", "watches/config.go", "query/config.go", "relation/config.go",
		"notify/config.go", "notify/webhook.go", "notify/nats.go", "notify/kafka.go")
	writeKeys(t, &b, "## Configuration file\n\nJSON, named by `-f`. Without a default: empty, or `false`. *Flag*: `--` and the key does the same and wins.", config.Default(), docs)
	var flags config.Flags
	var unused []string // as flags they have the names of the keys
	flags.Set("").VisitAll(func(f *pflag.Flag) {
		if strings.HasSuffix(f.Usage, "no effect") {
			unused = append(unused, f.Name)
		}
	})
	b.WriteString("\n`" + strings.Join(unused, "`, `") + "`: no effect; accepted, as keys and as flags, because bcs-k8s-watch has them.\n\n")
	writeKeys(t, &b, "## Filter file\n\nJSON, named by `filterConfigPath`.", config.Filter{}, docs)
	writeMetrics(t, &b, comments(t, "../internal/metric/metric.go"))
	const file = "../docs/k8s-watch-reference.md"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil { //nolint:gosec // a page
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), b.String()); diff != "" {
		t.Errorf("run this test with -update:\n%s", diff)
	}
}

// comments are those of the fields, by "package.Type.Field", and of the constants with a text, by it.
func comments(t *testing.T, files ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	note := func(name string, c *ast.CommentGroup) {
		all[name] = strings.Join(strings.Fields(c.Text()), " ")
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						if len(f.Names) == 0 {
							continue
						}
						note(parsed.Name.Name+"."+n.Name.Name+"."+f.Names[0].Name, f.Doc)
					}
				}
			case *ast.ValueSpec:
				if len(n.Values) == 0 {
					return true
				}
				if lit, ok := n.Values[0].(*ast.BasicLit); ok {
					name, _ := strconv.Unquote(lit.Value)
					note(name, n.Doc)
				}
			}
			return true
		})
	}
	return all
}

// key is one row.
type key struct{ path, typ, value, doc string }

// keys are those of a value, in the order of the file.
func keys(t *testing.T, path string, v reflect.Value, docs map[string]string) (all []key) {
	t.Helper()
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		k := key{path: path + f.Tag.Get("json"), doc: docs[v.Type().String()+"."+f.Name]}
		switch {
		case f.Type == reflect.TypeFor[watches.GVR]():
			k.typ, k.value = "string", ""
		case f.Type.Kind() == reflect.Struct:
			all = append(all, keys(t, k.path+".", value, docs)...)
			continue
		case f.Type == reflect.TypeFor[config.Duration]():
			k.typ = "duration"
		case f.Type == reflect.TypeFor[config.List]():
			k.typ = "string, with commas"
		case f.Type.Kind() == reflect.Slice && slices.Contains([]reflect.Kind{reflect.Struct, reflect.Interface}, f.Type.Elem().Kind()):
			k.typ = "objects"
		case f.Type == reflect.TypeFor[[]int]():
			k.typ = "numbers"
		case f.Type.Kind() == reflect.Slice:
			k.typ = "strings"
		case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Slice:
			k.typ = "map of strings"
		case f.Type.Kind() == reflect.Map:
			k.typ = "map"
		case f.Type.Kind() == reflect.Bool, f.Type.Kind() == reflect.String:
			k.typ = f.Type.Kind().String()
		default:
			k.typ = "number"
		}
		if text, err := json.Marshal(value.Interface()); err != nil {
			t.Fatal(err)
		} else if !value.IsZero() || k.typ == "number" {
			k.value = "`" + string(text) + "`"
			if d, ok := value.Interface().(config.Duration); ok {
				k.value = "`\"" + short(time.Duration(d)) + "\"`"
			}
		}
		if k.doc == "" {
			t.Errorf("%s: no comment at %s.%s", k.path, v.Type(), f.Name)
		}
		all = append(all, k)
		if k.typ == "objects" && !strings.HasPrefix(k.doc, "No effect") {
			all = append(all, keys(t, k.path+"[].", reflect.Zero(f.Type.Elem()), docs)...)
		}
	}
	return all
}

// short is 5m instead of 5m0s.
func short(d time.Duration) string {
	return regexp.MustCompile(`([hm])0[ms](0s)?$`).ReplaceAllString(d.String(), "$1")
}

func writeKeys(t *testing.T, b *bytes.Buffer, head string, v any, docs map[string]string) {
	t.Helper()
	var f config.Flags
	flags := f.Set("k8s-watch")
	fmt.Fprintf(b, "%s\n\n| key | type, default | meaning |\n|---|---|---|\n", head)
	for _, k := range keys(t, "", reflect.ValueOf(v), docs) {
		if flags.Lookup(k.path) != nil {
			k.doc += " *Flag.*"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", k.path, strings.TrimSpace(k.typ+" "+k.value), strings.ReplaceAll(k.doc, "|", `\|`))
	}
}

// descriptions are of all metrics that a watcher may have. types are those of the ones that
// have a value before it runs.
func descriptions(t *testing.T) (all []string, types map[string]string) {
	t.Helper()
	cfg := config.Default()
	cfg.Default.ClusterID, cfg.BCS.CustomStorageEndpoints = "c", config.List{"http://127.0.0.1:4"}
	cfg.WatchResource.DisableNetService = true
	cfg.LeaderElection.Enabled = true
	cfg.ResourceWatcher.Enabled = true
	cfg.ResourceWatcher.Notify.Subscriptions = []notify.Subscription{{
		Name: "s", Resource: watches.GVR{Version: "v1", Resource: "pods"}, Target: notify.Target{Webhook: notify.Webhook{URL: "https://h/"}},
	}}
	w, err := New(cfg, config.Filter{}, Settings{Kube: &rest.Config{Host: "http://127.0.0.1:4"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.resources.notifier.Close)
	cfg.ResourceWatcher.Enabled, cfg.Shards = false, 2
	shards, err := New(cfg, config.Filter{}, Settings{Kube: &rest.Config{Host: "http://127.0.0.1:4"}})
	if err != nil {
		t.Fatal(err)
	}
	descs := make(chan *prometheus.Desc)
	go func() { w.registry.Describe(descs); shards.registry.Describe(descs); close(descs) }()
	for d := range descs {
		all = append(all, d.String())
	}
	slices.Sort(all)
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	types = map[string]string{}
	for _, f := range families {
		types[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	return slices.Compact(all), types
}

var description = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: "((?:[^"\\]|\\.)*)", (?:unit: "[^"]*", )?constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)

// histograms are the metrics of that type; of the others those that end so are counters.
var (
	histograms = []string{"bkbcs_k8swatch_storage_request_latency_time", "bkbcs_k8swatch_queue_latency_time", "k8swatch_freshness_seconds", "k8swatch_notify_latency_seconds", "k8swatch_query_seconds"}
	counters   = regexp.MustCompile(`_total$|request_total_num$|_discard_events$`)
)

func writeMetrics(t *testing.T, b *bytes.Buffer, grows map[string]string) {
	t.Helper()
	b.WriteString("\n## Metrics\n\nServed on `metric_port` below `/metrics`, with those of the Go runtime and process; bcs-k8s-watch has those that do not begin with `k8swatch_`. " +
		"Below each is what a growing value means, and what to do.\n")
	seen := map[string]bool{}
	all, types := descriptions(t)
	for _, d := range all {
		m := description.FindStringSubmatch(d)
		if m == nil {
			t.Fatalf("not understood: %s", d)
		}
		name, help := m[1], m[2]
		if seen[name] || strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		seen[name] = true
		typ := "gauge"
		if slices.Contains(histograms, name) {
			typ = "histogram"
		} else if counters.MatchString(name) {
			typ = "counter"
		}
		if is := types[name]; is != "" && is != typ {
			t.Errorf("%s is a %s, not a %s", name, is, typ)
		}
		labels := regexp.MustCompile(`="[^"]*"`).ReplaceAllString(m[3], "")
		if labels = strings.Trim(labels+","+m[4], ","); labels != "" {
			labels = " by `" + strings.ReplaceAll(labels, ",", "`, `") + "`"
		}
		text := grows[name]
		if text == "" {
			t.Errorf("%s: no comment in internal/metric", name)
		}
		fmt.Fprintf(b, "\n### %s\n\nA %s%s. %s\n\n%s\n", name, typ, labels, help, text)
	}
	if len(seen) < 30 {
		t.Errorf("only %d metrics", len(seen))
	}
}
