package collector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/watcher/object"
)

func testDecoder() *decoder {
	return &decoder{
		kind:   "Pod",
		recipe: object.Recipe{APIVersion: "v1", Kind: "Pod", Masks: []object.Mask{{Kind: "Pod", Path: []string{"data", "0"}}}, Packer: &object.Packer{}},
		known:  func(name) *object.Object { return nil },
	}
}

// readFrames decodes all frames and renders them; the last line is how it ended.
func readFrames(r io.Reader) []string {
	d := testDecoder()
	f := &buffer{src: r, atLeast: 1}
	var out []string
	for {
		var e watch.Event
		err := f.parse(func(s *jsonscan.Scanner, b []byte) (err error) {
			e, err = d.frame(s, b)
			return err
		})
		if err != nil {
			var bad *valueError
			return append(out, fmt.Sprintf("end: bad=%v eof=%v", errors.As(err, &bad), errors.Is(err, io.EOF)))
		}
		line := string(e.Type)
		if it, ok := e.Object.(*item); ok {
			line += fmt.Sprintf(" %s %s %s end=%v bad=%v problem=%v %s", it.obj.Key, it.obj.UID, itemMeta{i: it}.GetResourceVersion(), it.initialEnd, it.bad != nil, it.problem, it.obj.JSON())
		}
		out = append(out, line)
	}
}

var frames = []string{
	`{"type":"ADDED","object":{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}}` + "\n",
	`{"object":{"metadata":{"name":"a","resourceVersion":"x"}},"type":"MODIFIED"}` + "\n\n",
	`{"type":"DELETED","object":{"metadata":{"name":"a","namespace":"n","resourceVersion":"3"}}}`,
	`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n",
	`{"type":"BOOKMARK","object":{"metadata":{"annotations":["k8s.io/initial-events-end"]}}}`,
	`{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}`,
	`{"type":"ERROR","object":7}`, `{"type":"ADDED","object":{"metadata":{"name":"a"},"data":{"0":1}}}`, `{"type":"ADDED","object":{"metadata":{"name":"a"},"data":[1,2]}}`,
	`{"type":"ADDED","object":{"metadata":{"name":"a"},"data":"x"}}`, `{"type":"NEW","object":{}}`, `{"type":"ADDED"}`, `{"type":7,"object":{}}`, `{"type":"ADDED","object":null}`, `[]`, `{`, ` `, `{"type":"ADDED","object":{"metadata":{}}}`,
}

// FuzzFrames: whatever arrives, in whatever pieces, reads the same and never as something that is no JSON.
func FuzzFrames(f *testing.F) {
	for i, frame := range frames {
		f.Add([]byte(frame))
		f.Add([]byte(frame + frames[(i+1)%len(frames)]))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole := readFrames(bytes.NewReader(in))
		pieces := readFrames(iotest.OneByteReader(bytes.NewReader(in)))
		if d := cmp.Diff(whole, pieces); d != "" {
			t.Errorf("byte by byte it reads differently (-whole +bytes):\n%s", d)
		}
		for _, line := range whole {
			if at := strings.Index(line, "bad=false problem=<nil> {"); at >= 0 && !json.Valid([]byte(line[at+len("bad=false problem=<nil> "):])) {
				t.Errorf("not JSON: %s", line)
			}
		}
	})
}

func FuzzList(f *testing.F) {
	for _, in := range []string{
		`{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"c"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`,
		`{"items":[],"metadata":{}}`, `{"items":null}`, `{}`, `{"items":[{"metadata":{"name":"a"}}],"x":12}`, `{"x":12,"items":[]}`, `[]`, `{"items":[7]}`,
		`{"metadata":[],"items":[]}`, `{"items":[{"metadata":{"name":"a"}},]}`, `{"items":{}}`, " { \"items\" : [ { \"metadata\" : { \"name\":\"a\" } } ] } ",
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		read := func(r io.Reader) (*itemList, error) {
			return testDecoder().list(&buffer{src: r, atLeast: 1})
		}
		list, err := read(bytes.NewReader(in))
		again, err2 := read(iotest.OneByteReader(bytes.NewReader(in)))
		if (err == nil) != (err2 == nil) || err == nil && len(list.Items) != len(again.Items) {
			t.Fatalf("byte by byte it reads differently: %v, %v", err, err2)
		}
		if err != nil {
			return
		}
		for i, o := range list.Items {
			it := o.(*item)
			if it.bad == nil && it.obj.Key.Name == "" || it.bad == nil && it.problem == nil && !json.Valid(it.obj.JSON()) {
				t.Errorf("item %d: %v", i, it)
			}
		}
	})
}

func TestStoreTakesItemsOnly(t *testing.T) {
	c := &Collector{metrics: mustMetrics(t), logger: discard, sink: &recorder{}}
	k := c.newKind(Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true})
	s := k.store
	s.ctx = t.Context()
	rec := c.sink.(*recorder)
	add := func(n string) *item {
		it := &item{obj: &object.Object{Key: object.Key{Kind: "Pod", Namespace: "n", Name: n}, UID: "u-" + n, ResourceVersion: 5, Raw: []byte(`{}`)}}
		if err := s.Add(it); err != nil {
			t.Fatal(err)
		}
		return it
	}
	add("a")
	rec.take()
	for _, bad := range []any{nil, "x", cache.DeletedFinalStateUnknown{Key: "n/a"}} {
		if err := s.Delete(bad); err == nil {
			t.Errorf("delete of %#v was accepted", bad)
		}
	}
	if got := rec.take(); len(got) > 0 || s.len() != 1 {
		t.Errorf("%v were sent, %d objects are left, want a alone", got, s.len())
	}
	if s.Add("x") == nil || s.Update(7) == nil || s.Replace([]any{"x"}, "") == nil {
		t.Error("something that is no item was accepted")
	}
	if err := s.Resync(); err != nil {
		t.Error(err)
	}
}
