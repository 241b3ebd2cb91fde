package churn

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// statusPatch is the strategic merge patch that moves a pod on, as a kubelet sends
// it: for this uid and no other, conditions merged by type, container statuses replaced.
func statusPatch(op plan.Op, uid types.UID, intended int64) []byte {
	now := time.Unix(0, intended).UTC().Format(time.RFC3339)
	var status string
	switch op.Type {
	case oplog.TypeRunning:
		status = fmt.Sprintf(`"phase":"Running","startTime":%[1]q,"hostIP":"10.0.0.1","podIP":%[2]q,"podIPs":[{"ip":%[2]q}],`+
			`"conditions":[%[3]s,%[4]s,%[5]s],"containerStatuses":[%[6]s]`,
			now, podIP(op.Pod.Lane),
			condition("Initialized", "True", now), condition("ContainersReady", "False", now), condition("Ready", "False", now),
			container(now, false, 0))
	case oplog.TypeReady:
		status = fmt.Sprintf(`"conditions":[%s,%s],"containerStatuses":[%s]`,
			condition("ContainersReady", "True", now), condition("Ready", "True", now), container(now, true, 0))
	case oplog.TypeTerminated:
		status = fmt.Sprintf(`"phase":"Succeeded","conditions":[%s,%s],"containerStatuses":[%s]`,
			condition("ContainersReady", "False", now), condition("Ready", "False", now), ended(now))
	default:
		// What a kubelet reports of a pod that just lives: a restart of its container.
		status = fmt.Sprintf(`"conditions":[%s],"containerStatuses":[%s]`,
			condition("Ready", "True", now), container(now, true, op.N))
	}
	return fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:"%d",%q:"%d"}},"status":{%s}}`,
		uid, OpAnnotation, op.ID, IntendedAnnotation, intended, status)
}

func condition(kind, status, since string) string {
	return fmt.Sprintf(`{"type":%q,"status":%q,"lastTransitionTime":%q}`, kind, status, since)
}

func container(started string, ready bool, restarts int) string {
	return fmt.Sprintf(`{"name":"app","image":"registry.example/app:1","imageID":"","containerID":"containerd://watchbench",`+
		`"ready":%t,"started":true,"restartCount":%d,"state":{"running":{"startedAt":%q}}}`, ready, restarts, started)
}

// ended is the status of a container that a kubelet has stopped.
func ended(at string) string {
	return fmt.Sprintf(`{"name":"app","image":"registry.example/app:1","imageID":"","containerID":"containerd://watchbench",`+
		`"ready":false,"started":false,"restartCount":0,"state":{"terminated":{"exitCode":0,"reason":"Completed","startedAt":%[1]q,"finishedAt":%[1]q}}}`, at)
}

// podIP is an address in 10.64.0.0/10 that follows from the lane.
func podIP(lane int64) string {
	n := uint32(lane) & 0x3fffff
	return fmt.Sprintf("10.%d.%d.%d", 64+n>>16, n>>8&0xff, n&0xff)
}
