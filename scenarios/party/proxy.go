package party

import (
	"context"
	"net/http"
	"path/filepath"
	"strconv"

	"github.com/watchbench/watchbench/scenarios/spec"
)

// Proxy is the process between apiserver and watcher that injects watch faults.
type Proxy struct {
	*Process
	admin
	Kubeconfig string // path of one that leads to it
}

// ProxySetup configures a proxy.
type ProxySetup struct {
	Bin, Logs, Cell string // program, folder of logs, folder of the cell
	Kubeconfig      string // of the apiserver
	Spec            spec.Watch
	Seed            uint64
	// OwnRights says that the watcher has credentials of its own, which the proxy passes
	// on instead of lending its own.
	OwnRights bool
}

// StartProxy returns once the proxy listens.
func StartProxy(ctx context.Context, s ProxySetup) (*Proxy, error) {
	p := &Proxy{Kubeconfig: filepath.Join(s.Cell, "proxy.kubeconfig")}
	argv := []string{
		s.Bin, "watchproxy", "--kubeconfig", s.Kubeconfig, "--write-kubeconfig", p.Kubeconfig, "--admin", "127.0.0.1:0",
		"--faults", s.Spec.FaultText(), "--seed", strconv.FormatUint(s.Seed, 10),
	}
	if !s.Spec.AtStart {
		argv = append(argv, "--hold")
	}
	if s.OwnRights {
		argv = append(argv, "--tls", "--pass-authorization")
	}
	var said announcement
	var err error
	if p.Process, err = announce(ctx, child{name: "watchproxy", argv: argv, logs: s.Logs}, &said); err != nil {
		return nil, err
	}
	p.admin = admin{newClient(), "http://" + said.Admin}
	return p, nil
}

// Begin puts the faults in force.
func (p *Proxy) Begin(ctx context.Context) error {
	_, err := p.call(ctx, http.MethodPost, "/start", "")
	return err
}
