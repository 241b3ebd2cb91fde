package render

import (
	"fmt"
	"net/url"

	"github.com/watchbench/watchbench/reports/result"
)

// cellProfiles are the profiles of one cell.
type cellProfiles struct {
	Cell  string
	Files []profileLink
}

type profileLink struct{ Name, Link string }

// Profiles lists what was taken on request, by cell.
func (t *table) Profiles() (all []cellProfiles) {
	for i := range t.res.Cells {
		c := &t.res.Cells[i]
		if len(c.Profiles) == 0 {
			continue
		}
		line := cellProfiles{Cell: clean(c.ID)}
		for _, p := range c.Profiles {
			name := clean(p.Party + " " + p.Kind)
			if p.Kind == result.ProfileCPU {
				name += fmt.Sprintf(" (%.0f s)", p.Seconds)
			}
			line.Files = append(line.Files, profileLink{name, (&url.URL{Path: "./" + p.File}).EscapedPath()})
		}
		all = append(all, line)
	}
	return all
}

// ProfilesNote says how they are read.
func (t *table) ProfilesNote() string {
	return "go tool pprof -http=: FILE opens one. CPU is over load and drain; heap is as the load ended, with all allocations since the start. " +
		"Taking them costs CPU time, which the figures of this run contain."
}
