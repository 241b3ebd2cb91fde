package runner

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// noted is an Observer that keeps everything.
type noted []Moment

func (n *noted) Observe(m Moment) { *n = append(*n, m) }

// observing is a progress without a screen.
func observing(o Observer) *Progress {
	p := NewProgress(nil)
	p.observer = o
	return p
}

// TestMomentsCarryTheWholeState: an observer that misses a moment knows all from the next;
// samples and verdicts are of one moment only.
func TestMomentsCarryTheWholeState(t *testing.T) {
	var all noted
	o := observing(&all)
	o.begin([]job{{id: "a"}, {id: "b"}}, 0)
	o.cell(0)
	o.phase(PhaseLoad)
	o.fault("storage: 503:1%")
	o.sample(history.Sample{Time: 7}, []byte("text"), nil)
	o.note("restart 1/1")
	o.finished(result.Cell{ID: "a", InvalidReasons: []string{"late"}})
	o.cell(1)
	in := Moment{Cell: "a", Number: 1, Of: 2, Phase: PhaseLoad, Fault: "storage: 503:1%"}
	sampled, notedAt := in, in
	sampled.Sample, sampled.Metrics = &history.Sample{Time: 7}, []byte("text")
	notedAt.Note = "restart 1/1"
	want := noted{
		{Cell: "a", Number: 1, Of: 2}, {Cell: "a", Number: 1, Of: 2, Phase: PhaseLoad}, in, sampled, notedAt,
		{Cell: "a", Number: 1, Of: 2, Verdict: &Verdict{Text: "invalid: late"}}, {Cell: "b", Number: 2, Of: 2},
	}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("told %+v,\nwant %+v", all, want)
	}
}

// TestVerdictOfACell: what failed as the scenario allows is no pass, and neither is what was not judged.
func TestVerdictOfACell(t *testing.T) {
	for verdict, want := range map[string]Verdict{
		result.Pass: {Valid: true}, result.Allowed: {Valid: true, Allowed: true}, result.NoPower: {Valid: true, Open: true}, result.NotJudged: {Valid: true, Open: true}, result.Fail: {Valid: true, Violated: []string{"G2"}},
	} {
		got := *verdictOf(&result.Cell{ID: "a", Valid: true, Checks: map[string]result.Check{"G1": {Verdict: result.Pass}, "G2": {Verdict: verdict}}})
		if got.Text = ""; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", verdict, got, want)
		}
	}
}

// counted is a watcher that counts its scrapes.
type counted struct {
	silent
	scrapes *int
}

func (c counted) Metrics(context.Context) ([]byte, history.Scrape, error) {
	*c.scrapes++
	return []byte("text"), history.Scrape{}, nil
}

// TestSampleIsShownWithoutAnotherScrape: what is shown is what the sampler took anyway.
func TestSampleIsShownWithoutAnotherScrape(t *testing.T) {
	n := 0
	w := counted{sleeping(t), &n}
	s := newSampler(func() []metered { return []metered{w} }, silent{})
	var text []byte
	s.show = func(_ history.Sample, metrics []byte, err error) { text = metrics }
	s.sample(t.Context())
	if n != 0 || text != nil || len(s.taken()) != 1 {
		t.Errorf("%d scrapes where nobody asked for them, shown %q", n, text)
	}
	s.asks = true
	s.sample(t.Context())
	if n != 1 || string(text) != "text" || len(s.taken()) != 2 {
		t.Errorf("%d scrapes, shown %q, %d samples", n, text, len(s.taken()))
	}
	mute := sleeping(t)
	s = newSampler(func() []metered { return []metered{mute} }, silent{})
	var shown error
	s.show, s.asks = func(_ history.Sample, _ []byte, err error) { shown = err }, true
	s.sample(t.Context())
	if shown == nil || errors.Is(shown, context.Canceled) {
		t.Errorf("a watcher without metrics is shown with %v", shown)
	}
}
