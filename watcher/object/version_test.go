package object_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/watchbench/watchbench/watcher/object"
)

func TestAppendVersion(t *testing.T) {
	for raw, want := range map[string]string{
		`{"metadata":{"name":"a","resourceVersion":"7","uid":"u"},"s":1}`: `{"metadata":{"name":"a","resourceVersion":"12","uid":"u"},"s":1}`,
		`{"metadata":{"name":"a"}}`:                                       `{"metadata":{"name":"a","resourceVersion":"12"}}`,
		`{"metadata":{}}`:                                                 `{"metadata":{"resourceVersion":"12"}}`,
		`{"metadata":{"resourceVersion":null}}`:                           `{"metadata":{"resourceVersion":"12"}}`,
		`{"resourceVersion":"3","metadata":{"name":1}}`:                   ``, // no string
		`{"metadata":null}`:                                               ``,
		`{}`:                                                              ``,
		`{"metadata":{"name":"a"}`:                                        ``,
	} {
		got, err := object.AppendVersion([]byte("<"), []byte(raw), 12)
		switch {
		case want == "":
			if err == nil || string(got) != "<" {
				t.Errorf("%s: %s, %v", raw, got, err)
			}
		case err != nil || string(got) != "<"+want:
			t.Errorf("%s: %s, %v", raw, got, err)
		}
	}
	if _, err := object.AppendVersion(nil, []byte(`{"metadata":1}`), 1); !errors.Is(err, object.ErrNoMetadata) {
		t.Error(err)
	}
	if got := object.MetadataOf([]byte(`{"a":1,"metadata":{"b":2}}`)); string(got) != `{"b":2}` {
		t.Errorf("%s", got)
	}
}

// TestContent reads the same as JSON, packed or not, and with a buffer that is large enough allocates nothing.
func TestContent(t *testing.T) {
	packed, plain := object.Recipe{Packer: &object.Packer{}}, object.Recipe{}
	for _, o := range []*object.Object{build(t, &packed, variant(1, 1)), build(t, &plain, variant(1, 1))} {
		raw, buf := o.Content(nil)
		if !bytes.Equal(raw, o.JSON()) {
			t.Fatalf("%s\nwant %s", raw, o.JSON())
		}
		if n := testing.AllocsPerRun(100, func() { _, buf = o.Content(buf) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}
