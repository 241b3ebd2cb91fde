package watcher

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/bcs"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/storage"
)

// platform has the services besides the cluster: storage and netservice.
type platform struct {
	cfg     config.Config
	log     *slog.Logger
	storage *storage.Client
	client  *http.Client      // of netservice
	finds   []lifecycle.Stage // what finds storage in ZooKeeper; none where its address is configured
}

// newPlatform connects to nothing. permit is asked before each write; nil permits all.
func newPlatform(cfg config.Config, s Settings, r prometheus.Registerer, permit func() error) (*platform, error) {
	p := &platform{cfg: cfg, log: s.Logger}
	load, err := clientTLS("bcs.tls", cfg.BCS.TLS, cfg.BCS.InsecureSkipVerify)
	if err != nil {
		return nil, &InputError{Err: err}
	}
	if cfg.BCS.InsecureSkipVerify {
		p.log.Warn("the certificates of storage and netservice are not verified: "+
			"anybody on the way can read and change what is sent",
			"key", "bcs.insecureSkipVerify")
	}
	p.client = httpClient(load)
	token, err := storageToken(cfg.BCS, s.Logger)
	if err != nil {
		return nil, &InputError{Key: "bcs.custom-storage-endpoints-tokenFile", Err: err}
	}
	p.storage, err = storage.New(storageConfig(cfg), storage.Settings{TLS: load, Registry: r, Token: token, Dial: s.Dial,
		Permit: permit})
	if err != nil {
		return nil, &InputError{Key: "bcs.custom-storage-endpoints", Err: err}
	}
	if len(cfg.BCS.CustomStorageEndpoints) == 0 {
		find, err := p.find("bcs.zk", cfg.BCS.ZK, bcs.PathStorage, func(addrs []string) {
			if err := p.storage.SetEndpoints(addrs); err != nil {
				p.log.Error("storage servers from ZooKeeper rejected", "error", err)
			}
		})
		if err != nil {
			return nil, err
		}
		p.finds = append(p.finds, find)
	}
	return p, nil
}

// find is the stage that follows the servers of one module in ZooKeeper.
func (p *platform) find(key, hosts, path string, tell func(addrs []string)) (lifecycle.Stage, error) {
	watch, err := bcs.NewDiscovery(bcs.DiscoveryConfig{
		Hosts: hosts, Path: path, User: p.cfg.BCS.ZKUser, Password: p.cfg.BCS.ZKPassword, Logger: p.log,
		OnChange: func(servers []bcs.ServerInfo) {
			var addrs []string
			for _, s := range servers {
				// The original looks for storage only from outside (contract §7.1).
				addrs = append(addrs, s.Address(p.cfg.BCS.IsExternal && path == bcs.PathStorage))
			}
			tell(addrs)
		},
	})
	if err != nil {
		return lifecycle.Stage{}, &InputError{Key: key, Err: err}
	}
	return lifecycle.Stage{Name: "servers below " + path, Run: watch.Run}, nil
}

// netService is the NetServiceWatcher with its discovery, or nothing where it is
// switched off. Configured addresses need no ZooKeeper.
func (p *platform) netService() ([]lifecycle.Stage, error) {
	if p.cfg.WatchResource.DisableNetService {
		return nil, nil
	}
	n := bcs.NewNetService(bcs.NetServiceSettings{
		ClusterID: p.cfg.Default.ClusterID, Store: p.storage, Logger: p.log, Client: p.client,
	})
	stages := []lifecycle.Stage{{Name: "netservice", Run: n.Run}}
	if custom := p.cfg.BCS.CustomNetServiceEndpoints; len(custom) > 0 {
		n.SetServers(custom)
		return stages, nil
	}
	find, err := p.find("bcs.netservice-zookeepers", p.cfg.BCS.NetServiceZooKeepers, bcs.PathNetService,
		n.SetServers)
	return append(stages, find), err
}

func (p *platform) storageKey() string {
	if len(p.cfg.BCS.CustomStorageEndpoints) == 0 {
		return "bcs.zk"
	}
	return "bcs.custom-storage-endpoints"
}

// ask asks whether a bcs-storage answers: nothing is sent to anything else.
func (p *platform) ask(ctx context.Context) error {
	err := p.storage.Check(ctx)
	if _, not := errors.AsType[*storage.NotStorageError](err); not {
		err = fmt.Errorf("something else than bcs-storage answers there: %w", err)
	}
	return err
}

func untrusted(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	return certificate || errors.Is(err, storage.ErrTLSVersion)
}
