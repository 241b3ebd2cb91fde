package plan

import (
	"fmt"
	"hash/fnv"
	"io"
	"iter"

	"github.com/watchbench/watchbench/internal/badinput"
)

// MaxShards is how many generators may divide a plan.
const MaxShards = 16

// Shard is one of Of generators that divide a plan, from 1. As text it is I/N, such as 2/4.
type Shard struct{ Index, Of int }

// Whole is the shard that has all of a plan.
var Whole = Shard{1, 1}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Shard) UnmarshalText(text []byte) error {
	var r Shard
	_, err := fmt.Sscanf(string(text), "%d/%d", &r.Index, &r.Of)
	if err != nil || r.String() != string(text) || r.Index < 1 || r.Index > r.Of || r.Of > MaxShards {
		return badinput.New(fmt.Sprintf("use I/N, such as 2/4: I from 1 to N, N up to %d", MaxShards), "%q is not a shard",
			text)
	}
	*s = r
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Divides reports whether others send the rest of the plan.
func (s Shard) Divides() bool { return s.Of > 1 }

// First reports whether the shard makes and removes what is of no operation, such as namespaces.
func (s Shard) First() bool { return s.Index == 1 }

// Share is this shard's part of a limit for all, rounded up.
func (s Shard) Share(limit int) int { return (limit + s.Of - 1) / s.Of }

// Threads yields which of n threads are the shard's.
func (s Shard) Threads(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for k := s.Index - 1; k < n && yield(k); k += s.Of {
		}
	}
}

// Part is the shard's part of the plan; the parts of all shards make up the plan. A thread of a closed loop waits for
// its own answers, so it is one shard's, and with it the pods that it writes. Every other operation belongs to the
// shard of its object's name.
func (p *Plan) Part(s Shard) *Plan {
	part := *p
	part.shard = s
	return &part
}

// Shard is the one that Part was given.
func (p *Plan) Shard() Shard { return p.shard }

// own leaves out what other shards send.
func (p *Plan) own(all iter.Seq[Op]) iter.Seq[Op] {
	return func(yield func(Op) bool) {
		for op := range all {
			if p.holds(op.Target) && !yield(op) {
				return
			}
		}
	}
}

// holds reports whether the shard writes the object. What is owned goes with its owner, and an Event with its subject:
// their creations need uids, which only the process that created the owner or subject knows, and are sent after its.
func (p *Plan) holds(t *Target) bool {
	if !p.shard.Divides() {
		return true
	}
	for t.Owner != nil || t.Subject != nil {
		if t.Owner != nil {
			t = t.Owner
		} else {
			t = t.Subject
		}
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, p.cfg.NamespaceName(t.Namespace)+"/"+t.Name)
	return h.Sum64()%uint64(p.shard.Of) == uint64(p.shard.Index-1)
}
