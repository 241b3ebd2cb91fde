package plan

import (
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
)

// MaxShards is how many generators may divide a plan.
const MaxShards = 16

// Shard is one of Of generators that divide a plan, from 1; the zero value sends all of it.
type Shard struct{ Index, Of int }

// ParseShard reads I/N, such as 2/4.
func ParseShard(text string) (s Shard, err error) {
	index, of, _ := strings.Cut(text, "/")
	if s.Index, err = strconv.Atoi(index); err == nil {
		s.Of, err = strconv.Atoi(of)
	}
	if err != nil || s.Of < 1 || s.Of > MaxShards || s.Index < 1 || s.Index > s.Of {
		return Shard{}, badinput.New(fmt.Sprintf("use I/N, such as 2/4: I from 1 to N, N up to %d", MaxShards),
			"%q is not a shard", text)
	}
	return s, nil
}

// Set implements pflag.Value, with String and Type.
func (s *Shard) Set(text string) (err error) {
	*s, err = ParseShard(text)
	return err
}

func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Type implements pflag.Value.
func (s Shard) Type() string { return "I/N" }

// Divides reports whether others send the rest of the plan.
func (s Shard) Divides() bool { return s.Of > 1 }

// First reports whether the shard makes and removes what belongs to no entry of the plan, such as namespaces.
func (s Shard) First() bool { return s.Index <= 1 }

// Share is this shard's part of a limit for all, rounded up.
func (s Shard) Share(limit int) int { return (limit + max(1, s.Of) - 1) / max(1, s.Of) }

// Threads yields which of n threads are the shard's.
func (s Shard) Threads(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for k := max(0, s.Index-1); k < n && yield(k); k += max(1, s.Of) {
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
	if !p.shard.Divides() {
		return all
	}
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

func count(ops iter.Seq[Op]) (n int64) {
	for range ops {
		n++
	}
	return n
}
