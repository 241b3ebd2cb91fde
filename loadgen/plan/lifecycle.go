package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// Stage is one step of a pod's life. Gap is the least time since the answer to the former step, or its intended time.
type Stage struct {
	Stage string         `json:"stage" jsonschema:"enum=create,enum=bind,enum=running,enum=ready,enum=patch,enum=terminate,enum=terminated,enum=delete" jsonschema_description:"A step of one pod's life; the first is create."`
	Times int            `json:"times,omitempty" jsonschema:"minimum=0,maximum=10000" jsonschema_description:"patch: how often; 0 means once."`
	Gap   units.Duration `json:"gap,omitzero" range:"..24h" jsonschema_description:"Minimum time since the previous stage."`
}

// LifecycleFast is the built-in lifecycle, without pauses, which ends as with a kubelet: a deletion with grace, the
// containers' end, and a deletion without.
const LifecycleFast = "pod/fast"

// DefaultOpenGap is the pause between two stages of an open loop: long enough for an apiserver's answer.
const DefaultOpenGap = 100 * time.Millisecond

var fast = []Stage{
	{Stage: oplog.TypeCreate},
	{Stage: oplog.TypeBind},
	{Stage: oplog.TypeRunning},
	{Stage: oplog.TypeReady},
	{Stage: oplog.TypePatch, Times: 2},
	{Stage: oplog.TypeTerminate},
	{Stage: oplog.TypeTerminated},
	{Stage: oplog.TypeDelete},
}

var stages = []string{
	oplog.TypeCreate, oplog.TypeBind, oplog.TypeRunning, oplog.TypeReady, oplog.TypePatch,
	oplog.TypeTerminate, oplog.TypeTerminated, oplog.TypeDelete,
}

// ending are those that a pod which survives does not go through.
var ending = []string{oplog.TypeTerminate, oplog.TypeTerminated, oplog.TypeDelete}

// ResolvedStages are the stages in force: the spelt-out ones or those of LifecycleFast.
func (c *Load) ResolvedStages() []Stage {
	if len(c.Stages) > 0 {
		return slices.Clone(c.Stages)
	}
	return slices.Clone(fast)
}

// step is a stage as executed: a patch that is repeated is several steps.
type step struct {
	kind string
	n    int // which patch, from 1
	gap  time.Duration
}

func (c *Load) steps() []step {
	least := c.StageGap.Std()
	if least == 0 && c.Model == ModelOpen {
		least = DefaultOpenGap
	}
	var steps []step
	patches := 0
	for _, s := range c.ResolvedStages() {
		for range max(1, s.Times) {
			st := step{kind: s.Stage, gap: max(least, s.Gap.Std())}
			if s.Stage == oplog.TypePatch {
				patches++
				st.n = patches
			}
			steps = append(steps, st)
		}
	}
	return steps
}

// Pauses reports whether a thread of a closed loop waits between an answer and its next request.
func (c *Load) Pauses() bool {
	return c.ThinkTime > 0 || slices.ContainsFunc(c.steps(), func(s step) bool { return s.gap > 0 })
}

func (c *Load) validateStages() error {
	if c.Lifecycle != "" && len(c.Stages) > 0 {
		return fieldError("stages", "lifecycle and stages exclude each other; drop one")
	}
	if c.Lifecycle != "" && c.Lifecycle != LifecycleFast {
		return fieldError("lifecycle", "%q is not known; use %s, or spell out stages", c.Lifecycle, LifecycleFast)
	}
	rank, last := -1, len(c.Stages)-1
	for i, s := range c.Stages {
		at := fmt.Sprintf("stages[%d]", i)
		r := slices.Index(stages, s.Stage)
		switch {
		case r < 0:
			return fieldError(at+".stage", "%q is not a stage; use %s or delete", s.Stage, strings.Join(stages[:len(stages)-1],
				", "))
		case i == 0 && s.Stage != oplog.TypeCreate:
			return fieldError(at+".stage", "a life begins with create, not with %s", s.Stage)
		case r < rank || (r == rank && s.Stage != oplog.TypePatch):
			return fieldError(at+".stage", "%s cannot follow %s; the order is %s", s.Stage, c.Stages[i-1].Stage,
				strings.Join(stages, ", "))
		case s.Stage == oplog.TypeTerminate && !slices.ContainsFunc(c.Stages[:i],
			func(s Stage) bool { return s.Stage == oplog.TypeBind }):
			return fieldError(at+".stage",
				"terminate has no effect on a pod without a node, which goes at once; put bind before it")
		case i == last && s.Stage != oplog.TypeDelete && slices.Contains(ending, s.Stage):
			return fieldError(at+".stage", "a life cannot end with %s; put delete behind it", s.Stage)
		case s.Times != 0 && s.Stage != oplog.TypePatch:
			return fieldError(at+".times", "only a patch can be repeated, not %s", s.Stage)
		}
		rank = r
	}
	return nil
}
