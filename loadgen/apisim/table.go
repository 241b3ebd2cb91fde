package apisim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// printer makes the rows of a kind's table, as kubectl get prints it.
type printer struct {
	columns []metav1.TableColumnDefinition
	cells   func(object []byte) ([]any, error)
}

func column(name, kind string, priority int32) metav1.TableColumnDefinition {
	c := metav1.TableColumnDefinition{Name: name, Type: kind, Priority: priority}
	if name == "Name" {
		c.Format = "name"
	}
	return c
}

func columns(names string) (all []metav1.TableColumnDefinition) {
	for name := range strings.SplitSeq(names, ",") {
		wide, priority := strings.TrimPrefix(name, "+"), int32(0)
		if wide != name { // only with -o wide
			priority = 1
		}
		all = append(all, column(wide, "string", priority))
	}
	return all
}

// printers have the columns of an apiserver's for the kinds that people look at most;
// others show name and age, as custom resources do.
var printers = map[string]printer{
	"pods":             {columns("Name,Ready,Status,Restarts,Age,+IP,+Node,+Nominated Node,+Readiness Gates"), podCells},
	"nodes":            {columns("Name,Status,Roles,Age,Version"), nodeCells},
	"namespaces":       {columns("Name,Status,Age"), namespaceCells},
	"configmaps":       {columns("Name,Data,Age"), configMapCells},
	"deployments.apps": {columns("Name,Ready,Up-to-date,Available,Age"), deploymentCells},
}

func printerOf(r Resource) printer {
	if p, ok := printers[r.Key()]; ok {
		return p
	}
	return printer{columns("Name,Age"), anyCells}
}

// row is one row of a table as JSON.
func (p printer) row(r Resource, ver string, include metav1.IncludeObjectPolicy, v *version, rv uint64) ([]byte, error) {
	object := v.appendJSON(nil, typed(r.groupVersion(ver), r.Kind), rv)
	cells, err := p.cells(object)
	if err != nil {
		return nil, fmt.Errorf("show %s as a row: %w", v.path(), err)
	}
	row := struct {
		Cells  []any           `json:"cells"`
		Object json.RawMessage `json:"object"`
	}{Cells: cells}
	switch include {
	case metav1.IncludeNone:
	case metav1.IncludeObject:
		row.Object = object
	default:
		row.Object = appendPartial(nil, v, rv)
	}
	return json.Marshal(row)
}

func age(since metav1.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(since.Time))
}

func decode[T any](object []byte) (T, error) {
	var o T
	err := json.Unmarshal(object, &o)
	return o, err
}

func anyCells(object []byte) ([]any, error) {
	o, err := decode[metav1.PartialObjectMetadata](object)
	return []any{o.Name, age(o.CreationTimestamp)}, err
}

func configMapCells(object []byte) ([]any, error) {
	o, err := decode[corev1.ConfigMap](object)
	return []any{o.Name, len(o.Data) + len(o.BinaryData), age(o.CreationTimestamp)}, err
}

func namespaceCells(object []byte) ([]any, error) {
	o, err := decode[corev1.Namespace](object)
	return []any{o.Name, string(o.Status.Phase), age(o.CreationTimestamp)}, err
}

func deploymentCells(object []byte) ([]any, error) {
	o, err := decode[appsv1.Deployment](object)
	wanted := int32(0)
	if o.Spec.Replicas != nil {
		wanted = *o.Spec.Replicas
	}
	return []any{o.Name, fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, wanted), int64(o.Status.UpdatedReplicas), int64(o.Status.AvailableReplicas), age(o.CreationTimestamp)}, err
}

func nodeCells(object []byte) ([]any, error) {
	o, err := decode[corev1.Node](object)
	status := "Unknown"
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status = "NotReady"
			if c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if o.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	roles := []string{}
	for label := range o.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		roles = []string{"<none>"}
	}
	return []any{o.Name, status, strings.Join(roles, ","), age(o.CreationTimestamp), o.Status.NodeInfo.KubeletVersion}, err
}

func podCells(object []byte) ([]any, error) {
	o, err := decode[corev1.Pod](object)
	ready, restarts, last := 0, 0, time.Time{}
	reason := string(o.Status.Phase)
	if o.Status.Reason != "" {
		reason = o.Status.Reason
	}
	running := false
	for _, c := range o.Status.ContainerStatuses {
		restarts += int(c.RestartCount)
		if t := c.LastTerminationState.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			reason = terminated(c.State.Terminated)
		case c.Ready && c.State.Running != nil:
			running = true
			ready++
		}
	}
	if reason == "Completed" && running {
		reason = "Running"
	}
	if o.DeletionTimestamp != nil {
		reason = "Terminating"
	}
	again := fmt.Sprint(restarts)
	if restarts > 0 && !last.IsZero() {
		again = fmt.Sprintf("%d (%s ago)", restarts, duration.HumanDuration(time.Since(last)))
	}
	return []any{o.Name, fmt.Sprintf("%d/%d", ready, len(o.Spec.Containers)), reason, again, age(o.CreationTimestamp),
		orNone(o.Status.PodIP), orNone(o.Spec.NodeName), orNone(o.Status.NominatedNodeName), "<none>"}, err
}

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}

func terminated(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

// appendTable appends a table; without columns the client knows them from one before.
func appendTable(b, meta []byte, cols []metav1.TableColumnDefinition, rows [][]byte) ([]byte, error) {
	b = head(b, metaVersion, asTable, meta)
	text, err := json.Marshal(cols)
	if err != nil {
		return b, err
	}
	b = append(append(b, `,"columnDefinitions":`...), text...)
	b = append(b, `,"rows":[`...)
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, row...)
	}
	return append(b, "]}"...), nil
}
