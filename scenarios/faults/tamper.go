package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Changes to rows of storage behind the watcher's back. The names equal the marks that the judge looks for.
const (
	tamperRemove = history.MarkTamperRemove
	tamperEdit   = history.MarkTamperEdit
	tamperAdd    = history.MarkTamperAdd // a row of no object
)

// podKind is the kind of the rows.
const podKind = "Pod"

func (b *besideLoad) tampering() []Failpoint {
	count := []string{"count"}
	return []Failpoint{
		{Name: tamperRemove, Takes: count, Available: tampersWithPods,
			Inject: func(ctx context.Context, c Cell, e spec.Event) (Done, error) {
				return repeat(e, func() error {
					name := b.take(c)
					markRow(c, e, name)
					return c.Storage().RemoveRow(ctx, party.ClusterID, podKind, Namespace(c, 0), name)
				})
			}},
		{Name: tamperEdit, Takes: count, Available: tampersWithPods,
			Inject: func(ctx context.Context, c Cell, e spec.Event) (Done, error) {
				return repeat(e, func() error {
					name := b.take(c)
					data, err := c.API().Object(ctx, history.Key{Kind: podKind, Namespace: Namespace(c, 0), Name: name})
					if err != nil {
						return err
					}
					body, err := edited(data)
					if err != nil {
						return err
					}
					return putRow(ctx, c, e, name, body)
				})
			}},
		{Name: tamperAdd, Takes: count, Available: tampers,
			Inject: func(ctx context.Context, c Cell, e spec.Event) (Done, error) {
				return repeat(e, func() error {
					b.added++
					name := fmt.Sprintf("nobody-%d", b.added)
					body := fmt.Sprintf(
						`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q,`+
							`"uid":"00000000-0000-4000-8000-%012d","resourceVersion":"1"}}`,
						name, Namespace(c, 0), b.added)
					return putRow(ctx, c, e, name, body)
				})
			}},
	}
}

// tampers leaves rows behind that only a comparison finds.
func tampers(t *spec.Timeline, _ spec.Event) error {
	t.Repairs = true
	return nil
}

func tampersWithPods(t *spec.Timeline, e spec.Event) error {
	t.Repairs = true
	return needsPods(t, e)
}

func markRow(c Cell, e spec.Event, name string) {
	c.Mark(history.Mark{What: e.What, Kind: podKind, Namespace: Namespace(c, 0), Name: name})
}

func putRow(ctx context.Context, c Cell, e spec.Event, name, body string) error {
	markRow(c, e, name)
	return c.Storage().PutRow(ctx, party.ClusterID, podKind, Namespace(c, 0), name, body)
}

// edited is an object with other content and the same version: only a comparison of content finds it.
func edited(data []byte) (string, error) {
	var o map[string]any
	if err := json.Unmarshal(data, &o); err != nil {
		return "", fmt.Errorf("read a pod: %w", err)
	}
	spec, _ := o["spec"].(map[string]any)
	if spec == nil {
		return "", errors.New("edit a pod: it has no spec")
	}
	spec["nodeName"] = "tampered"
	out, err := json.Marshal(o)
	return string(out), err
}

// repairRules state the longest time that a row which was tampered with stayed so.
func repairRules(c *matrix.Case) []matrix.Rule {
	type row struct {
		history.Mark
		repaired int64
	}
	var rows []row
	for _, m := range c.Marks {
		if m.What == tamperRemove || m.What == tamperEdit || m.What == tamperAdd {
			rows = append(rows, row{Mark: m})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return []matrix.Rule{{
		Request: func(e *ledger.Entry) {
			for i := range rows {
				r := &rows[i]
				if r.repaired == 0 && e.Kind == r.Kind && e.Namespace == r.Namespace && e.Name == r.Name && e.Took() &&
					e.Applied >= r.Time &&
					(e.Method == "DELETE") == (r.What == tamperAdd) {
					r.repaired = e.Applied
				}
			}
		},
		Facts: func(matrix.Seen) []result.Fact {
			longest, never, first := 0.0, int64(0), ""
			for _, r := range rows {
				if r.repaired != 0 {
					longest = max(longest, float64(r.repaired-r.Time)/1e9)
				} else if never++; never == 1 {
					first = r.Namespace + "/" + r.Name
				}
			}
			if never > 0 {
				return []result.Fact{
					matrix.Missing("T", "longest repair of a row", "s",
						fmt.Sprintf("%d of %d rows were never repaired", never, len(rows))),
					matrix.None("C", "rows that were never repaired", never, first),
				}
			}
			f := matrix.Within("T", "longest repair of a row", "s", longest, c.Recovery())
			f.Detail = fmt.Sprintf("%d rows", len(rows))
			return []result.Fact{f}
		},
	}}
}
