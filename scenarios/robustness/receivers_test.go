package robustness

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// readQueues has receivers fail beside those of readers.webhooks, and reads the queues of all again and again for a
// time.
const readQueues = "read-queues"

const (
	// queueReadingEvery spaces the readings.
	queueReadingEvery = 100 * time.Millisecond
	// defaultQueue is the watcher's own bound, where readers.webhookQueue names none.
	defaultQueue = 4096
	// mostReply is what a receiver can send of an answer of which the watcher reads 64 KiB: the kernels of both sides keep
	// some of the rest.
	mostReply = 512 << 10
	// receiverLate is from when on a receiver without faults is told too late, by the 99th percentile.
	receiverLate = time.Second
)

// misbehaviours are those of the receivers that fail, by their name.
var misbehaviours = map[string]func(http.ResponseWriter, *http.Request) (sent int64){
	"hangs": func(_ http.ResponseWriter, r *http.Request) int64 { <-r.Context().Done(); return 0 },
	"fails": func(w http.ResponseWriter, _ *http.Request) int64 {
		w.WriteHeader(http.StatusInternalServerError)
		return 0
	},
	"slow": func(_ http.ResponseWriter, r *http.Request) int64 {
		_ = lifecycle.Pause(r.Context(), time.Second)
		return 0
	},
	"huge": func(w http.ResponseWriter, _ *http.Request) int64 {
		const size = 64 << 20
		w.Header().Set("Content-Length", strconv.Itoa(size))
		sent, _ := io.CopyN(w, zeros{}, size) // the client may have enough
		return sent
	},
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// unwell are the receivers that fail, from the event on.
type unwell struct {
	on     atomic.Bool
	reply  atomic.Int64 // the most that one could send of an answer
	reader []*httptest.Server
}

func notifications() faults.Family {
	u := &unwell{}
	return faults.Family{Arrange: u.arrange, Remove: u.remove, Rules: receiverRules, Failpoints: []faults.Failpoint{
		{Name: readQueues, Takes: []string{"for"}, Inject: u.inject},
	}}
}

// arrange subscribes the receivers that fail.
func (u *unwell) arrange(c faults.Cell) error {
	r := &c.Scenario().Readers
	if !asks(c.Scenario(), readQueues) || r.Webhooks == 0 {
		return nil
	}
	serving := &party.Serving{}
	for name, misbehave := range misbehaviours {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			if !u.on.Load() {
				return
			}
			sent := misbehave(w, req)
			for most := u.reply.Load(); sent > most && !u.reply.CompareAndSwap(most, sent); most = u.reply.Load() {
			}
		}))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		// What waits in a large buffer would count as taken.
		s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
			return ctx
		}
		s.Start()
		u.reader = append(u.reader, s)
		serving.Subscriptions = append(serving.Subscriptions, map[string]any{
			"name": name, "resource": "v1/pods", "queue": map[string]any{"length": r.WebhookQueue},
			"target": map[string]any{"webhook": map[string]any{"url": s.URL, "allow": []string{"127.0.0.0/8"}}},
		})
	}
	c.Setup().Serving = serving
	return nil
}

func (u *unwell) remove(context.Context, faults.Cell) error {
	for _, s := range u.reader {
		s.CloseClientConnections()
		s.Close()
	}
	u.reader = nil
	return nil
}

// queueReadings are the most that waited, by subscription.
type queueReadings struct {
	Readings int              `json:"readings"`
	Reply    int64            `json:"reply,omitempty"` // the most that a receiver could send of an answer
	Most     map[string]int64 `json:"most,omitempty"`
}

func (u *unwell) inject(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	u.on.Store(true)
	seen := queueReadings{Most: map[string]int64{}}
	for end := time.Now().Add(e.For.Std()); time.Now().Before(end); {
		s, err := c.Watcher().Scrape(ctx)
		if err != nil {
			return faults.Done{}, c.Watcher().Lost(ctx, err)
		}
		queued := s.By(metric.NotifyQueued, "subscription")
		for name, n := range queued {
			seen.Most[name] = max(seen.Most[name], int64(n))
		}
		if len(queued) > 0 {
			seen.Readings++
		}
		if err := lifecycle.Pause(ctx, queueReadingEvery); err != nil {
			return faults.Done{}, err
		}
	}
	seen.Reply = u.reply.Load()
	return faults.Done{Seen: seen}, nil
}

// receiverName is the subscription of a receiver, from 1.
func receiverName(n int) string { return fmt.Sprintf("receiver-%d", n) }

// receiverRules: what waits for a receiver is bounded and gives way for it alone, answers are read to a bound, and
// nobody waits for others. That each receiver without faults is told of everything, in order, is R3 of the readers,
// which is repeated here.
func receiverRules(c *matrix.Case) ([]matrix.Rule, error) {
	r := &c.Cell.Scenario.Readers
	all, err := history.Deeds[queueReadings](c.Deeds, readQueues)
	if err != nil || r.Webhooks == 0 {
		return nil, err
	}
	n := notified{spec: r, after: c.After, most: map[string]int64{}}
	for _, x := range all {
		n.readings += x.Readings
		n.sent = max(n.sent, x.Reply)
		for name, queued := range x.Most {
			n.most[name] = max(n.most[name], queued)
		}
	}
	return []matrix.Rule{{Facts: n.facts, Vacuous: n.vacuous}}, nil
}

// notified is what is known of the receivers of a cell.
type notified struct {
	spec     *spec.Readers
	after    history.Scrape
	readings int
	sent     int64
	most     map[string]int64
}

// limit is how much may wait for one receiver.
func (n *notified) limit() int64 {
	if n.spec.WebhookQueue > 0 {
		return int64(n.spec.WebhookQueue)
	}
	return defaultQueue
}

func (n *notified) facts(seen matrix.Seen) []result.Fact {
	var w *result.Webhooks
	var r3 result.Check
	if seen.Figures != nil && seen.Figures.Readers != nil {
		w, r3 = seen.Figures.Readers.Webhooks, seen.Figures.Checks["R3"]
	}
	facts := append(append([]result.Fact{n.queued(), n.dropped()}, told(w, r3)...), n.reply())
	const late = "delivery p99 to receivers without faults"
	if w == nil || w.LagMs == nil {
		return append(facts, matrix.Missing("I", late, "s", "the record of the receivers does not tell"))
	}
	return append(facts, matrix.Within("I", late, "s", w.LagMs.P99/1e3, receiverLate.Seconds()))
}

func (n *notified) queued() result.Fact {
	const name = "events queued for one receiver"
	if n.readings == 0 {
		return matrix.Missing("B", name, "events", "nobody read the queues: the scenario needs the event "+readQueues)
	}
	longest := int64(0)
	for _, who := range n.receivers() {
		queued, known := n.most[who]
		if !known {
			return matrix.Missing("B", name, "events", "the watcher's metrics do not tell of "+who)
		}
		longest = max(longest, queued)
	}
	return matrix.Within("B", name, "events", float64(longest), float64(n.limit()))
}

// dropped: what a full queue costs, only its own receiver pays.
func (n *notified) dropped() result.Fact {
	const name = "events dropped for receivers without faults"
	lost := n.after.By(metric.NotifyDropped, "subscription")
	total, first := int64(0), ""
	for i := range n.spec.Webhooks {
		who := receiverName(i + 1)
		dropped, known := lost[who]
		switch {
		case !known:
			return matrix.Missing("L", name, "", "the watcher's metrics do not tell of "+who)
		case dropped > 0:
			total, first = total+int64(dropped), who
		}
	}
	return matrix.None("L", name, total, first)
}

// told: each receiver without faults is told of everything, and nobody of anything in another order.
func told(w *result.Webhooks, r3 result.Check) []result.Fact {
	const missed, wrong = "changes that receivers without faults were not told of", "deliveries that were wrong or out of order"
	if w == nil || r3.Verdict != result.Pass && r3.Verdict != result.Fail {
		return []result.Fact{matrix.Missing("L", missed, "", "R3 was not judged"), matrix.Missing("O", wrong, "", "R3 was not judged")}
	}
	return []result.Fact{matrix.None("L", missed, w.Missed, r3.Counterexample), matrix.None("O", wrong, r3.Violations-w.Missed, r3.Counterexample)}
}

func (n *notified) reply() result.Fact {
	const name = "most of an answer that a receiver could send"
	if n.sent == 0 {
		return matrix.Missing("B", name, "KiB", "no receiver could send any")
	}
	return matrix.Within("B", name, "KiB", float64(n.sent)/1024, mostReply/1024)
}

// receivers are the names of all, those of readers first.
func (n *notified) receivers() (all []string) {
	for i := range n.spec.Webhooks {
		all = append(all, receiverName(i+1))
	}
	return slices.AppendSeq(all, maps.Keys(misbehaviours))
}

// vacuous: a bound that nothing reached proves nothing.
func (n *notified) vacuous(matrix.Seen) []string {
	for name := range misbehaviours {
		if n.most[name] >= n.limit()/2 {
			return nil
		}
	}
	return []string{fmt.Sprintf("no receiver was slow enough to have half of %d events wait for it", n.limit())}
}
