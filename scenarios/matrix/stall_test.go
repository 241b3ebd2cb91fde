package matrix

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// machine makes the samples of a machine, one every 250 ms of 10 s of load and 5 s of
// drain. Its parties use half a CPU of two.
type machine struct {
	now     int64 // ms
	cpu     history.CPU
	used    map[string]float64
	delay   float64 // of each party
	samples []history.Sample
}

const (
	loadEnds  = 10_000
	drainEnds = 15_000
)

func newMachine() *machine { return &machine{used: map[string]float64{}} }

// run lets time pass, with a share of the usual work for each party, and so much of a CPU
// for others and for the hypervisor.
func (m *machine) run(ms int64, share func(party string) float64, foreign, steal, delay float64) {
	s := float64(ms) / 1e3
	m.now += ms
	for _, p := range []string{history.PartyGenerator, history.PartyAPIServer, history.PartyEtcd, history.PartyWatcher, history.PartyStorage} {
		m.used[p] += 0.1 * s * share(p)
		m.cpu.Busy += 0.1 * s * share(p)
	}
	m.cpu.Busy += foreign * s
	m.cpu.Steal += steal * s
	m.cpu.Total += 2 * s
	m.delay += delay * 0.1 * s
}

// sample reads everything; answers take until ms milliseconds later.
func (m *machine) sample(answered int64) {
	x := history.Sample{Time: m.now * 1e6, Until: (m.now + answered) * 1e6, Parties: map[string]history.Use{}}
	cpu := m.cpu
	x.CPU = &cpu
	for p, used := range m.used {
		delay := m.delay
		x.Parties[p] = history.Use{CPUSeconds: used, RunDelay: &delay}
	}
	m.samples = append(m.samples, x)
}

func full(string) float64 { return 1 }

func nobody(string) float64 { return 0 }

// TestStalled: a machine that stands still leaves evidence; a watcher that hangs, is slow
// or takes all CPUs leaves none.
func TestStalled(t *testing.T) {
	usual := full
	for _, tc := range []struct {
		name string
		from int64 // ms, of the incident
		do   func(*machine)
		want string
	}{
		{"quiet", 4000, func(*machine) {}, ""},
		{"the whole machine", 4000, func(m *machine) { m.run(2000, nobody, 0, 0, 0) }, "the runner stood still for 2.25s; generator, apiserver and etcd stood still for 2.25s"},
		{"all parties, the runner waits for an answer", 4000, func(m *machine) {
			m.sample(1900)
			m.run(2000, nobody, 0, 0, 0)
		}, "generator, apiserver and etcd stood still for 2"},
		{"only the watcher hangs", 4000, func(m *machine) {
			m.sample(1900)
			m.run(2000, func(p string) float64 {
				if p == history.PartyWatcher || p == history.PartyStorage {
					return 0
				}
				return 1
			}, 0, 0, 0)
		}, ""},
		{"the watcher hangs after the load", 11_000, func(m *machine) {
			m.sample(1900)
			m.run(2000, nobody, 0, 0, 0)
		}, ""},
		{"half a second", 4000, func(m *machine) { m.run(500, nobody, 0, 0, 0) }, ""},
		{"stolen", 4000, func(m *machine) {
			for range 16 {
				m.run(250, usual, 0, 0.5, 0)
				m.sample(5)
			}
		}, "the hypervisor took 7% of the CPU time"},
		{"a little stolen", 4000, func(m *machine) { m.run(250, usual, 0, 1, 0) }, ""},
		{"others take the CPUs", 4000, func(m *machine) {
			for range 30 {
				m.run(250, usual, 1.4, 0, 4)
				m.sample(5)
			}
		}, "other processes took 36% of the CPU time, and the parties waited"},
		{"others take CPUs that nobody waits for", 4000, func(m *machine) {
			for range 30 {
				m.run(250, usual, 1.4, 0, 0.1)
				m.sample(5)
			}
		}, ""},
		{"a greedy watcher", 4000, func(m *machine) {
			for range 30 {
				m.run(250, func(p string) float64 {
					if p == history.PartyWatcher {
						return 15
					}
					return 1
				}, 0, 0, 40)
				m.sample(5)
			}
		}, ""},
	} {
		m := newMachine()
		for done := false; m.now < drainEnds; {
			m.run(250, usual, 0, 0, 0.05)
			m.sample(5)
			if !done && m.now >= tc.from {
				done = true
				tc.do(m)
			}
		}
		c := &Case{Cell: &history.Cell{Scenario: spec.Default(), LoadFinished: loadEnds * 1e6, DrainEnd: drainEnds * 1e6}, Samples: m.samples}
		got := strings.Join(Stalled(c), "; ")
		if !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if got := Stalled(&Case{Cell: &history.Cell{}}); got != nil {
		t.Errorf("without samples: %q", got)
	}
}
