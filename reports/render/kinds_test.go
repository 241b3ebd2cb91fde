package render

import (
	"slices"
	"testing"
)

// TestKindBars: the figures are those of the table, by cell.
func TestKindBars(t *testing.T) {
	all := arrange(profiledRun()).KindCharts()
	if len(all) != 1 {
		t.Fatalf("%d charts, want one: of the load that has a profile", len(all))
	}
	c := all[0]
	if want := []string{"type", "Pod", "Event", "Lease", "Gadget", "EndpointSlice"}; len(c.Data.Head) != len(want) {
		t.Errorf("columns %q, want %q", c.Data.Head, want)
	}
	pod := slices.Index(c.Data.Head, "Pod")
	var got []string
	for _, r := range c.Data.Rows {
		got = append(got, r[0], r[pod])
	}
	if want := []string{"added", "10.0", "modified", "75.0", "deleted", "10.0"}; !slices.Equal(got, want) {
		t.Errorf("Pods %q, want %q", got, want)
	}
	if all := arrange(fixture(t)).KindCharts(); len(all) != 0 {
		t.Error("a run without a profile has a chart of kinds")
	}
}
