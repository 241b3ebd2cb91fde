package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/scenarios/spec"
)

// proxy is the process between apiserver and watcher that lets watches go wrong.
type proxy struct {
	*process
	admin      string // base URL
	kubeconfig string // leads to it
	http       *http.Client
}

// firing is a fault in force, as both the mock and the proxy tell it.
type firing struct {
	Name  string `json:"name"`
	Fired int64  `json:"fired"`
	Keys  int64  `json:"keys"`
}

// proxySetup is what a proxy is started with.
type proxySetup struct {
	bin, logs, cell string
	kubeconfig      string // of the apiserver
	spec            spec.Watch
	seed            uint64
	ownRights       bool // the watcher has rights of its own, and is lent none
}

func startProxy(ctx context.Context, s proxySetup) (*proxy, error) {
	if info, err := os.Stat(s.bin); err != nil || info.IsDir() {
		return nil, &InputError{What: s.bin + " is not there", Remedy: "run make build, which puts all programs into one folder"}
	}
	p := &proxy{kubeconfig: filepath.Join(s.cell, "proxy.kubeconfig"), http: newClient()}
	argv := []string{
		s.bin, "--kubeconfig", s.kubeconfig, "--write-kubeconfig", p.kubeconfig, "--admin", "127.0.0.1:0",
		"--faults", s.spec.FaultText(), "--seed", strconv.FormatUint(s.seed, 10),
	}
	if !s.spec.AtStart {
		argv = append(argv, "--hold")
	}
	if s.ownRights {
		argv = append(argv, "--tls", "--pass-authorization")
	}
	var said announcement
	var err error
	if p.process, err = announce(ctx, child{name: "watchproxy", argv: argv, logs: s.logs}, &said); err != nil {
		return nil, err
	}
	p.admin = "http://" + said.Admin
	return p, nil
}

// announce starts a program whose first line on standard output tells its addresses.
func announce(ctx context.Context, ch child, said *announcement) (*process, error) {
	first := make(chan []byte, 1) // one announcement, taken below or never
	ch.lines = func(line []byte) {
		select {
		case first <- append([]byte(nil), line...):
		default:
		}
	}
	p, err := start(ch)
	if err != nil {
		return nil, err
	}
	err = p.await(ctx, "the announcement of "+ch.name, 5*time.Millisecond, startLimit, func(context.Context) bool {
		select {
		case line := <-first:
			return json.Unmarshal(line, said) == nil && said.Admin != "" && len(said.Listen) > 0
		default:
			return false
		}
	})
	if err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// begin lets the faults hold from now on.
func (p *proxy) begin(ctx context.Context) error {
	_, err := adminCall(ctx, p.http, http.MethodPost, p.admin+"/start", "")
	return err
}

// heal ends the faults and returns how often each fired.
func (p *proxy) heal(ctx context.Context) ([]firing, error) {
	fired, err := faultsOf(ctx, p.http, p.admin)
	if err != nil {
		return nil, err
	}
	_, err = adminCall(ctx, p.http, http.MethodDelete, p.admin+"/faults", "")
	return fired, err
}

// faultsOf lists the faults in force.
func faultsOf(ctx context.Context, c *http.Client, admin string) ([]firing, error) {
	data, err := adminCall(ctx, c, http.MethodGet, admin+"/faults", "")
	if err != nil {
		return nil, err
	}
	var list []firing
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read the faults in force: %w", err)
	}
	return list, nil
}

// adminCall asks an admin API.
func adminCall(ctx context.Context, c *http.Client, method, url, body string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("it answers %s: %s", resp.Status, strings.TrimSpace(string(data)))
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	return data, nil
}
