package calibration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

var rawDir = flag.String("raw", "", "folder of raw recordings NAME.ndjson, {t, kind, type, object} a line, from which those of this package are made anew")

// TestConvert makes the recordings from raw ones, which are not kept: they name things.
func TestConvert(t *testing.T) {
	if *rawDir == "" {
		t.Skip("makes the recordings anew: -raw FOLDER")
	}
	files, err := filepath.Glob(filepath.Join(*rawDir, "*.ndjson"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no raw recordings in %s: %v", *rawDir, err)
	}
	for _, path := range files {
		steps := convert(t, path)
		var text bytes.Buffer
		enc, err := zstd.NewWriter(&text, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		if err != nil {
			t.Fatal(err)
		}
		lines := json.NewEncoder(enc)
		for _, s := range steps {
			if err := lines.Encode(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := enc.Close(); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".ndjson")
		if err := os.WriteFile(filepath.Join("recorded", name+suffix), text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d steps, %d bytes", name, len(steps), text.Len())
	}
}

// namespacePrefix stands before the name of a recording, or a part of it, in the name of
// the namespace that it is about.
const namespacePrefix = "cal-"

func convert(t *testing.T, path string) (steps []Step) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	first, numbers := int64(0), map[string]map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var e struct {
			T      int64           `json:"t"`
			Kind   string          `json:"kind"`
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var o map[string]any
		if err := json.Unmarshal(e.Object, &o); err != nil {
			t.Fatal(err)
		}
		meta := o["metadata"].(map[string]any)
		ns, _ := meta["namespace"].(string)
		if about, ours := strings.CutPrefix(ns, namespacePrefix); !ours || !strings.HasPrefix(filepath.Base(path), about) {
			continue
		}
		if !slices.Contains([]string{"Pod", "Event", "ReplicaSet", "Deployment", "Job", "EndpointSlice"}, e.Kind) {
			continue
		}
		if first == 0 {
			first = e.T
		}
		s := Step{At: (e.T - first) / int64(time.Millisecond), Kind: e.Kind, Type: e.Type, Writer: lastWriter(meta), Bytes: length(t, o)}
		if s.Stage, err = StageOf(e.Kind, e.Type, e.Object); err != nil {
			t.Fatal(err)
		}
		delete(meta, "managedFields")
		s.Stripped = length(t, o)
		if numbers[e.Kind] == nil {
			numbers[e.Kind] = map[string]int{}
		}
		uid := meta["uid"].(string)
		if _, known := numbers[e.Kind][uid]; !known {
			numbers[e.Kind][uid] = len(numbers[e.Kind])
		}
		s.Object = numbers[e.Kind][uid]
		steps = append(steps, s)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

func length(t *testing.T, o any) int {
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

// lastWriter is the manager with the latest time; times have whole seconds, so of several
// the last in the list.
func lastWriter(meta map[string]any) (writer string) {
	latest := ""
	fields, _ := meta["managedFields"].([]any)
	for _, f := range fields {
		m := f.(map[string]any)
		if at, _ := m["time"].(string); at >= latest {
			latest, writer = at, m["manager"].(string)
		}
	}
	return writer
}
