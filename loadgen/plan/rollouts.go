package plan

import (
	"math"
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// historyLimit is how many former ReplicaSets a Deployment keeps.
const historyLimit = 10

// rollout gives a deployment a new template, at once or after the rollout under way.
func (d *deployment) rollout() {
	d.rolling++
	if d.rolling == 1 {
		d.begin()
	}
}

func (d *deployment) begin() {
	w := d.w
	d.template++
	s := d.state()
	s.Replicas = d.replicas
	w.emit(d.object, oplog.TypeScale, s)
	w.after(w.draw(w.tn.Writers.Delay), func() {
		d.old = append(d.old, d.current)
		d.current = d.newReplicaSet(0)
		w.emit(d.current.object, oplog.TypeCreate, State{Template: d.template}, d.object)
		d.observe()
		w.touch(&d.roll)
	})
}

// reconcile takes the next step of a rollout: new pods as far as the surge allows, else old ones away as far as enough
// are ready, by what the ReplicaSets say.
func (d *deployment) reconcile() {
	if d.rolling == 0 {
		return
	}
	w := d.w
	most := d.replicas + int(math.Ceil(*w.tn.Rollouts.Surge*float64(d.replicas)))
	least := d.replicas - int(*w.tn.Rollouts.Unavailable*float64(d.replicas))
	if most == least {
		least-- // or nothing could move
	}
	total, newReady := d.current.want, d.current.shown.Ready
	ready := newReady
	for _, rs := range d.old {
		total += rs.want
		ready += rs.shown.Ready
	}
	if up := min(most-total, d.replicas-d.current.want); up != 0 {
		d.current.scale(d.current.want + up)
		return
	}
	down := min(total-least-(d.current.want-newReady), ready-least)
	for _, rs := range d.old {
		if n := min(down, rs.want); n > 0 {
			rs.scale(rs.want - n)
			down -= n
			total -= n
		}
	}
	if total > d.current.want || newReady < d.replicas {
		return
	}
	w.touch(&d.status)
	if len(d.old) > historyLimit && len(d.old[0].pods) == 0 {
		w.emit(d.old[0].object, oplog.TypeDelete, State{})
		d.old = slices.Delete(d.old, 0, 1)
	}
	if d.rolling--; d.rolling > 0 {
		d.begin()
	}
}
