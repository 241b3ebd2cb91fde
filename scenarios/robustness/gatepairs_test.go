package robustness

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

var (
	pairsDir  = flag.String("pairs", "", "folder for runs of the watcher against itself and against planted regressions; without it none is made")
	pairsWant = flag.String("pairs-want", "aa=50,cpu5=54,cpu10=4,cpu20=54,request=20,slow=20", "with -pairs: how many times six blocks of each kind there are to be; those that are there count")
	pairsSeed = flag.Int("pairs-seed", 1000, "with -pairs: seed of the first kind's plans; recordings that are to be added to others need one of their own")
)

const (
	pairBlocks = 6  // of a pair, as reports/gate cuts a run
	mostBlocks = 48 // of a run: eight pairs, some ten minutes
)

// planted is a watcher that is worse in a way that the gate must see.
type planted struct {
	name string
	cpu  float64 // part of the CPU time per event that is burnt besides
	more bool    // each PUT is sent twice
	slow bool    // 2 ms before each request
}

var kinds = []planted{{name: "aa"}, {name: "slow", slow: true}, {name: "cpu5", cpu: 0.05}, {name: "cpu10", cpu: 0.10}, {name: "cpu20", cpu: 0.20}, {name: "request", more: true}}

const client = "watcher/storage/client.go"

// mutant is the watcher with it; rounds of SHA-256 are what is burnt for each event.
func (p planted) mutant(rounds int) mutant {
	m := mutant{Name: "gate-" + p.name}
	if p.cpu > 0 {
		m.Edits = []edit{
			{client, "import (\n\t\"context\"\n", "import (\n\t\"context\"\n\t\"crypto/sha256\"\n"},
			{client, "func (c *Client) write(ctx context.Context, r *request) error {\n", fmt.Sprintf("func (c *Client) write(ctx context.Context, r *request) error {\n\tvar sum [32]byte\n\tfor range %d {\n\t\tsum = sha256.Sum256(sum[:])\n\t}\n\tif sum == [32]byte{} {\n\t\treturn nil\n\t}\n", rounds)},
		}
	}
	if p.slow {
		const write = "func (c *Client) write(ctx context.Context, r *request) error {\n"
		m.Edits = []edit{{client, write, write + "\ttime.Sleep(2 * time.Millisecond)\n"}}
	}
	if p.more {
		m.Edits = []edit{{client, "\treturn c.write(ctx, r)\n}\n\n// Delete removes", "\tif err := c.write(ctx, r); err != nil {\n\t\treturn err\n\t}\n\tif r, err = buildPut(c.cfg.ClusterID, o); err != nil {\n\t\treturn err\n\t}\n\treturn c.write(ctx, r)\n}\n\n// Delete removes"}}
	}
	return m
}

// TestGatePairs records what TestRecordedPairs of reports/gate holds the gate to: the watcher against itself, and
// against planted regressions, through watchbench gate.
func TestGatePairs(t *testing.T) {
	if *pairsDir == "" {
		t.Skip("make gate-pairs records them; it takes hours of a quiet machine")
	}
	want, err := wanted(*pairsWant)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(*pairsDir)
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := build(t.Context(), "", bin+"/", "./cmd/watchbench", "./cmd/k8s-watch", "./cmd/storagemock"); err != nil {
		t.Fatal(err)
	}
	r := recorder{dir: dir, bin: bin, base: filepath.Join(bin, "k8s-watch")}
	micros := 0.0
	for i, p := range kinds {
		watcher := r.base
		if p.cpu > 0 && want[p.name] > 0 && micros == 0 {
			if micros, err = r.calibrate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		rounds := int(p.cpu * micros / roundMicros())
		if m := p.mutant(rounds); len(m.Edits) > 0 && want[p.name] > 0 {
			list, err := m.overlay(dir)
			if err != nil {
				t.Fatal(err)
			}
			watcher = filepath.Join(dir, m.Name, "k8s-watch")
			if err := build(t.Context(), list, watcher, "./cmd/k8s-watch"); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: of %.1f µs per event, %.0f %% are %d rounds", p.name, micros, 100*p.cpu, rounds)
		}
		for n := 1; want[p.name] > 0; n++ {
			runs := filepath.Join(dir, fmt.Sprintf("%s-%02d", p.name, n))
			blocks := min(mostBlocks, pairBlocks*want[p.name])
			began := time.Now()
			res, err := r.gate(t.Context(), runs, watcher, blocks, *pairsSeed+1000*i+100*n)
			if err != nil {
				t.Fatal(err)
			}
			pairs := len(res.Cells) / (4 * pairBlocks)
			if pairs == 0 {
				t.Fatalf("%s has %d cells, no pair", runs, len(res.Cells))
			}
			want[p.name] -= pairs
			t.Logf("%s: %d pairs in %s; CPU per event %+.1f %%, requests %+.1f %%\n\tgo test ./reports/gate -run TestRecordedPairs -pack %s-%02d=%s",
				p.name, pairs, time.Since(began).Round(time.Second), r.change(res, cpuPerEvent), r.change(res, requestsPerEvent), p.name, n, filepath.Join(runs, res.Run.ID))
		}
	}
}

// wanted reads kind=pairs, separated by commas.
func wanted(text string) (map[string]int, error) {
	want := map[string]int{}
	for _, part := range strings.Split(text, ",") {
		name, number, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > 1000 || !slices.ContainsFunc(kinds, func(p planted) bool { return p.name == name }) {
			return nil, fmt.Errorf("-pairs-want: %q is not one of aa, slow, cpu5, cpu10, cpu20 and request, = and a number up to 1000", part)
		}
		want[name] = n
	}
	return want, nil
}

// recorder runs watchbench gate.
type recorder struct{ dir, bin, base string }

// gate returns the run that is there, or makes it.
func (r recorder) gate(ctx context.Context, runs, watcher string, blocks, seed int) (*result.Results, error) {
	command := func(path string) string { return "'" + path + "' -f {config}" }
	if done, _ := filepath.Glob(filepath.Join(runs, "gate-*", "gate.txt")); len(done) == 0 {
		cmd := exec.CommandContext(ctx, filepath.Join(r.bin, "watchbench"), "gate", "--base-command", command(r.base), "--new-command", command(watcher),
			"--blocks", strconv.Itoa(blocks), "--seed", strconv.Itoa(seed), "--runs", runs, "--quiet")
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); err != nil && code != 4 && code != 5 { // a verdict
			return nil, fmt.Errorf("watchbench gate: %w\n%s", err, out)
		}
	}
	done, err := filepath.Glob(filepath.Join(runs, "gate-*", result.FileName))
	if err != nil || len(done) != 1 {
		return nil, fmt.Errorf("%s: %d runs, want one: %w", runs, len(done), err)
	}
	// What the pairs are made of is in results.json; the record of a run takes 50 MB.
	if err := os.RemoveAll(filepath.Join(filepath.Dir(done[0]), "cells")); err != nil {
		return nil, err
	}
	return result.LoadFile(filepath.Dir(done[0]))
}

// calibrate measures the watcher's CPU per event as it is, in µs.
func (r recorder) calibrate(ctx context.Context) (float64, error) {
	res, err := r.gate(ctx, filepath.Join(r.dir, "calibration"), r.base, pairBlocks, 1)
	if err != nil {
		return 0, err
	}
	m := stats.Median(figures(res, "", cpuPerEvent))
	if m == nil {
		return 0, fmt.Errorf("no valid cell tells the CPU per event")
	}
	return *m, nil
}

func cpuPerEvent(c *result.Cell) *float64      { return c.Watcher.CPUMicrosPerEvent }
func requestsPerEvent(c *result.Cell) *float64 { return c.Storage.RequestsPerEvent }

// change is by how many percent the new side's median is above the base's.
func (r recorder) change(res *result.Results, of func(*result.Cell) *float64) float64 {
	ratio := stats.Quotient(stats.Median(figures(res, "new", of)), stats.Median(figures(res, "base", of)))
	if ratio == nil {
		return math.NaN()
	}
	return 100 * (*ratio - 1)
}

// figures are those of the valid cells of a side, of both if it is empty.
func figures(res *result.Results, side string, of func(*result.Cell) *float64) (all []float64) {
	for i := range res.Cells {
		c := &res.Cells[i]
		if v := of(c); v != nil && c.Valid && (side == "" || c.Params["watcher"] == side) {
			all = append(all, *v)
		}
	}
	return all
}

// roundMicros is how long a round of what the mutants burn takes on this machine; the fastest of several tries, as the
// machine may do something else meanwhile.
func roundMicros() float64 {
	const rounds = 20_000
	best := time.Hour
	for range 20 {
		var sum [32]byte
		began := time.Now()
		for range rounds {
			sum = sha256.Sum256(sum[:])
		}
		if took := time.Since(began); sum != [32]byte{} {
			best = min(best, took)
		}
	}
	return float64(best.Nanoseconds()) / 1e3 / rounds
}
