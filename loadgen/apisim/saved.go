package apisim

import "errors"

// PathSave and PathRestore call Save and Restore for an Observer that posts; the answer is the version that was saved.
const (
	PathSave    = "/watchbench/save"
	PathRestore = "/watchbench/restore"
)

// ErrNothingSaved is returned by Restore without a Save before it.
var ErrNothingSaved = errors.New("no state was saved")

type saved struct {
	rv      uint64
	objects map[string]*tree // by Resource.Key
}

// Save keeps the current state for Restore and returns its version.
func (s *Server) Save() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = &saved{s.rv, map[string]*tree{}}
	for name, k := range s.kinds {
		s.saved.objects[name] = k.objects.Clone()
	}
	return s.rv
}

// Restore goes back to the state that Save kept and returns its version, like an apiserver restarted on a restored
// etcd: watches end, and later changes get versions that were assigned before. The windows begin there. A kind that
// came later has no objects.
func (s *Server) Restore() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saved == nil {
		return 0, ErrNothingSaved
	}
	s.rv = s.saved.rv
	for name, k := range s.kinds {
		k.first, k.events, k.paged, k.floor = k.next(), nil, nil, s.rv
		k.objects = newTree()
		if t := s.saved.objects[name]; t != nil {
			k.objects = t.Clone()
		}
		k.cut++
	}
	s.notifyAll()
	return s.rv, nil
}
