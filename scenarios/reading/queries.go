package reading

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/watchbench/watchbench/loadgen/readlog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
	"github.com/watchbench/watchbench/scenarios/measure"
)

// queries are those of one verb.
type queries struct {
	j              *judge
	verb           string
	rate           int
	least          int64 // objects in an answer
	out            *result.Queries
	intent, actual *measure.Histogram
	items, bytes   int64
}

func newQueries(j *judge, verb string, rate int) *queries {
	q := &queries{j: j, verb: verb, rate: rate, out: &result.Queries{Errors: map[string]int64{}}, intent: measure.NewHistogram(), actual: measure.NewHistogram()}
	switch s := &j.in.Cell.Scenario; {
	case verb == readlog.Get:
		q.least = 1
	case s.Readers.LabelSelector != "" || s.Readers.FieldSelector != "":
	default:
		q.least = j.always
		if n := int64(s.Readers.Limit); n > 0 {
			q.least = min(q.least, n)
		}
	}
	return q
}

func (q *queries) see(r *readlog.Record) {
	if r.What != q.verb {
		return
	}
	q.out.Sent++
	t := q.j.tally("R1")
	cut := r.Error == readlog.CutOff // by the reader itself, when it was to end
	if r.Code == http.StatusOK && !cut {
		t.judged++
	}
	switch {
	case r.Code == 0:
		q.out.Errors[r.Error]++
	case r.Code != http.StatusOK:
		q.out.Errors[strconv.Itoa(r.Code)]++
	case cut:
		q.out.Errors[r.Error]++
	case r.Error != "":
		q.out.Errors[r.Error]++
		t.wrong(fmt.Errorf("%w: %s at %d ns: %s", ErrAnswer, q.verb, r.Ended, r.Error))
	case r.Items < q.least:
		q.out.Errors["objects are missing"]++
		t.wrong(fmt.Errorf("%w: %s at %d ns has %d, at least %d were there all the time", ErrShort, q.verb, r.Ended, r.Items, q.least))
	default:
		q.out.Done++
		q.items, q.bytes = q.items+r.Items, q.bytes+r.Bytes
		q.intent.Add(r.Ended - r.Intended)
		q.actual.Add(r.Ended - r.Started)
	}
}

func (q *queries) finish() (err error) {
	if q.rate == 0 {
		return nil
	}
	seconds := float64(q.j.stopped-q.j.started) / 1e9
	// Each interval of the rate has one; that of the last may not have been due.
	q.out.Planned = max(int64(float64(q.rate)*seconds), q.out.Sent)
	if q.out.FromIntent, err = q.intent.Quantiles(measure.Millis); err != nil {
		return err
	}
	if q.out.FromActual, err = q.actual.Quantiles(measure.Millis); err != nil {
		return err
	}
	if n := float64(q.out.Done); n > 0 {
		q.out.QPS, q.out.Items, q.out.Bytes = new(stats.Round(n/seconds)), new(stats.Round(float64(q.items)/n)), new(stats.Round(float64(q.bytes)/n))
	}
	least := float64(q.j.in.Cell.Scenario.Limits.MinEvents)
	if float64(q.out.Done) < least*float64(q.out.Planned) || q.out.Done == 0 {
		q.j.invalid("%d of %d planned %ss were answered (%.0f%%); at least %.0f%% are needed",
			q.out.Done, q.out.Planned, map[string]string{readlog.Get: "GET", readlog.List: "LIST"}[q.verb], 100*float64(q.out.Done)/max(1, float64(q.out.Planned)), 100*least)
	}
	if q.verb == readlog.Get {
		q.j.out.Figures.Get = q.out
	} else {
		q.j.out.Figures.List = q.out
	}
	return nil
}
