package party

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/pod"
)

// Pods starts the parties of a cell as Pods; nil starts them as processes of this machine.
type Pods struct {
	// Bench is watchbench, whose command pod stands in for a party here.
	Bench string
	// All holds what the parties of the run have in common.
	All   pod.Spec
	Image func(program string) string
	// Run is of the cell, and begins the names of its Jobs; Cell is its folder.
	Run, Cell string
}

// Programs, which are the names of their images too.
const (
	programWatcher = "k8s-watch"
	programStorage = "storagemock"
	programBench   = "watchbench"
)

// Images are the programs of which there are images.
func Images() []string { return []string{programWatcher, programStorage, programBench} }

const (
	// podLimit bounds the time until a Pod's party starts: that its image can be pulled was seen before.
	podLimit = 2 * time.Minute
	// podGrace is added to that of a party that ends: its results are fetched, and its Job deleted.
	podGrace = time.Minute
	// killGrace is how long a stand-in gets to see that its party was killed.
	killGrace = 30 * time.Second
	// wayTries is how often a request is made on the way to a Pod, which may break, and wayPause the pause between.
	wayTries = 5
	wayPause = time.Second
	// clockReadings of a Pod's clock are made, of which the fastest counts.
	clockReadings = 8
)

// spec returns what a Pod of a program has in common with all others.
func (p *Pods) spec(program, job, account string) pod.Spec {
	s := p.All
	s.Job, s.Of, s.ServiceAccount, s.Dir = job, 1, account, p.Cell
	s.Image, s.AgentImage = p.Image(program), p.Image(programBench)
	return s
}

// Trials are the parties of a run as Pods that start nothing.
func (p *Pods) Trials() []pod.Spec {
	return []pod.Spec{p.spec(programWatcher, p.Run+"-watcher", pod.AccountWatcher),
		p.spec(programBench, p.Run+"-load", pod.AccountLoad), p.spec(programStorage, p.Run+"-storage", "")}
}

// place has a child run as a Pod of a program's image, with what else the specification says.
func (p *Pods) place(c child, program string, more pod.Spec) (child, error) {
	port, err := freePorts(1)
	if err != nil {
		return c, err
	}
	s := p.spec(program, cmp.Or(more.Job, p.Run+"-"+c.name), more.ServiceAccount)
	s.Index, s.Of, s.Files, s.Results, s.Ports = more.Index, max(1, more.Of), more.Files, more.Results, more.Ports
	s.Argv, s.Env, s.Agent = append([]string{"/" + program}, c.argv[1:]...), c.env, port[0]
	path := filepath.Join(c.logs, c.name+".pod.json")
	c.argv, c.env, c.says, c.agent = []string{p.Bench, "pod", path}, nil, true, s.Agent
	return c, writeJSON(path, s)
}

// Kubeconfig is a party's way to the apiserver from inside the cluster, by its ServiceAccount.
func (p *Pods) Kubeconfig() string { return filepath.Join(p.Cell, "pod.kubeconfig") }

// WriteKubeconfig makes it.
func (p *Pods) WriteKubeconfig() error {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	cfg := kubeapi.ConfigFor("pod", &rest.Config{Host: "https://kubernetes.default.svc"})
	cfg.Clusters["pod"].CertificateAuthority, cfg.AuthInfos["pod"].TokenFile = account+"ca.crt", account+"token"
	return kubeapi.WriteConfig(p.Kubeconfig(), cfg)
}

// Ports of parties are below those that the kernel gives to connections, which may take one while a Pod starts.
const lowestPort, highestPort = 20_000, 32_000

// freePorts finds n free ports in a row; another process may take one first, so the start is tried again.
func freePorts(n int) ([]int, error) {
	var err error
	for range 100 {
		first := lowestPort + rand.IntN(highestPort-lowestPort-n)
		ports := make([]int, n)
		for i := range ports {
			ports[i] = first + i
			var l net.Listener
			if l, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(ports[i])); err != nil {
				break
			}
			_ = l.Close() // it took nothing
		}
		if err == nil {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("find free ports: %w", err)
}

// Placed says where the process runs as a Pod; not ok on this machine, or before its Pod has started.
func (p *Process) Placed() (at pod.Placed, ok bool) {
	ok = p.agent != nil && p.hasSaid(pod.PhasePod, &at)
	return at, ok
}

// settled returns once a process runs: at once on this machine.
func (p *Process) settled(ctx context.Context) error {
	if p.agent == nil {
		return nil
	}
	return p.reach(ctx, pod.PhasePod, podLimit, nil)
}

// retrying repeats a request that may have failed because the way to a Pod broke.
func (p *Process) retrying(ctx context.Context, request func() error) error {
	for try := 1; ; try++ {
		err := request()
		if err == nil || p.agent == nil || try == wayTries || p.Ended() || lifecycle.Pause(ctx, wayPause) != nil {
			return err
		}
	}
}

// LostPod says how the cluster ended the process's Pod; empty if it did not.
func (p *Process) LostPod() string {
	if p.agent == nil || !p.Ended() || p.killed.Load() || p.ExitCode() != pod.ExitLost {
		return ""
	}
	return cmp.Or(LastLine(p.Log), p.Name+" was lost")
}

// end has a Pod's agent kill its party and end.
func (a *agent) end() error {
	_, err := (admin{a.http, a.base}).call(context.Background(), http.MethodPost, "/end", "")
	return err
}

// agent is the agent of a process's Pod.
type agent struct {
	http *http.Client
	base string // URL
}

func newAgent(port int) *agent {
	if port == 0 {
		return nil
	}
	return &agent{newClient(), "http://127.0.0.1:" + strconv.Itoa(port)}
}

// usage is one reading, with the Pod's clock less this machine's, and how far off that may be.
func (a *agent) usage(ctx context.Context) (u pod.Usage, ahead, within int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	began := time.Now()
	resp, err := get(ctx, a.http, a.base+"/usage")
	if err != nil {
		return u, 0, 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	took := time.Since(began).Nanoseconds()
	if err == nil {
		err = json.Unmarshal(data, &u)
	}
	if err != nil {
		return u, 0, 0, fmt.Errorf("read what a Pod has used: %w", err)
	}
	return u, u.Time - (began.UnixNano() + took/2), took / 2, nil
}

// Use returns the process's use so far; not ok if it is gone or cannot be read.
func (p *Process) Use(ctx context.Context) (use history.Use, ok bool) {
	if p.agent == nil {
		return LocalUse(p.stat)
	}
	u, _, _, err := p.agent.usage(ctx)
	if err != nil || u.CPUSeconds < 0 {
		return use, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = max(p.used, time.Duration(u.CPUSeconds*float64(time.Second)))
	return history.Use{CPUSeconds: u.CPUSeconds, RSSBytes: max(0, u.RSSBytes), RSSHighestBytes: max(0, u.RSSHighestBytes),
		Read: u.Read, Written: u.Written}, true
}

// LocalUse is Use of a process of this machine.
func LocalUse(p *procstat.Process) (use history.Use, ok bool) {
	if p == nil {
		return use, false
	}
	u, err := p.Usage()
	return history.Use{CPUSeconds: u.CPU.Seconds(), RSSBytes: float64(u.RSS), RSSHighestBytes: float64(u.RSSHighest),
		Read: float64(u.Read), Written: float64(u.Written)}, err == nil
}

// PodState reads the process's Pod: of several readings the one that took least, so that its clock is known best.
func (p *Process) PodState(ctx context.Context) (s history.PodState, err error) {
	if p.agent == nil {
		return s, errors.New(p.Name + " is no Pod")
	}
	for i := range clockReadings {
		u, ahead, within, err := p.agent.usage(ctx)
		if err != nil {
			return s, p.Lost(ctx, err)
		}
		if i == 0 || within < s.Within {
			s = history.PodState{Throttled: u.Throttled, ThrottledSeconds: u.ThrottledSeconds, OOMKills: u.OOMKills,
				Received: u.Received, Sent: u.Sent, Ahead: ahead, Within: within}
		}
	}
	return s, nil
}
