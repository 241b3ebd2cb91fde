package render

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

type drawnFlow struct {
	Series []struct {
		Data  []struct{ Name string }
		Links []struct {
			Source, Target string
			Value          float64
		}
	}
}

func flowOf(t *testing.T, e *result.Events) (*chart, drawnFlow) {
	t.Helper()
	c := drained(1)
	c.Events = e
	var flow drawnFlow
	chart := flowSankey("x", row1(c))
	if chart == nil {
		return nil, flow
	}
	data, err := encode(chart.Option)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &flow); err != nil {
		t.Fatal(err)
	}
	return chart, flow
}

// row1 is the row of one cell.
func row1(c result.Cell) *row {
	return arrange(&result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}, Cells: []result.Cell{c}}).rows[0]
}

// TestFlowBalances: what comes into the watcher is what leaves it, and a difference has a
// node of its own.
func TestFlowBalances(t *testing.T) {
	for name, x := range map[string]struct {
		events result.Events
		nodes  []string
	}{
		"balanced":               {result.Events{Received: 100, Sent: 60, Coalesced: 40}, []string{"received 100", "watcher", "acknowledged 60", "coalesced 40"}},
		"every outcome":          {result.Events{Received: 21, Sent: 1, Coalesced: 2, Filtered: 3, Parked: 4, Queued: 5, Dropped: 6}, []string{"received 21", "watcher", "acknowledged 1", "coalesced 2", "filtered 3", "parked 4", "queued 5", "dropped 6"}},
		"too few left":           {result.Events{Received: 100, Sent: 60}, []string{"received 100", "watcher", "acknowledged 60", "not accounted for 40"}},
		"too many left":          {result.Events{Received: 100, Sent: 130}, []string{"received 100", "not accounted for 30", "watcher", "acknowledged 130"}},
		"queued before the load": {result.Events{Received: 100, Sent: 107, Queued: -7}, []string{"received 100", "queued before 7", "watcher", "acknowledged 107"}},
	} {
		c, flow := flowOf(t, &x.events)
		if c == nil {
			t.Errorf("%s: no chart", name)
			continue
		}
		var nodes []string
		for _, n := range flow.Series[0].Data {
			nodes = append(nodes, n.Name)
		}
		if !slices.Equal(nodes, x.nodes) {
			t.Errorf("%s: nodes %q, want %q", name, nodes, x.nodes)
		}
		in, out := 0.0, 0.0
		for _, l := range flow.Series[0].Links {
			switch {
			case l.Target == "watcher":
				in += l.Value
			case l.Source == "watcher":
				out += l.Value
			default:
				t.Errorf("%s: a link past the watcher: %+v", name, l)
			}
			if l.Value <= 0 {
				t.Errorf("%s: link of %v", name, l.Value)
			}
		}
		if in != out || in == 0 {
			t.Errorf("%s: %v in, %v out", name, in, out)
		}
		last := c.Data.Rows[len(c.Data.Rows)-1]
		if last[0] != "not accounted for" || (last[1] == "0") == strings.Contains(strings.Join(nodes, " "), "not accounted") {
			t.Errorf("%s: the table ends with %q", name, last)
		}
	}
	if c := flowSankey("x", row1(result.Cell{Valid: true, Events: &result.Events{Received: 5, Sent: 5}, Watcher: result.Watcher{Restarts: 2}})); !strings.Contains(c.Caption, "last process") {
		t.Errorf("of a restarted watcher: %q", c.Caption)
	}
	other := result.Cell{Valid: true, Events: &result.Events{Sent: 5}, Handler: result.Handler{Strategy: result.External}}
	if c := flowSankey("x", row1(other)); c != nil {
		t.Error("a watcher without counters has a flow")
	}
	if c, _ := flowOf(t, nil); c != nil {
		t.Error("a watcher that gives no account has a flow")
	}
	if c, _ := flowOf(t, &result.Events{}); c != nil {
		t.Error("a flow of nothing is drawn")
	}
}

// TestFlowsPerLoad: each load shows the flow of its fastest correct row, the others on request.
func TestFlowsPerLoad(t *testing.T) {
	for _, l := range arrange(fixture(t)).Loads() {
		var first []string
		others := 0
		for _, c := range l.Main {
			if strings.HasPrefix(c.Title, "Event flow") {
				first = append(first, c.Title)
			}
		}
		for _, c := range l.More {
			if strings.HasPrefix(c.Title, "Event flow") {
				others++
			}
		}
		want := map[string]string{"heavy": "Event flow: dedup", "light": "Event flow: keyed"}[l.Name]
		if len(first) != 1 || !strings.HasPrefix(first[0], want) || others == 0 {
			t.Errorf("%s: %q and %d others, want %q", l.Name, first, others, want)
		}
	}
}
