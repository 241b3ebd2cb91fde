package shape

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/watchbench/watchbench/loadgen/plan"
)

// source describes which component reports a reason, and how; the message has placeholders such as {node}.
type source struct{ component, kind, message string }

//go:embed events.txt
var eventsText string

var sources = func() map[string]source {
	all := map[string]source{}
	for line := range strings.Lines(eventsText) {
		p := strings.SplitN(strings.TrimSpace(line), " | ", 4)
		all[p[0]] = source{component: p[1], kind: p[2], message: p[3]}
	}
	return all
}()

var ofContainer = []string{"Pulling", "Pulled", "Created", "Started", "Killing", "BackOff", "Unhealthy"}

func (m *Maker) event(op plan.Op, f *facts, v view, filler string) *corev1.Event {
	t := op.Target
	src, ok := sources[t.Reason]
	if !ok {
		src = source{"watchbench", corev1.EventTypeNormal, "{subject} has changed"}
	}
	subject := t.Subject
	involved := corev1.ObjectReference{Namespace: f.namespace, Name: f.subjectName, UID: f.subjectUID}
	container, image := "", ""
	if subject != nil {
		if subject.Kind == KindJob && strings.HasPrefix(src.component, "replicaset") {
			src.component = "job-controller"
		}
		k := kinds[subject.Kind]
		involved.Kind, involved.APIVersion, involved.ResourceVersion = subject.Kind, k.resource.GroupVersion().String(),
			fmt.Sprintf("%d", 100000+mix(subject.Seed)%900000)
		if subject.Namespace == plan.ClusterScoped {
			involved.Namespace, involved.ResourceVersion = "", ""
		}
		if slices.Contains(ofContainer, t.Reason) {
			d := newDraw(mix(root(subject).Seed%families), streamSpec)
			registry := pick(d, registries)
			container = pick(d, nouns) + "-" + pick(d, roles)
			image = registry + "/" + pick(d, teams) + "/" + container + ":" + imageTag(subject.Seed, 0)
			involved.FieldPath = "spec.containers{" + container + "}"
		}
	}
	message := strings.NewReplacer("{ns}", f.namespace, "{subject}", f.subjectName, "{node}", f.node, "{image}", image,
		"{container}", container, "{uid}", string(f.subjectUID), "{ip}", podIP(t.Lane), "{hash}", f.tag[len(f.tag)-6:],
		"{hash5}", f.tag[len(f.tag)-5:]).Replace(src.message)
	e := &corev1.Event{
		ObjectMeta:     m.meta(f, map[string]string{}, map[string]string{}),
		InvolvedObject: involved, Reason: t.Reason, Message: message + filler, Type: src.kind,
		Source: corev1.EventSource{Component: src.component}, ReportingController: src.component,
		FirstTimestamp: f.was, LastTimestamp: f.now, Count: int32(max(1, f.state.Count)),
	}
	if e.Count == 1 {
		e.FirstTimestamp = f.now
	}
	if src.component == managerKubelet {
		e.Source.Host, e.ReportingInstance = f.node, f.node
	}
	if v == viewServed {
		e.CreationTimestamp = f.created
	}
	return e
}

func eventManager(reason string) string {
	switch sources[reason].component {
	case managerKubelet:
		return managerKubelet
	case "default-scheduler":
		return managerScheduler
	default:
		return managerController
	}
}
