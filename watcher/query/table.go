package query

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Pods are shown as an apiserver does (pkg/printers/internalversion of Kubernetes 1.36), Nodes with their status, other
// kinds by name and age.
var (
	podPrinter  = show("Name,Ready,Status,Restarts,Age,+IP,+Node", podCells)
	nodePrinter = show("Name,Status,Age", nodeCells)
	anyPrinter  = show("Name,Age", func(o *struct{ Metadata meta }) []any {
		return []any{o.Metadata.Name, o.Metadata.age()}
	})
)

const none = "<none>"

type meta struct {
	Name              string
	CreationTimestamp time.Time
	DeletionTimestamp *time.Time
}

func (m *meta) age() string { return since(m.CreationTimestamp) }

// since is how long ago something was, in an apiserver's words.
func since(t time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t))
}

type condition struct{ Type, Status, Reason string }

type conditions []condition

func (c conditions) are(kind string) bool {
	return slices.ContainsFunc(c, func(one condition) bool { return one.Type == kind && one.Status == "True" })
}

type node struct {
	Metadata meta
	Spec     struct{ Unschedulable bool }
	Status   struct{ Conditions conditions }
}

func nodeCells(o *node) []any {
	status := "Unknown"
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			status = map[bool]string{true: "Ready", false: "NotReady"}[c.Status == "True"]
		}
	}
	if o.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return []any{o.Metadata.Name, status, o.Metadata.age()}
}

type printer struct {
	columns json.RawMessage
	cells   func(raw []byte) ([]any, error)
}

// show is a printer that reads no more of an object than T. A column that begins with a
// plus sign is shown by -o wide only.
func show[T any](names string, cells func(*T) []any) printer {
	var all []metav1.TableColumnDefinition
	for name := range strings.SplitSeq(names, ",") {
		c := metav1.TableColumnDefinition{Name: strings.TrimPrefix(name, "+"), Type: "string"}
		if c.Name != name {
			c.Priority = 1
		}
		if c.Name == "Name" {
			c.Format = "name"
		}
		all = append(all, c)
	}
	text, err := json.Marshal(all)
	if err != nil { // strings and numbers always have a form
		panic(err)
	}
	return printer{text, func(raw []byte) ([]any, error) {
		o := new(T)
		if err := json.Unmarshal(raw, o); err != nil {
			return nil, fmt.Errorf("render a row: %T cannot be read", o) // the error would quote content
		}
		return cells(o), nil
	}}
}

func printerOf(k watches.Kind) printer {
	switch kubeapi.ResourceKey(k.Group, k.Name) {
	case "pods":
		return podPrinter
	case "nodes":
		return nodePrinter
	}
	return anyPrinter
}

// appendColumns appends the columns of a kind's table; without them the client knows them from before.
func appendColumns(b []byte, k watches.Kind, all bool) []byte {
	if !all {
		return append(b, "[]"...)
	}
	return append(b, printerOf(k).columns...)
}

func appendRow(b []byte, k watches.Kind, raw []byte, include metav1.IncludeObjectPolicy) ([]byte, error) {
	cells, err := printerOf(k).cells(raw)
	if err != nil { // of a kind under a known name, but with another shape
		if cells, err = anyPrinter.cells(raw); err != nil {
			return b, err
		}
	}
	text, err := json.Marshal(cells)
	if err != nil {
		return b, fmt.Errorf("render a row: %T cannot be written", cells)
	}
	b = append(append(append(b, `{"cells":`...), text...), `,"object":`...)
	switch include {
	case metav1.IncludeNone:
		b = append(b, "null"...)
	case metav1.IncludeObject:
		b = append(b, raw...)
	default:
		b = kubeapi.AppendPartial(b, object.MetadataOf(raw))
	}
	return append(b, '}'), nil
}
