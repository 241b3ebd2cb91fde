package calibration

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Step is one watch event.
type Step struct {
	At     int64  `json:"at"` // milliseconds since the first of the recording
	Kind   string `json:"kind"`
	Object int    `json:"object"` // of its kind, numbered from 0 in the order of appearance
	Type   string `json:"type"`   // ADDED, MODIFIED or DELETED
	Stage  string `json:"stage"`  // see StageOf
	// Bytes is the length of the object as compact JSON, Stripped without managedFields.
	Bytes    int    `json:"bytes"`
	Stripped int    `json:"stripped"`
	Writer   string `json:"writer,omitempty"` // manager of the last write, by managedFields; empty where they do not say
}

//go:embed recorded/*.ndjson.zst
var files embed.FS

const suffix = ".ndjson.zst"

// Names lists the recordings.
func Names() []string {
	entries, err := files.ReadDir("recorded")
	if err != nil {
		panic(err) // it is embedded
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), suffix)
	}
	return names
}

// Recorded is the recording of that name.
func Recorded(name string) ([]Step, error) {
	data, err := files.ReadFile("recorded/" + name + suffix)
	if err != nil {
		return nil, fmt.Errorf("no recording %q; there are %s", name, strings.Join(Names(), ", "))
	}
	steps, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", name, err)
	}
	return steps, nil
}

// maxRecording bounds the text of a recording.
const maxRecording = 16 << 20

func read(data []byte) (steps []Step, err error) {
	dec, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	lines := json.NewDecoder(io.LimitReader(dec, maxRecording))
	lines.DisallowUnknownFields()
	for {
		var s Step
		switch err := lines.Decode(&s); {
		case errors.Is(err, io.EOF):
			return steps, nil
		case err != nil:
			return nil, fmt.Errorf("step %d: %w", len(steps)+1, err)
		case s.Kind == "" || s.Type == "" || s.Stage == "" || s.Bytes <= 0 || s.Stripped <= 0 || s.Stripped > s.Bytes:
			return nil, fmt.Errorf("step %d: %+v is none", len(steps)+1, s)
		}
		steps = append(steps, s)
	}
}

// Counts is the number of steps by kind and type, such as "Pod ADDED".
func Counts(steps []Step) map[string]int {
	n := map[string]int{}
	for _, s := range steps {
		n[s.Kind+" "+s.Type]++
	}
	return n
}

// Stages are those of one object, in order; repeated ones stand as often as they came.
func Stages(steps []Step, kind string, object int) (stages []string) {
	for _, s := range steps {
		if s.Kind == kind && s.Object == object {
			stages = append(stages, s.Stage)
		}
	}
	return stages
}

// Share is the median size of a kind's objects in a stage as a part of that in another,
// without managedFields; 0 where one of them is missing.
func Share(steps []Step, kind, stage, of string) float64 {
	a, b := median(steps, kind, stage), median(steps, kind, of)
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func median(steps []Step, kind, stage string) int {
	var sizes []int
	for _, s := range steps {
		if s.Kind == kind && s.Stage == stage {
			sizes = append(sizes, s.Stripped)
		}
	}
	if len(sizes) == 0 {
		return 0
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}
