package notify

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
)

func TestParsePath(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "a": {"a"}, "status.phase": {"status", "phase"}, `metadata.annotations.a\.b/c`: {"metadata", "annotations", "a.b/c"}, `a\\.b`: {`a\`, "b"},
		".": {"!"}, "a.": {"!"}, ".a": {"!"}, "a..b": {"!"}, `a\`: {"!"}, `a\n`: {"!"}, "a[0]": {"!"}, "a.*": {"!"},
	} {
		got, err := parsePath(text)
		if bad := len(want) == 1 && want[0] == "!"; bad != (err != nil) || !bad && !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

// FuzzParsePath: what is taken has no empty key, and is what its keys are when they are
// written again.
func FuzzParsePath(f *testing.F) {
	f.Add("status.phase")
	f.Add(`a\.b.c\\`)
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := parsePath(text)
		if err != nil {
			return
		}
		var again []string
		for _, k := range keys {
			if k == "" {
				t.Errorf("%q has an empty key", text)
			}
			again = append(again, strings.NewReplacer(`\`, `\\`, ".", `\.`).Replace(k))
		}
		if joined := strings.Join(again, "."); joined != text {
			t.Errorf("%q is %q again", text, joined)
		}
	})
}

// TestLabels: labels are read where they stand, with whatever else there is.
func TestLabels(t *testing.T) {
	for _, tc := range []struct {
		selector, metadata string
		want               bool
	}{
		{"a=b", `"labels":{"a":"b"}`, true},
		{"a=b", `"labels":{"a":"c"}`, false},
		{"a=b", `"annotations":{"a":"b"}`, false},
		{"a=b", `"labels":null`, false},
		{"a=b", `"x":1`, false},
		{"!a", `"x":1`, true},
		{"a!=b", `"x":1`, true},
		{"a", `"labels":{"a":""}`, true},
		{"a in (b,c),d notin (e)", `"labels":{"d":"f","a":"c"}`, true},
		{"a in (b,c),d notin (e)", `"labels":{"d":"e","a":"c"}`, false},
		{"a=é", `"labels":{}`, false},
		{"example.com/a=b", `"labels":{"example.com\/a":"\u0062"}`, true},
		{"a>4", `"labels":{"a":"5"}`, true},
	} {
		f, err := newFilter(Subscription{LabelSelector: tc.selector})
		if err != nil {
			if tc.selector != "a=é" {
				t.Error(err)
			}
			continue
		}
		if got := f.matches(&object.Object{Raw: []byte(`{"metadata":{` + tc.metadata + `}}`)}); got != tc.want {
			t.Errorf("%s of %s: %t", tc.selector, tc.metadata, got)
		}
	}
}

func bench(b *testing.B, c Subscription) {
	c.Name, c.Queue.Length = "s", 1<<20
	c = c.withDefaults()
	f, err := newFilter(c)
	if err != nil {
		b.Fatal(err)
	}
	sub := &subscription{Subscription: c, logger: slog.New(slog.DiscardHandler), queue: newQueue(c.Queue), metrics: newMetrics()}
	fo := &follower{sub: sub, filter: f, queue: sub.queue, known: map[string]*object.Object{}}
	var packer object.Packer
	recipe := object.Recipe{Packer: &packer}
	const n = 1000
	var versions [2][n]*object.Object
	for v := range versions {
		for i := range n {
			raw := fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-%d","namespace":"shop","uid":"0b5e1a2c-%d","resourceVersion":"%d","labels":{"app":"web","tier":"front"}},"spec":{"containers":[{"name":"main","image":"registry.example/web:1","env":[%s]}]},"status":{"phase":"Running","podIP":"10.0.%d.1"}}`,
				i, i, 1000*v+i, strings.Repeat(`{"name":"A_RATHER_LONG_NAME","value":"and a value"},`, 30)+`{"name":"x"}`, v)
			m, err := object.Scan(raw)
			if err != nil {
				b.Fatal(err)
			}
			if versions[v][i], err = recipe.Build(raw, &m, "Pod", nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportAllocs()
	now := time.Now()
	for k := 0; b.Loop(); k++ {
		o := versions[k/n%2][k%n]
		i, _ := fo.event(o, o, uint64(k), now)
		if i == nil {
			continue
		}
		sub.queue.put(i)
		taken := sub.queue.next()
		sub.queue.settle(taken)
	}
}

// The cost of a change of a packed Pod, from the view to the queue and out of it.

func BenchmarkEventAll(b *testing.B)   { bench(b, Subscription{}) }
func BenchmarkEventLabel(b *testing.B) { bench(b, Subscription{LabelSelector: "app=web"}) }
func BenchmarkEventPath(b *testing.B)  { bench(b, Subscription{ChangedPath: "status.podIP"}) }
func BenchmarkEventOther(b *testing.B) { bench(b, Subscription{Namespaces: []string{"other"}}) }

// BenchmarkBody is what a delivery costs before it is sent.
func BenchmarkBody(b *testing.B) {
	raw := []byte(`{"kind":"Pod","metadata":{"name":"a","resourceVersion":"7"},"spec":"` + strings.Repeat("x", 4000) + `"}`)
	s := &subscription{}
	for _, t := range []view.Type{view.Modified, view.Deleted} {
		b.Run(t.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.event(&item{typ: t, obj: &object.Object{Raw: raw}, version: 9}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
