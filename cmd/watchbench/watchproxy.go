package main

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/watchfault"
)

type watchproxyConfig struct {
	watchfault.ProxyConfig
	Kubeconfig string `json:"kubeconfig"` // of the apiserver; clients get its credentials
	Write      string `json:"write"`      // kubeconfig of the proxy; its server's path is a secret that requests need
}

type watchproxyAnnouncement struct {
	Listen []string `json:"listen"`
	Admin  string   `json:"admin"`
}

var watchproxyCommand = partyCommand("watchproxy",
	"A proxy in front of an apiserver that makes lists and watches fail on demand", watchproxy)

func watchproxy(ctx context.Context, c watchproxyConfig, s streams) error {
	cfg, err := kubeapi.ReadConfig(c.Kubeconfig, "")
	if err != nil {
		return badinput.Wrap(err)
	}
	log := slog.New(slog.NewTextHandler(s.err, nil))
	p, err := watchfault.NewProxy(c.ProxyConfig, cfg, log)
	if err != nil {
		return err
	}
	if err := kubeapi.WriteConfig(c.Write, kubeapi.ConfigFor("watchproxy", p.Config())); err != nil {
		return err
	}
	line := watchproxyAnnouncement{Listen: []string{p.Addr()}, Admin: p.AdminAddr()}
	if err := json.NewEncoder(s.out).Encode(line); err != nil {
		log.Warn("announcing the addresses", "error", err)
	}
	err = p.Run(ctx)
	for _, f := range p.Faults().List() {
		log.Info("fault", "spec", f.Spec, "fired", f.Fired, "keys", f.Keys)
	}
	return err
}
