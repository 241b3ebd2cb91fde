package faults

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// killStorage kills storage, which comes back with what it held before, and waits until it has caught up.
const killStorage = "kill-storage"

func killedStorage() Family {
	return Family{Rules: storageRules, Failpoints: []Failpoint{
		{Name: killStorage, Takes: []string{"for"}, Available: validateKill, Inject: injectKill},
	}}
}

func validateKill(t *spec.Timeline, e spec.Event) error {
	t.Repairs = true
	if e.For < spec.Duration(time.Second) {
		return t.Bad("for", "write for example for: 2s: storage loses the writes of that time", "%s is too short",
			e.For)
	}
	sync := t.Watcher.Synchronizer
	return cmp.Or(
		t.OnlyAsserts([]string{"C", "T", "X"},
			"is judged by a ledger of a storage that forgets nothing, and kill-storage makes it forget"),
		needsWatcher(t, e),
		t.Need(!sync.Disabled && sync.Period > 0, "kill-storage without a synchronizer whose round is known: nobody else "+
			"finds what storage forgot", "set watcher.synchronizer.period: 3s"),
		t.Need(len(t.Storage.Faults) == 0, "kill-storage with storage.faults, which would not outlive it",
			"leave storage.faults out"),
		t.Need(t.Storage.Instances == 1, "kill-storage with several instances", "set storage.instances: 1"),
	)
}

// setback is a storage that was killed and came back without what it had acknowledged since a snapshot.
type setback struct {
	Snapshot int64   `json:"snapshot"` // when the snapshot was complete
	Cut      int64   `json:"cut"`      // when storage took no more requests
	Back     int64   `json:"back"`     // when it took them again
	Return   CatchUp `json:"return"`
}

// injectKill kills storage and starts it again with a snapshot. Connections are cut first, so that the ledger, which
// dies with the process, is complete.
func injectKill(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	m := c.Storage()
	if err := m.Snapshot(ctx); err != nil {
		return Done{}, err
	}
	b := setback{Snapshot: time.Now().UnixNano()}
	if err := lifecycle.Pause(ctx, e.For.Std()); err != nil {
		return Done{}, err
	}
	b.Cut = time.Now().UnixNano()
	if err := m.Cut(ctx); err != nil {
		return Done{}, err
	}
	c.Mark(history.Mark{What: history.MarkStorageKilled})
	m.Kill()
	if err := m.Revive(ctx); err != nil {
		return Done{}, err
	}
	began := time.Now()
	b.Back = began.UnixNano()
	c.Mark(history.Mark{What: history.MarkStorageBack})
	var err error
	if b.Return, err = c.CatchUp(ctx, began); err != nil {
		return Done{}, err
	}
	if b.Return.Behind != "" {
		c.Mark(history.Mark{What: history.MarkDiverged, Note: b.Return.Behind})
	}
	return Done{Seen: b}, nil
}

// storageRules: storage has everything again within one round of the synchronizer.
func storageRules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[setback](c.Deeds, killStorage)
	if err != nil {
		return nil, err
	}
	var rules []matrix.Rule
	for _, b := range all {
		lost := losses{setback: b, lost: map[write]uint64{}, again: map[write]bool{}}
		rules = append(rules, matrix.Rule{
			First:   true,
			Request: lost.see,
			Facts: func(matrix.Seen) []result.Fact {
				n := len(lost.again)
				return []result.Fact{b.Return.Fact("catch-up after storage came back", c.Recovery()),
					matrix.Fact("C", "acknowledged rows that were written again", "rows", float64(n), n >= matrix.MinKeys)}
			},
			Vacuous: func(matrix.Seen) []string {
				if n := len(lost.again); n < matrix.MinKeys {
					return []string{fmt.Sprintf("%d rows that storage had acknowledged and lost were written again; at least %d are "+
						"needed", n, matrix.MinKeys)}
				}
				return nil
			},
		})
	}
	return rules, nil
}

// sentLater is how long before the cut a write must have been acknowledged to count as settled for the watcher.
const sentLater = int64(500 * time.Millisecond)

// losses are the rows that storage forgot, and those that a comparison had written again as they were.
type losses struct {
	setback
	lost  map[write]uint64 // version
	again map[write]bool
}

type write struct{ method, kind, namespace, name, uid string }

func (l *losses) see(e *ledger.Entry) {
	w := write{e.Method, e.Kind, e.Namespace, e.Name, e.UID}
	switch {
	case !e.Took() || e.Applied <= l.Snapshot:
	case e.Responded != 0 && e.Responded < l.Cut-sentLater && e.Acked():
		l.lost[w] = e.ResourceVersion
	case e.Applied < l.Cut:
		delete(l.lost, w) // a later write of the row may be tried again by itself
	case e.Applied >= l.Back:
		if rv, ok := l.lost[w]; ok && (rv == e.ResourceVersion || e.Method == http.MethodDelete) {
			l.again[w] = true
		}
	}
}

// rotateCA gives storage a certificate of another CA; the watcher's ca-file follows.
const rotateCA = "rotate-ca"

// What can be wrong with storage over TLS (storage.tls).
const (
	wrongCA   = "wrong-ca"
	expired   = "expired"
	wrongHost = "wrong-host"
	oldTLS    = "tls-1.1" // a good certificate, but no later version
)

const certLife = 24 * time.Hour

// certFiles are the files for storage over TLS.
type certFiles struct {
	kind                      string // of storage.tls
	caFile, certFile, keyFile string
}

func certificates() Family {
	f := &certFiles{}
	return Family{Arrange: f.arrange, Rules: f.rules, Failpoints: []Failpoint{
		{Name: rotateCA, Inject: f.rotate, Available: func(t *spec.Timeline, e spec.Event) error {
			return cmp.Or(needsWatcher(t, e), t.Need(t.Storage.TLS != "", "rotate-ca without TLS", "set storage.tls: valid"))
		}},
	}}
}

// arrange writes the files where the scenario asks for TLS.
func (f *certFiles) arrange(c Cell) error {
	if f.kind = c.Scenario().Storage.TLS; f.kind == "" {
		return nil
	}
	in := func(name string) string { return filepath.Join(c.Dir(), name) }
	f.caFile, f.certFile, f.keyFile = in("ca.pem"), in("storage.pem"), in("storage-key.pem")
	c.Setup().CAFile = f.caFile
	c.Setup().TLS = &party.TLS{CertFile: f.certFile, KeyFile: f.keyFile, Old: f.kind == oldTLS}
	return f.write()
}

// rotate gives storage a certificate of a new CA, and the watcher its ca-file; the former ledger is kept.
func (f *certFiles) rotate(ctx context.Context, c Cell, _ spec.Event) (Done, error) {
	if err := f.write(); err != nil {
		return Done{}, err
	}
	return Done{}, c.Storage().Restart(ctx)
}

// rules state how long storage took to have everything after the last rotation.
func (f *certFiles) rules(c *matrix.Case) ([]matrix.Rule, error) {
	end := int64(0)
	for _, d := range c.Deeds {
		if d.What == rotateCA {
			end = d.Ended
		}
	}
	if end == 0 {
		return nil, nil
	}
	return []matrix.Rule{{Facts: func(seen matrix.Seen) []result.Fact {
		return []result.Fact{matrix.RecoveryFact("recovery after the new CA", seen.Changes, end, c.Recovery())}
	}}}, nil
}

// write makes a CA for the watcher and a certificate for storage that is as it should be, or not.
func (f *certFiles) write() error {
	ca, err := certs.NewAuthority("watchbench CA", certLife)
	if err != nil {
		return err
	}
	trusted := ca
	if f.kind == wrongCA {
		if trusted, err = certs.NewAuthority("another CA", certLife); err != nil {
			return err
		}
	}
	server := certs.Server{Name: "storage", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}}
	switch now := time.Now(); f.kind {
	case expired:
		server.From, server.To = now.Add(-2*certLife), now.Add(-certLife)
	case wrongHost:
		server.IPs, server.DNSNames = nil, []string{"elsewhere.example"}
	}
	cert, err := ca.Issue(server)
	if err != nil {
		return err
	}
	if err := certs.WriteFiles(cert, f.certFile, f.keyFile); err != nil {
		return err
	}
	return certs.WriteFile(f.caFile, trusted.PEM())
}
