package storagemock

import "github.com/watchbench/watchbench/internal/faultlist"

// Faults returns the active faults.
func (s *Server) Faults() []faultlist.Info { return s.faults.List() }
