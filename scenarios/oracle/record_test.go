package oracle

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// The lines of a cell's files are read as what wrote them; all that is computed of them is the
// oracle's own.
type (
	operation oplog.Record
	request   ledger.Entry
	state     = history.StateRecord
	sample    = history.Sample
	mark      = history.Mark
	key       history.Key
	firing    history.Firing
)

func (o *operation) ok() bool     { return o.Error == "" && o.Status >= 200 && o.Status < 300 }
func (o *operation) key() key     { return key{o.Kind, o.Namespace, o.Name} }
func (o *operation) delete() bool { return o.Type == "delete" }

// counted says that the operation belongs to the load and succeeded; heartbeats of
// nodes are nobody's load.
func (o *operation) counted() bool { return o.Phase == "load" && o.ok() && o.Type != "heartbeat" }

// notes is the kind of the watcher's own record in storage, which is no object's.
const notes = "K8sWatchState"

func (r *request) key() key    { return key{r.Kind, r.Namespace, r.Name} }
func (r *request) took() bool  { return r.Effect != "rejected" && r.Applied != 0 }
func (r *request) acked() bool { return r.Responded != 0 && r.Status == 200 && r.Code == 0 }

// mine says that the watcher sent it: the runner's own tampering is in the ledger too.
func (r *request) mine() bool { return r.Fault != "tamper" }

type cellFile struct {
	ID         string
	Repetition int
	Params     map[string]string
	Scenario   scenario
	Watcher    struct {
		Command                 []string
		Version                 string
		Own, Joined             bool
		Started, Ready          int64
		Restarts                int
		FirstSync, FirstSyncCPU *float64
		Stored                  int64
		StoredCPU, AskCPU       *float64
		ExitCode                *int
	}
	Planned                                        int64
	Generators                                     []any
	LoadStarted, LoadFinished, FaultsSet, DrainEnd int64
	Cut                                            bool
	ScrapeStarted, ScrapeFinished                  int64
	StorageFaults                                  map[string]int64
	Fired, WatchFired                              []firing
	Kinds                                          []string
	Refusal                                        map[string]any
}

type scenario struct {
	Cluster struct {
		Controllers bool
		Replay      struct{ Trace, Speed string }
	}
	Storage struct {
		Latency, Mode string
		Capacity      struct {
			Inflight, Rate int
			Kinds          []string
		}
		Faults []string
	}
	Load struct {
		Model, Arrival string
		Profile        string
		Nodes          float64
		Threads        int
		Operations     int64
		Rate           float64
		Duration       string
		Warmup         struct{ Operations int64 }
		Hotkeys        struct{ Burst int64 }
		Steps          []any
		LabelShards    int
		Bystander      *struct {
			Kind string
			Rate float64
		}
	}
	Watcher struct {
		Profile, Strategy, QueueFull                 string
		PodQueueNum, WriterQueueLen, HandlerQueueLen int
		Replicas, Shards                             int
		Synchronizer                                 struct{ Disabled bool }
	}
	Readers asking
	Watch   struct{ Faults []string }
	Events  []map[string]any
	Fault   *struct {
		Row, Title                   string
		Assert, Measure, Legacy      []string
		Amplification                float64
		FromAnswer, PerStep, Repairs bool
		Recovery                     string
	}
	Expect map[string]map[string]string
	Limits struct {
		MinPower              int64
		Lag                   string
		MinEvents, MinOffered any
	}
}

// metrics is one reading of a /metrics page: series by name and labels.
type metrics map[string]float64

type record struct {
	dir           string
	cell          cellFile
	meta          meta
	ops           []operation
	ledger        []request
	states        []state
	samples       []sample
	marks         []mark
	leases        []lease
	reads         []read
	before, after metrics
	received      float64 // requests of all kinds that storage received since the load began
	limit         float64 // requests for Pods per second that its senders allow
}

type meta struct {
	Strategy, Mode, QueueFull string
	Rules                     struct{ Kinds, IgnoreNamespaces []string }
	Counters                  *struct {
		Total                                     map[string]int64
		Kinds                                     map[string]map[string]int64
		StorageSucceeded, FreshnessCount, Relists map[string]int64
	}
	Until   int64
	Shards  int
	ShardBy string
}

func load(t *testing.T, dir string) *record {
	t.Helper()
	r := &record{dir: dir}
	readJSON(t, filepath.Join(dir, "cell.json"), &r.cell)
	readJSON(t, filepath.Join(dir, "history.json"), &r.meta)
	r.ops = lines[operation](t, filepath.Join(dir, "ops.ndjson.zst"))
	r.ledger = lines[request](t, filepath.Join(dir, "ledger.ndjson.zst"))
	r.states = lines[state](t, filepath.Join(dir, "state.ndjson.zst"))
	r.samples = lines[sample](t, filepath.Join(dir, "samples.ndjson"))
	slices.SortStableFunc(r.samples, func(a, b sample) int { return cmp.Compare(a.Time, b.Time) })
	r.marks = lines[mark](t, filepath.Join(dir, "marks.ndjson"))
	r.leases = lines[lease](t, filepath.Join(dir, "leases.ndjson"))
	r.reads = lines[read](t, filepath.Join(dir, "readers.ndjson.zst"))
	r.before = scrape(t, filepath.Join(dir, "before.prom"))
	r.after = scrape(t, filepath.Join(dir, "after.prom"))
	return r
}

// open reads a file whole; one that is not there is empty. Committed records have the
// large text files compressed, as .zst.
func open(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(path, ".zst") {
		path += ".zst"
		data, err = os.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && strings.HasSuffix(path, ".zst") {
		var d *zstd.Decoder
		if d, err = zstd.NewReader(nil); err == nil {
			defer d.Close()
			data, err = d.DecodeAll(data, nil)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return data
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data := open(t, path)
	if data == nil {
		t.Fatalf("%s is missing", path)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// lines decodes one object a line. The op log has checkpoints between its records, and the
// readers' record a last line that counts the others.
func lines[T any](t *testing.T, path string) []T {
	t.Helper()
	var out []T
	for _, line := range bytes.Split(open(t, path), []byte("\n")) {
		if len(line) == 0 || bytes.HasPrefix(line, []byte(`{"checkpoint"`)) {
			continue
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s: %v in %s", path, err, line)
		}
		out = append(out, v)
	}
	return out
}

var metricLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?) (\S+)$`)

// scrape reads the text of a /metrics page; nil without one.
func scrape(t *testing.T, path string) metrics {
	t.Helper()
	data := open(t, path)
	if data == nil {
		return nil
	}
	m := metrics{}
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		x := metricLine.FindStringSubmatch(s.Text())
		if x == nil {
			t.Fatalf("%s: %q", path, s.Text())
		}
		v, err := strconv.ParseFloat(x[2], 64)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		m[x[1]] += v // of replicas there are several
	}
	return m
}

// sum adds up the series of a metric that have all the labels, each as name="value";
// false if there is no series of that name at all.
func (m metrics) sum(name string, labels ...string) (float64, bool) {
	total, found := 0.0, false
	for series, v := range m {
		base, rest, _ := strings.Cut(series, "{")
		if base != name {
			continue
		}
		found = true
		all := true
		for _, l := range labels {
			all = all && (strings.Contains(rest, ","+l) || strings.HasPrefix(rest, l))
		}
		if all {
			total += v
		}
	}
	return total, found
}

// grown is by how much a counter grew from the beginning of the load to the end.
func (r *record) grown(name string, labels ...string) (float64, bool) {
	a, known := r.after.sum(name, labels...)
	b, _ := r.before.sum(name, labels...)
	return a - b, known
}
