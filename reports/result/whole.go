package result

import (
	"fmt"
	"slices"
	"strings"
)

// Missing lists the cells that the run was to have and does not, in their order.
func (r *Results) Missing() []string {
	return slices.DeleteFunc(slices.Clone(r.Run.Order), func(id string) bool {
		return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.ID == id })
	})
}

// Crashes says in which cells the watcher ended by itself; empty if in none.
func (r *Results) Crashes() string {
	var all []string
	for _, c := range r.Run.Crashed {
		all = append(all, fmt.Sprintf("the watcher ended by itself in %s: %s", c.ID, c.Why))
	}
	return strings.Join(all, "; ")
}

// Gap says that the run is not whole, and what it lacks; empty for one that is.
func (r *Results) Gap() string {
	missing := r.Missing()
	if len(missing) == 0 {
		return ""
	}
	why := "stopped early"
	switch {
	case len(r.Run.Crashed) > 0:
		why = r.Crashes()
	case r.Run.Decision != nil && r.Run.Decision.End == EndInvalid:
		why = "its first two blocks have no valid cell"
	case r.Run.Interrupted:
		why = "interrupted"
	case r.Run.Finished.IsZero():
		why = "killed, or not finished yet"
	}
	n, names := len(missing), missing
	if len(names) > 5 {
		names = append(slices.Clone(names[:4]), "…")
	}
	return fmt.Sprintf("not whole (%s): %d of %d cells missing: %s", why, n, len(r.Run.Order), strings.Join(names, ", "))
}

// AnyValid reports whether a cell is valid.
func (r *Results) AnyValid() bool {
	return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Valid })
}
