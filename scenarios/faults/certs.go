package faults

import (
	"context"
	"net"
	"path/filepath"
	"time"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

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
			if err := needsWatcher(t, e); err != nil {
				return err
			}
			return t.Need(t.Storage.TLS != "", "rotate-ca without TLS", "set storage.tls: valid")
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
