package gate

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/reports/result"
)

// pack adds a run to the recorded pairs: -pack aa-quiet=out/gate-20260102-150405. The part of the name before the
// first - is what was planted. A long run makes several pairs of consecutive blocks.
var pack = flag.String("pack", "", "NAME=DIR: add the run in DIR to testdata/pairs as NAME-01.json.zst and so on")

// Recorded pairs are runs that hold both sides, as results.json without what the gate does
// not read. Of pairs of one kind, so many may have another outcome.
var recorded = map[string]struct {
	want   Outcome // PASS: not FAIL
	missed int     // of 20 or fewer; of aa, of 50
	have   int     // pairs that are in testdata, so that none gets lost
	least  int     // pairs that there are to be
	blocks int     // of a pair; the fewest that the gate takes, but where the change is near the noise
}{
	"aa":      {Pass, 1, 55, 50, 6},
	"cpu5":    {Fail, 0, 1, 1, 16},
	"cpu10":   {Fail, 0, 1, 1, 24},
	"cpu20":   {Fail, 1, 21, 20, 16}, // as many as watchbench gate makes by default
	"request": {Fail, 1, 20, 20, 6},  // one more per event
	"slow":    {Fail, 0, 1, 1, 6},    // 2 ms for each request
}

const pairsDir = "testdata/pairs"

// TestRecordedPairs holds the gate to runs of a real watcher, as it is and with planted regressions.
func TestRecordedPairs(t *testing.T) {
	if *pack != "" {
		addPair(t, *pack)
	}
	files, err := filepath.Glob(filepath.Join(pairsDir, "*.json.zst"))
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]map[Outcome][]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json.zst")
		kind, _, _ := strings.Cut(name, "-")
		if _, known := recorded[kind]; !known {
			t.Errorf("%s: what was planted is not known", file)
			continue
		}
		v := mustPaired(t, readPair(t, file))
		if outcomes[kind] == nil {
			outcomes[kind] = map[Outcome][]string{}
		}
		outcomes[kind][v.Outcome] = append(outcomes[kind][v.Outcome], name+": "+v.Sentence())
	}
	for kind, is := range recorded {
		t.Run(kind, func(t *testing.T) {
			got, n, wrong := outcomes[kind], 0, []string(nil)
			for o, list := range got {
				n += len(list)
				t.Logf("%d %s", len(list), o)
				if is.want == Fail && o != Fail || is.want == Pass && o == Fail {
					wrong = append(wrong, list...)
				}
			}
			slices.Sort(wrong)
			if len(wrong) > is.missed {
				t.Errorf("%d of %d are not %s:\n%s", len(wrong), n, is.want, strings.Join(wrong, "\n"))
			}
			if judged := len(got[Pass]) + len(got[Warn]); n > 0 && is.want == Pass && 2*judged < n {
				t.Errorf("of %d pairs of the same only %d could be judged: that the others do not FAIL says nothing", n, judged)
			}
			if n < is.have {
				t.Errorf("%d of the %d pairs in %s are missing", is.have-n, is.have, pairsDir)
			}
			if n < is.least {
				t.Skipf("only %d of %d pairs are recorded (make gate-pairs): what must hold of them is not shown", n, is.least)
			}
		})
	}
}

func readPair(t *testing.T, file string) *result.Results {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	res, err := result.Decode(z, file)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// addPair writes a run without its curves and histograms, and without what says where it was recorded.
func addPair(t *testing.T, arg string) {
	t.Helper()
	name, dir, ok := strings.Cut(arg, "=")
	if !ok {
		t.Fatal("-pack takes NAME=DIR")
	}
	res, err := result.LoadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	res.Run.Command, res.Environment.Modules, res.Environment.Cgroup = nil, nil, nil
	maps.DeleteFunc(res.Environment.Programs, func(name, _ string) bool { return !slices.Contains(tools, name) })
	res.Scenario = map[string]any{"repeat": res.Scenario["repeat"], "pair": res.Scenario["pair"]}
	for i := range res.Cells {
		c := &res.Cells[i]
		c.Series, c.Queues, c.Bottleneck = nil, nil, result.Bottleneck{}
		maps.DeleteFunc(c.Parties, func(name string, _ result.Party) bool { return !slices.Contains(yardstick, name) })
		c.Watcher.Command, c.Pace = nil, nil
		for _, q := range []*result.Quantiles{c.Freshness, c.Bystander.Freshness, c.Storage.SeenMs, c.Load.LagMs, c.Load.FromIntent, c.Load.FromActual} {
			if q != nil {
				q.HDR = ""
			}
		}
	}
	kind, _, _ := strings.Cut(name, "-")
	for k, pair := range chunks(res, recorded[kind].blocks) {
		writePair(t, filepath.Join(pairsDir, fmt.Sprintf("%s-%02d.json.zst", name, k+1)), pair)
	}
}

// chunks cuts a run into parts of so many blocks; what is left over is dropped.
func chunks(res *result.Results, blocks int) (parts []*result.Results) {
	for k := 0; ; k++ {
		part := *res
		part.Cells, part.Run.Order = nil, nil
		whole := false
		for _, c := range res.Cells {
			if (c.Repetition-1)/(2*blocks) != k {
				continue
			}
			c.Repetition -= 2 * blocks * k
			whole = whole || c.Repetition == 2*blocks
			part.Cells, part.Run.Order = append(part.Cells, c), append(part.Run.Order, c.ID)
		}
		if !whole {
			return parts
		}
		parts = append(parts, &part)
	}
}

func writePair(t *testing.T, file string, res *result.Results) {
	t.Helper()
	var text, packed bytes.Buffer
	if err := result.Encode(&text, res); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(pairsDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d bytes", file, packed.Len())
}
