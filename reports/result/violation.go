package result

// Core are the checks that a cell must pass before its speed is compared.
var Core = []string{"G1", "G2", "G3", "G4", "G5", "G6"}

// byClock are the checks whose verdict depends on how fast the machine was: memory and
// sockets that a stall let pile up, a delay of others, a repair within its time.
var byClock = map[string]bool{"G7": true, "G8": true, "G12": true}

// Counts reports whether a check's verdict may be used. In an invalid cell only a violation may, allowed or not:
// lateness explains no loss. A pass proves nothing there, neither does a violation that was expected and did not
// come, nor one that a stalled machine may cause.
func (c *Cell) Counts(g string) bool {
	check, ok := c.Checks[g]
	if !ok || c.Valid {
		return ok
	}
	return (check.Verdict == Fail || check.Verdict == Allowed) && check.Violations > 0 && !byClock[g]
}
