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
		"503:1%":                        {Fault: faultlist.Fault{Name: "503", Probability: 0.01}, Effect: watchfault.Status, Status: 503, Verbs: requests},
		"429(retry-after=2s,verb=LIST)": {Fault: faultlist.Fault{Name: "429", Probability: 1}, Effect: watchfault.Status, Status: 429, RetryAfter: 2 * s, Verbs: []string{"list"}},
		"410":                           {Fault: faultlist.Fault{Name: "410", Probability: 1}, Effect: watchfault.Status, Status: 410, Verbs: requests},
		"410(start)":                    {Fault: faultlist.Fault{Name: "410(start)", Probability: 1}, Effect: watchfault.StartGone, Status: 410, Verbs: []string{"watch"}},
		"410( mid ) : 5%":               {Fault: faultlist.Fault{Name: "410(mid)", Probability: 0.05}, Effect: watchfault.MidGone, Status: 410, Verbs: both},
		"close(5s)":                     {Fault: faultlist.Fault{Name: "close(5s)", Probability: 1}, Effect: watchfault.Close, After: 5 * s, Until: 5 * s, Verbs: both},
		"close(1s,5s,kind=Pod|nodes)":   {Fault: faultlist.Fault{Name: "close(1s,5s)", Probability: 1}, Effect: watchfault.Close, After: s, Until: 5 * s, Verbs: both, Kinds: []string{"pods", "nodes"}},
		"reset":                         {Fault: faultlist.Fault{Name: "reset", Probability: 1}, Effect: watchfault.Reset, Verbs: both},
		"reset(verb=list|other)":        {Fault: faultlist.Fault{Name: "reset", Probability: 1}, Effect: watchfault.Reset, Verbs: []string{"list", "other"}},
		"silent(30s,max=3):50%":         {Fault: faultlist.Fault{Name: "silent(30s)", Probability: 0.5, Max: 3}, Effect: watchfault.Silent, Hold: 30 * s, Verbs: both},
		"silent":                        {Fault: faultlist.Fault{Name: "silent", Probability: 1}, Effect: watchfault.Silent, Verbs: both},
		"older(200,name=past)":          {Fault: faultlist.Fault{Name: "past", Probability: 1}, Effect: watchfault.Older, Versions: 200, Verbs: both},
		"truncate:0.5%":                 {Fault: faultlist.Fault{Name: "truncate", Probability: 0.005}, Effect: watchfault.Truncate, Verbs: both},
		"error:0.1":                     {Fault: faultlist.Fault{Name: "error", Probability: 0.1}, Effect: watchfault.ErrorEvent, Verbs: both},
		"lost(deleted,kind=Pod):5%":     {Fault: faultlist.Fault{Name: "lost(deleted)", Probability: 0.05}, Effect: watchfault.Lost, Type: "DELETED", Verbs: both, Kinds: []string{"pods"}},
		"lost":                          {Fault: faultlist.Fault{Name: "lost", Probability: 1}, Effect: watchfault.Lost, Verbs: both},
		"gone(60s,from=10s)":            {Fault: faultlist.Fault{Name: "gone(60s)", Probability: 1, Window: faultlist.Window{For: 60 * s, From: 10 * s}, Refuses: true}, Effect: watchfault.Refuse},
		"refuse(for=1s,every=10s)":      {Fault: faultlist.Fault{Name: "refuse", Probability: 1, Window: faultlist.Window{For: s, Every: 10 * s}, Refuses: true}, Effect: watchfault.Refuse},
		"no-bookmark(kind=NetworkPolicy|Ingress|Endpoints)": {
			Fault: faultlist.Fault{Name: "no-bookmark", Probability: 1}, Effect: watchfault.NoBookmark, Verbs: []string{"stream"}, Kinds: []string{"networkpolicies", "ingresses", "endpoints"}},
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
	if all, err := watchfault.Parse(" close(1s,5s) , unknown:1%,junk:1%, blackhole(max=1), stall(5s), no-stream"); err != nil || len(all) != 6 {
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
		"lost(deleted,kinds=pods)":         "lost does not take kinds; it takes type, verb, kind",
		"302":                              "want a status from 400 to 599",
		"0503":                             "want a status",
		"410:start":                        "not a probability",
		"410:mid:5%":                       "like 410(mid):5%",
		"410(end)":                         "want start or mid",
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
		"stall":                            "delay is missing",
		"503(retry-after=1500ms)":          "whole seconds",
		"503(color=red)":                   "does not take color; it takes retry-after",
		"truncate(initial=true)":           "does not take initial",
		"503(kind=pods/x)":                 "like Pod or pods",
		"503(kind=)":                       "want a name",
		"503(every=5s)":                    "needs for",
		"503(every=5s,for=5s)":             "shorter",
		"503(max=-1)":                      "at least 0",
		"html":                             "unknown fault html",
		"gone":                             "write gone(60s)",
		"gone(1s):5%":                      "all connections",
		"gone(1s,kind=Pod)":                "all connections",
		strings.Repeat("503,", 70) + "503": "at most 64",
	} {
		if _, err := watchfault.Parse(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse: what is accepted keeps the bounds, and is accepted again alone.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"close(1s,5s), 410(mid):1%", "429(retry-after=2s,kind=Pod)", "gone(60s,from=10s)", "silent(30s):50%", "older(5,verb=watch)", "((", "503:", "a=b"} {
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
			if !(s.Probability >= 0 && s.Probability <= 1) || s.Until < s.After && s.Effect == watchfault.Close {
				t.Fatalf("%q: %+v", text, s)
			}
			again, err := watchfault.Parse(s.Text)
			if err != nil || len(again) != 1 || !cmp.Equal(again[0], s) {
				t.Fatalf("%q: alone it is %+v, %v", s.Text, again, err)
			}
		}
	})
}
