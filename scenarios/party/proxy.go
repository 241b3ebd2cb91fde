package party

import (
	"context"
	"net/http"
	"path/filepath"

	"github.com/watchbench/watchbench/loadgen/watchfault"
)

// Proxy is the process between apiserver and watcher that injects watch faults.
type Proxy struct {
	*Process
	admin
	Kubeconfig string // path of one that leads to it
}

// ProxySetup configures a proxy.
type ProxySetup struct {
	Bench
	Kubeconfig string // of the apiserver
	watchfault.ProxyConfig
}

// StartProxy returns once the proxy listens.
func StartProxy(ctx context.Context, s ProxySetup) (*Proxy, error) {
	p := &Proxy{Kubeconfig: filepath.Join(s.Cell, "proxy.kubeconfig")}
	c, err := s.child("watchproxy", struct {
		watchfault.ProxyConfig
		Kubeconfig string `json:"kubeconfig"`
		Write      string `json:"write"`
	}{s.ProxyConfig, s.Kubeconfig, p.Kubeconfig})
	if err != nil {
		return nil, err
	}
	var said announcement
	if p.Process, err = begin(ctx, c, "", startLimit, &said); err != nil {
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
