package history

import (
	"cmp"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// ClockSlack is how far times of one host may contradict each other without meaning anything: its processes read the
// clock on different CPUs, and started at different times.
const ClockSlack = int64(5 * time.Millisecond)

// Clock looks for effects before their causes in a record: then the clock was set meanwhile, or the record was altered.
// It sees the record as an Observer, and then each Change.
type Clock struct {
	// Apart is by how much the clocks of generator and storage may differ, in nanoseconds, on different nodes.
	Apart int64

	found int64
	first string
	// begun has, by kind, the acknowledged write dispatched last. A kind's versions increase, so a write with a higher
	// version must be answered after that dispatch.
	begun map[string]dispatch
}

type dispatch struct {
	operation int64
	version   uint64
	started   int64
}

var _ Observer = (*Clock)(nil)

// Reason says why a cell with this record is invalid; "" if it is not.
func (c *Clock) Reason() string {
	if c.found == 0 {
		return ""
	}
	return fmt.Sprintf("the clock was set, or the record was altered: %d times contradict each other, first: %s",
		c.found, c.first)
}

// before counts an effect that precedes its cause; text names them.
func (c *Clock) before(effect, cause int64, text func() string) {
	c.beyond(ClockSlack, effect, cause, text)
}

func (c *Clock) beyond(slack, effect, cause int64, text func() string) {
	if cause == 0 || effect == 0 || effect >= cause-slack {
		return
	}
	if c.found++; c.found == 1 {
		c.first = fmt.Sprintf("%s by %s", text(), time.Duration(cause-effect))
	}
}

// Operation takes a record of the op log.
func (c *Clock) Operation(r *oplog.Record) {
	c.before(r.Finished, r.Started, func() string { return operation(r) + " ended before it was dispatched," })
	if r.Phase != oplog.PhaseWitnessed {
		c.before(r.Started, r.Intended, func() string { return operation(r) + " was dispatched before its intended time," })
	}
	version := r.ResourceVersion
	if r.Type == oplog.TypeDelete {
		version = r.DeletedVersion // the other one is of an earlier write
	}
	if !r.OK() || version == 0 || r.Started == 0 {
		return
	}
	last := c.begun[r.Kind]
	// The version of a bind, and of a retry, may have been read after the answer.
	if version > last.version && r.Type != oplog.TypeBind && r.Attempt == 0 {
		c.before(r.Finished, last.started, func() string {
			return fmt.Sprintf("%s was answered before operation %d was dispatched, which has an older version,",
				operation(r), last.operation)
		})
	}
	if r.Started > last.started {
		if c.begun == nil {
			c.begun = map[string]dispatch{}
		}
		c.begun[r.Kind] = dispatch{r.ID, version, r.Started}
	}
}

func operation(r *oplog.Record) string {
	return fmt.Sprintf("operation %d (%s %s %s/%s)", r.ID, r.Type, r.Kind, r.Namespace, r.Name)
}

// Request takes an entry of the ledger.
func (c *Clock) Request(e *ledger.Entry) {
	c.before(min(cmp.Or(e.Applied, e.Responded), cmp.Or(e.Responded, e.Applied)), e.Received, func() string {
		return fmt.Sprintf("request %d was applied or answered before it was received,", e.Seq)
	})
}

// Change takes a change of the load. A deletion has no state of its own that storage could receive.
func (c *Clock) Change(x *Change) {
	if x.Deletion || x.Unversioned {
		return
	}
	c.beyond(ClockSlack+c.Apart, x.Arrived, x.Started, func() string {
		return fmt.Sprintf("storage received operation %d of a %s before it was dispatched,", x.Operation, x.Kind)
	})
}
