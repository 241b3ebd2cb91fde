package apisim

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// printer makes the rows of a kind's table, as kubectl get prints it.
type printer struct {
	columns []metav1.TableColumnDefinition
	cells   func(object []byte) ([]any, error)
}

// show is a printer of objects of type T. Columns that are shown with -o wide only begin
// with a plus sign.
func show[T any](names string, cells func(*T) []any) printer {
	return printer{columns(names), func(object []byte) ([]any, error) {
		o := new(T)
		err := json.Unmarshal(object, o)
		return cells(o), err
	}}
}

func column(name, kind string, priority int32) metav1.TableColumnDefinition {
	c := metav1.TableColumnDefinition{Name: name, Type: kind, Priority: priority}
	if name == "Name" {
		c.Format = "name"
	}
	return c
}

func columns(names string) (all []metav1.TableColumnDefinition) {
	for name := range strings.SplitSeq(names, ",") {
		wide, priority := strings.TrimPrefix(name, "+"), int32(0)
		if wide != name { // only with -o wide
			priority = 1
		}
		all = append(all, column(wide, "string", priority))
	}
	return all
}

func printerOf(r Resource) printer {
	if p, ok := printers[r.Key()]; ok {
		return p
	}
	return show("Name,Age", anyCells)
}

// row is one row of a table as JSON.
func (p printer) row(r Resource, ver string, include metav1.IncludeObjectPolicy, v *version, rv uint64) ([]byte, error) {
	object := v.appendJSON(nil, typed(r.groupVersion(ver), r.Kind), rv)
	cells, err := p.cells(object)
	if err != nil {
		return nil, fmt.Errorf("show %s as a row: %w", v.path(), err)
	}
	row := struct {
		Cells  []any           `json:"cells"`
		Object json.RawMessage `json:"object"`
	}{Cells: cells}
	switch include {
	case metav1.IncludeNone:
	case metav1.IncludeObject:
		row.Object = object
	default:
		row.Object = appendPartial(nil, v, rv)
	}
	return json.Marshal(row)
}

// appendTable appends a table; without columns the client knows them from one before.
func appendTable(b, meta []byte, cols []metav1.TableColumnDefinition, rows [][]byte) ([]byte, error) {
	b = head(b, metaVersion, asTable, meta)
	text, err := json.Marshal(cols)
	if err != nil {
		return b, err
	}
	b = append(append(b, `,"columnDefinitions":`...), text...)
	b = append(b, `,"rows":[`...)
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, row...)
	}
	return append(b, "]}"...), nil
}
