package render

import (
	"cmp"
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
)

// mostMoments bounds the rows of a cell.
const mostMoments = 40

// momentNames spell out the runner's marks; faults keep the scenario's names.
var momentNames = map[string]string{
	"started": "watcher started", "ready": "watcher ready", "exited": "watcher exited", "resized": "queues resized",
	"sigterm": "SIGTERM to the watcher", "sigkill": "SIGKILL to the watcher",
	"sigstop": "SIGSTOP to the watcher", "sigcont": "SIGCONT to the watcher",
	"converged": "storage caught up", "diverged": "storage did not catch up",
	"tamper-remove": "rows removed from storage", "tamper-edit": "rows edited in storage",
	"tamper-add": "rows added to storage", "storage-killed": "storage killed", "storage-back": "storage back",
	"token-replaced": "token replaced", "token-refused": "former token refused",
	"unserved": "kind no longer served", "served": "kind served again",
}

// moments lists the faults, restarts and kills of each cell.
func (t *table) moments() Section {
	s := Section{ID: "moments", Title: "What was done, and when", Place: OnPage, Table: Table{Keys: 1, Heads: append(
		Heads("cell"), Head{Title: "from", Unit: "s"}, Head{Title: "until", Unit: "s"}, Head{Title: "what", Words: true})}}
	for i := range t.res.Cells {
		c := &t.res.Cells[i]
		if c.Robustness == nil {
			continue
		}
		for j, m := range c.Robustness.Moments {
			if j == mostMoments {
				text := fmt.Sprintf("%d more in %s", len(c.Robustness.Moments)-j, result.FileName)
				s.Table.Rows = append(s.Table.Rows, Cells(c.ID, "", "", text))
				break
			}
			what, until := cmp.Or(momentNames[m.What], m.What), ""
			if m.Count > 1 {
				what += fmt.Sprintf(" (%d)", m.Count)
			}
			if m.Until != nil {
				until = fixed(m.Until, 2)
			}
			s.Table.Rows = append(s.Table.Rows, Cells(c.ID, fixed(&m.T, 2), until, what+leading(": ", m.Note)))
		}
	}
	if len(s.Table.Rows) == 0 {
		return Section{}
	}
	return s
}
