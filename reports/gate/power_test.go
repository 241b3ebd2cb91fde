package gate

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/reports/stats"
)

var update = flag.Bool("update", false, "rewrite the table in docs/gate.md")

const (
	docsFile   = "../../docs/gate.md"
	tableBegin = "<!-- go test ./reports/gate -run Power -update -->\n"
	tableEnd   = "<!-- end -->\n"
)

// TestPowerTable holds the table of detectable effects in docs/gate.md to a simulation.
func TestPowerTable(t *testing.T) {
	doc, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(doc, []byte(tableBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(tableEnd))
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", docsFile)
	}
	want := slices.Concat(before, []byte(tableBegin), powerTable(), []byte(tableEnd), after)
	if bytes.Equal(doc, want) {
		return
	}
	if !*update {
		t.Fatalf("the table differs from the simulation (-update):\n%s", powerTable())
	}
	if err := os.WriteFile(docsFile, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// powerTable has, by noise and blocks, the true change that FAILs in nine of ten gates as
// the first of five figures by Holm, and the share of gates of the same that PASS.
func powerTable() []byte {
	const runs, allow = 400, 0.02
	blocks := []int{6, 8, 12, 16, 24}
	var b bytes.Buffer
	b.WriteString("| noise of a cell |")
	for _, n := range blocks {
		fmt.Fprintf(&b, " %d blocks |", n)
	}
	b.WriteString("\n|--:|" + string(bytes.Repeat([]byte("--:|"), len(blocks))) + "\n")
	for _, sigma := range []float64{0.01, 0.02, 0.03, 0.05, 0.1} {
		n := usual
		n.sigma, n.outlier = sigma, 10*sigma
		fmt.Fprintf(&b, "| %.0f %% |", 100*sigma)
		for _, k := range blocks {
			rng := rand.New(rand.NewPCG(uint64(k), 9))
			var needed []float64
			passed := 0
			for range runs {
				next := n.stream(rng, 4*k)
				values := make([][4]float64, k)
				for i := range values {
					for j := range values[i] {
						values[i][j] = next()
					}
					if rng.IntN(2) == 0 { // begun by the other side
						v := values[i]
						values[i] = [4]float64{v[1], v[0], v[3], v[2]}
					}
				}
				r := stats.PairedRatio(values)
				// A true change only shifts the ratio.
				needed = append(needed, (1+allow)/r.At(1-2*0.05/5).Low)
				if r.At(0.9).High < 1+allow {
					passed++
				}
			}
			slices.Sort(needed)
			fmt.Fprintf(&b, " %.0f %% (%d %%) |", 100*(needed[runs*9/10]-1), 100*passed/runs)
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}
