package party

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
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
	s.Image, s.AgentImage, s.Argv = p.Image(program), p.Image(programBench), []string{"/" + program}
	return s
}

// Trials are the parties of a run as Pods for a preflight.
func (p *Pods) Trials() []pod.Spec {
	return []pod.Spec{p.spec(programWatcher, p.Run+"-watcher", pod.AccountWatcher),
		p.spec(programBench, p.Run+"-load", pod.AccountLoad), p.spec(programStorage, p.Run+"-storage", "")}
}

// place has a child run as a Pod of a program's image, with what else the specification says.
func (p *Pods) place(c child, program string, more pod.Spec) (child, error) {
	s := p.spec(program, cmp.Or(more.Job, p.Run+"-"+c.name), more.ServiceAccount)
	s.Index, s.Of, s.Files, s.Results = more.Index, max(1, more.Of), more.Files, more.Results
	s.Argv, s.Env = append(s.Argv, c.argv[1:]...), c.env
	path := filepath.Join(c.logs, c.name+".pod.json")
	c.argv, c.env, c.says, c.pod = []string{p.Bench, "pod", path}, nil, true, true
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
	ok = p.pod && p.hasSaid(pod.PhasePod, &at)
	return at, ok
}

// client asks the process's ports, as if it ran here.
func (p *Process) client() *http.Client {
	c := newClient()
	c.Transport.(*http.Transport).Proxy = func(*http.Request) (*url.URL, error) {
		if !p.pod {
			return nil, nil
		}
		at, ok := p.Placed()
		if !ok {
			return nil, errors.New(p.Name + " has no Pod yet")
		}
		return url.Parse(at.Proxy)
	}
	return c
}

// settled returns once a process runs: at once on this machine.
func (p *Process) settled(ctx context.Context) error {
	if !p.pod {
		return nil
	}
	return p.reach(ctx, pod.PhasePod, podLimit, nil)
}

// retrying repeats a request that may have failed because the way to a Pod broke.
func (p *Process) retrying(ctx context.Context, request func() error) error {
	for try := 1; ; try++ {
		err := request()
		if err == nil || !p.pod || try == wayTries || p.Ended() || lifecycle.Pause(ctx, wayPause) != nil {
			return err
		}
	}
}

// LostPod says how the cluster ended the process's Pod; empty if it did not.
func (p *Process) LostPod() string {
	if !p.pod || !p.Ended() || p.killed.Load() || p.ExitCode() != pod.ExitLost {
		return ""
	}
	return cmp.Or(LastLine(p.Log), p.Name+" was lost")
}

// podEnd has a Pod's agent kill its party and end.
func (p *Process) podEnd() error {
	_, err := (admin{p.agent, pod.AgentURL}).call(context.Background(), http.MethodPost, "/end", "")
	return err
}

// podUsage is one reading of a Pod.
func (p *Process) podUsage(ctx context.Context) (pod.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return pod.Ask(ctx, p.agent)
}

// Use returns the process's use so far; not ok if it is gone or cannot be read.
func (p *Process) Use(ctx context.Context) (use history.Use, ok bool) {
	if !p.pod {
		return pod.UseOf(p.stat)
	}
	u, err := p.podUsage(ctx)
	if err != nil || u.Use == nil {
		return use, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = max(p.used, time.Duration(u.Use.CPUSeconds*float64(time.Second)))
	return *u.Use, true
}

// PodState reads the process's Pod: of several readings the one that took least, so that its clock is known best.
func (p *Process) PodState(ctx context.Context) (s history.PodState, err error) {
	for i := range clockReadings {
		u, err := p.podUsage(ctx)
		if err != nil {
			return s, p.Lost(ctx, err)
		}
		if i == 0 || u.Within < s.Within {
			s = u.PodState
		}
	}
	return s, nil
}
