package assess

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
	"github.com/watchbench/watchbench/scenarios/measure"
)

type queries struct {
	j      *readersJudge
	verb   string
	rate   int
	least  int64 // objects in an answer
	out    result.Queries
	intent *measure.Histogram
}

func newQueries(j *readersJudge, verb string, rate int) *queries {
	q := &queries{j: j, verb: verb, rate: rate, least: 1, intent: measure.NewHistogram()}
	q.out.Errors = map[string]int64{}
	if verb == readers.List {
		q.least = j.always
		if n := int64(j.in.scenario.Readers.Limit); n > 0 {
			q.least = min(q.least, n)
		}
	}
	return q
}

func (q *queries) see(r *readers.Record) {
	if r.What != q.verb {
		return
	}
	q.out.Sent++
	t, answered := q.j.tally("R1"), r.Code == http.StatusOK && r.Error != readers.CutOff
	if answered {
		t.judged++
	}
	switch {
	case r.Code != 0 && r.Code != http.StatusOK:
		q.out.Errors[strconv.Itoa(r.Code)]++
	case r.Error != "" || r.Code == 0:
		q.out.Errors[r.Error]++
		if answered {
			t.wrong(1, "%w: %s at %d ns: %s", errAnswer, q.verb, r.Ended, r.Error)
		}
	case r.Items < q.least:
		q.out.Errors["objects are missing"]++
		t.wrong(1, "%w: %s at %d ns has %d, at least %d were there all the time", errShort, q.verb, r.Ended, r.Items, q.least)
	default:
		q.out.Done++
		q.intent.Add(r.Ended - r.Intended)
	}
}

func (q *queries) finish() (err error) {
	if q.rate == 0 {
		return nil
	}
	o, seconds := &q.out, float64(q.j.stopped-q.j.started)/1e9
	// Each interval of the rate has one; that of the last may not have been due.
	o.Planned = max(int64(float64(q.rate)*seconds), o.Sent)
	if o.FromIntent, err = q.intent.Quantiles(measure.Millis); err != nil {
		return err
	}
	if n := float64(o.Done); n > 0 {
		o.QPS = new(stats.Round(n / seconds))
	}
	if least := q.j.least; float64(o.Done) < least*float64(o.Planned) || o.Done == 0 {
		q.j.invalid("%d of %d planned %ss were answered (%.0f%%); at least %.0f%% are needed",
			o.Done, o.Planned, strings.ToUpper(q.verb), 100*float64(o.Done)/max(1, float64(o.Planned)), 100*least)
	}
	if q.verb == readers.Get {
		q.j.cell.Readers.Get = o
	} else {
		q.j.cell.Readers.List = o
	}
	return nil
}
