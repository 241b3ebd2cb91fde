package watchfault_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/loadgen/watchfault"
)

func TestParse(t *testing.T) {
	const s = time.Second
	both := []string{"watch", "stream"}
	requests := []string{"list", "page", "watch", "stream"}
	for text, want := range map[string]watchfault.Spec{
		"503:1%":                        {Name: "503", Effect: watchfault.Status, Status: 503, Probability: 0.01, Verbs: requests},
		"429(retry-after=2s,verb=LIST)": {Name: "429", Effect: watchfault.Status, Status: 429, RetryAfter: 2 * s, Probability: 1, Verbs: []string{"list"}},
		"410":                           {Name: "410", Effect: watchfault.Status, Status: 410, Probability: 1, Verbs: requests},
		"410(start)":                    {Name: "410(start)", Effect: watchfault.StartGone, Status: 410, Probability: 1, Verbs: []string{"watch"}},
		"410( mid ) : 5%":               {Name: "410(mid)", Effect: watchfault.MidGone, Status: 410, Probability: 0.05, Verbs: both},
		"410(page,max=3)":               {Name: "410(page)", Effect: watchfault.PageGone, Status: 410, Probability: 1, Verbs: []string{"page"}, Max: 3},
		"close(5s)":                     {Name: "close(5s)", Effect: watchfault.Close, Probability: 1, After: 5 * s, Until: 5 * s, Verbs: both},
		"close(1s,5s,kind=Pod|nodes)":   {Name: "close(1s,5s)", Effect: watchfault.Close, Probability: 1, After: s, Until: 5 * s, Verbs: both, Kinds: []string{"pods", "nodes"}},
		"reset":                         {Name: "reset", Effect: watchfault.Reset, Probability: 1, Verbs: both},
		"reset(verb=list|other)":        {Name: "reset", Effect: watchfault.Reset, Probability: 1, Verbs: []string{"list", "other"}},
		"silent(30s,after=2s):50%":      {Name: "silent(30s)", Effect: watchfault.Silent, Probability: 0.5, Hold: 30 * s, After: 2 * s, Verbs: both},
		"silent":                        {Name: "silent", Effect: watchfault.Silent, Probability: 1, Verbs: both},
		"older(200,name=past)":          {Name: "past", Effect: watchfault.Older, Probability: 1, Versions: 200, Verbs: []string{"list", "watch", "stream"}},
		"pace(64KiB)":                   {Name: "pace(64KiB)", Effect: watchfault.Pace, Probability: 1, Rate: 64 << 10, Verbs: []string{"watch", "stream", "list", "page"}},
		"truncate(initial=true):0.5%":   {Name: "truncate", Effect: watchfault.Truncate, Probability: 0.005, Initial: true, Verbs: both},
		"error(status=429):0.1":         {Name: "error", Effect: watchfault.ErrorEvent, Status: 429, Probability: 0.1, Verbs: both},
		"lost(deleted,kind=Pod):5%":     {Name: "lost(deleted)", Effect: watchfault.Lost, Type: "DELETED", Probability: 0.05, Verbs: both, Kinds: []string{"pods"}},
		"lost":                          {Name: "lost", Effect: watchfault.Lost, Probability: 1, Verbs: both},
		"gone(60s,from=10s)":            {Name: "gone(60s)", Effect: watchfault.Refuse, Probability: 1, Window: faultlist.Window{For: 60 * s, From: 10 * s}},
		"refuse(for=1s,every=10s)":      {Name: "refuse", Effect: watchfault.Refuse, Probability: 1, Window: faultlist.Window{For: s, Every: 10 * s}},
		"no-bookmark(kind=NetworkPolicy|Ingress|Endpoints)": {
			Name: "no-bookmark", Effect: watchfault.NoBookmark, Probability: 1, Verbs: []string{"stream"}, Kinds: []string{"networkpolicies", "ingresses", "endpoints"}},
	} {
		got, err := watchfault.Parse(text)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v %v", text, got, err)
			continue
		}
		want.Text = text
		if d := cmp.Diff(want, got[0]); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
	if all, err := watchfault.Parse(" close(1s,5s), html , unknown:1%,junk:1%, blackhole(max=1), stall(5s), no-stream"); err != nil || len(all) != 7 {
		t.Errorf("%v, %v", all, err)
	}
	if none, err := watchfault.Parse("  "); err != nil || none != nil {
		t.Errorf("empty text: %v, %v", none, err)
	}
}

func TestBadFaults(t *testing.T) {
	for text, want := range map[string]string{
		"explode":                          "want a status from 400 to 599",
		"lost(bookmark)":                   "want added, modified or deleted",
		"lots(deleted)":                    "unknown fault lots; did you mean lost?",
		"lost(deleted,kinds=pods)":         "lost does not take kinds; it takes type, kind, verb",
		"302":                              "want a status from 400 to 599",
		"0503":                             "want a status",
		"410:start":                        "not a probability",
		"410:mid:5%":                       "like 410(mid):5%",
		"410(end)":                         "want start, page or mid",
		"503(start)":                       "too many arguments",
		"503:200%":                         "probability",
		"503,":                             "want a name",
		"close":                            "after is missing",
		"close(0s)":                        "more than 0",
		"close(5)":                         "87ms",
		"close(2h)":                        "at most",
		"close(5s,1s)":                     "want from 5s",
		"close(1s,verb=list)":              "close hits watch|stream",
		"silent(0s)":                       "more than 0",
		"older":                            "older(200)",
		"older(0)":                         "at least 1",
		"pace":                             "pace(64KiB)",
		"pace(0B)":                         "at least 1",
		"pace(fast)":                       "like 64KiB",
		"stall":                            "delay is missing",
		"503(retry-after=1500ms)":          "whole seconds",
		"503(color=red)":                   "does not take color; it takes retry-after",
		"410(start,initial=true)":          "does not take initial",
		"truncate(initial=maybe)":          "true or false",
		"503(kind=pods/x)":                 "like Pod or pods",
		"503(kind=)":                       "want a name",
		"503(every=5s)":                    "needs for",
		"503(every=5s,for=5s)":             "shorter",
		"503(max=-1)":                      "at least 0",
		"html(status=700)":                 "200 to 599",
		"error(status=200)":                "at least 400",
		"gone":                             "write gone(60s)",
		"gone(1s):5%":                      "all connections",
		"gone(1s,kind=Pod)":                "all connections",
		"410(page,verb=list)":              "410(page) hits page",
		strings.Repeat("503,", 70) + "503": "at most 64",
	} {
		if _, err := watchfault.Parse(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse: what is accepted keeps the bounds, and is accepted again alone.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"close(1s,5s), 410(mid):1%", "429(retry-after=2s,kind=Pod)", "gone(60s,from=10s)", "silent(30s,after=1s):50%", "pace(1KiB)", "older(5,verb=list|watch)", "((", "503:", "a=b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		specs, err := watchfault.Parse(text)
		if err != nil {
			return
		}
		if len(specs) > faultlist.Max {
			t.Fatalf("%d faults", len(specs))
		}
		for _, s := range specs {
			if !(s.Probability >= 0 && s.Probability <= 1) || s.Until < s.After && s.Effect == watchfault.Close || s.Effect == watchfault.Pace && s.Rate < 1 {
				t.Fatalf("%q: %+v", text, s)
			}
			again, err := watchfault.Parse(s.Text)
			if err != nil || len(again) != 1 || !cmp.Equal(again[0], s) {
				t.Fatalf("%q: alone it is %+v, %v", s.Text, again, err)
			}
		}
	})
}
