package plan

import (
	"math"
	"reflect"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
)

// Tuning holds the numbers of a profile. What is left out has the values in docs/load.md. Durations, sizes and numbers
// are distributions of internal/dist.
type Tuning struct {
	// TimeScale divides how long things live, and periods; never what one stage of a life takes.
	TimeScale     float64  `json:"timeScale,omitempty" jsonschema:"minimum=0,maximum=1000,example=10" jsonschema_description:"Divides lifetimes, never the time that a stage takes."`
	NamespaceZipf *float64 `json:"namespaceZipf,omitempty" jsonschema:"minimum=0,maximum=10,example=1" jsonschema_description:"Zipf exponent of a workload's choice of namespace."`

	Stages   StageTuning   `json:"stages,omitzero"`
	Pods     PodTuning     `json:"pods,omitzero"`
	Sizes    SizeTuning    `json:"sizes,omitzero"`
	Services ServiceTuning `json:"services,omitzero"`
	Rollouts RolloutTuning `json:"rollouts,omitzero"`
	Jobs     JobTuning     `json:"jobs,omitzero"`
	Crashes  CrashTuning   `json:"crashes,omitzero"`
	Flaps    FlapTuning    `json:"flaps,omitzero"`
	Events   EventTuning   `json:"events,omitzero"`
	Writers  WriterTuning  `json:"writers,omitzero"`
	Cluster  ClusterTuning `json:"cluster,omitzero"`
	Mix      MixTuning     `json:"mix,omitzero"`
}

// StageTuning is how long the stages of a pod take.
type StageTuning struct {
	Bind       dist.Duration `json:"bind,omitzero" jsonschema_description:"From creation until the scheduler has bound the pod."`
	Creating   dist.Duration `json:"creating,omitzero" jsonschema_description:"Until the kubelet reports ContainerCreating."`
	Sandbox    dist.Duration `json:"sandbox,omitzero" jsonschema_description:"Until the pod's network is there."`
	PullShare  *float64      `json:"pullShare,omitempty" jsonschema:"minimum=0,maximum=1,example=0.3" jsonschema_description:"Share of pods whose images are pulled first."`
	Pull       dist.Duration `json:"pull,omitzero" jsonschema_description:"How long that takes."`
	Init       dist.Duration `json:"init,omitzero" jsonschema_description:"How long an init container runs."`
	Running    dist.Duration `json:"running,omitzero" jsonschema_description:"Until the kubelet reports Running."`
	ProbeShare *float64      `json:"probeShare,omitempty" jsonschema:"minimum=0,maximum=1,example=0.5" jsonschema_description:"Share of workloads with a readiness probe; without one, running and ready are one write."`
	Probe      dist.Duration `json:"probe,omitzero" jsonschema_description:"Until the readiness probe has succeeded."`
	Seen       dist.Duration `json:"seen,omitzero" jsonschema_description:"Until the kubelet acknowledges a deletion."`
	Stop       dist.Duration `json:"stop,omitzero" jsonschema_description:"Until the containers have ended, at most 30s."`
	Final      dist.Duration `json:"final,omitzero" jsonschema_description:"Until the pod is removed or, in a Job, has succeeded."`
}

// PodTuning describes the contents of pods.
type PodTuning struct {
	Containers dist.Number `json:"containers,omitzero" jsonschema_description:"Containers per pod."`
	InitShare  *float64    `json:"initShare,omitempty" jsonschema:"minimum=0,maximum=1,example=0.15" jsonschema_description:"Share of workloads whose pods have an init container."`
}

// SizeTuning is the JSON size with managedFields, as served: of a pod when it is ready.
type SizeTuning struct {
	Pod        dist.Size `json:"pod,omitzero" jsonschema_description:"Of a ready pod; pods of one workload are alike."`
	ReplicaSet dist.Size `json:"replicaSet,omitzero" jsonschema_description:"Of a ReplicaSet."`
	Deployment dist.Size `json:"deployment,omitzero" jsonschema_description:"Of a Deployment or DaemonSet."`
	Job        dist.Size `json:"job,omitzero" jsonschema_description:"Of a Job."`
	Event      dist.Size `json:"event,omitzero" jsonschema_description:"Of an Event."`
	Node       dist.Size `json:"node,omitzero" jsonschema_description:"Of a Node."`
	ConfigMap  dist.Size `json:"configMap,omitzero" jsonschema_description:"Of a ConfigMap."`
	Widget     dist.Size `json:"widget,omitzero" jsonschema_description:"Of a custom resource."`
}

// ServiceTuning is for Deployments and what scales them.
type ServiceTuning struct {
	Deployments int           `json:"deployments,omitempty" jsonschema:"minimum=0,maximum=100000,example=40" jsonschema_description:"Deployments that exist from the start."`
	Step        dist.Number   `json:"step,omitzero" jsonschema_description:"Pods that one scale operation adds."`
	Lifetime    dist.Duration `json:"lifetime,omitzero" jsonschema_description:"How long they stay; divided by timeScale."`
	Selected    *float64      `json:"selected,omitempty" jsonschema:"minimum=0,maximum=1,example=0.7" jsonschema_description:"Share of Deployments with a Service, and so with EndpointSlices."`
}

// RolloutTuning is for new templates of Deployments.
type RolloutTuning struct {
	Size        dist.Number `json:"size,omitzero" jsonschema_description:"Replicas of the Deployments that are rolled."`
	Deployments int         `json:"deployments,omitempty" jsonschema:"minimum=0,maximum=100000,example=10" jsonschema_description:"Deployments that are rolled, beside those of services."`
	Surge       *float64    `json:"surge,omitempty" jsonschema:"minimum=0,maximum=1,example=0.25" jsonschema_description:"Share of pods above the wanted ones, rounded up."`
	Unavailable *float64    `json:"unavailable,omitempty" jsonschema:"minimum=0,maximum=1,example=0.25" jsonschema_description:"Share of pods that may be missing, rounded down."`
}

// JobTuning is for Jobs.
type JobTuning struct {
	Pods       dist.Number     `json:"pods,omitzero" jsonschema_description:"Pods of one Job; all run at once."`
	Run        dist.Duration   `json:"run,omitzero" jsonschema_description:"Run time of a pod; divided by timeScale."`
	TTL        *units.Duration `json:"ttl,omitempty" jsonschema:"example=60s" jsonschema_description:"How long a finished Job stays; divided by timeScale."`
	CronShare  *float64        `json:"cronShare,omitempty" jsonschema:"minimum=0,maximum=1,example=0.2" jsonschema_description:"Share of pods in scheduled batches of Jobs."`
	CronPeriod units.Duration  `json:"cronPeriod,omitzero" range:"100ms..24h" jsonschema:"example=1m" jsonschema_description:"Period of these batches; divided by timeScale."`
}

// CrashTuning is for containers that end with an error.
type CrashTuning struct {
	Share      *float64       `json:"share,omitempty" jsonschema:"minimum=0,maximum=1,example=0.02" jsonschema_description:"Share of Deployment pods that crash again and again."`
	Run        dist.Duration  `json:"run,omitzero" jsonschema_description:"From ready to the crash."`
	BackOff    units.Duration `json:"backOff,omitzero" jsonschema:"example=10s" jsonschema_description:"First pause before a restart; it doubles each time."`
	BackOffMax units.Duration `json:"backOffMax,omitzero" jsonschema:"example=5m" jsonschema_description:"Longest pause."`
}

// FlapTuning is for nodes that are lost and come back.
type FlapTuning struct {
	Share      *float64       `json:"share,omitempty" jsonschema:"minimum=0,maximum=1,example=0.01" jsonschema_description:"Share of nodes lost per period."`
	Period     units.Duration `json:"period,omitzero" range:"100ms..24h" jsonschema:"example=5m" jsonschema_description:"Divided by timeScale."`
	Down       units.Duration `json:"down,omitzero" jsonschema:"example=10m" jsonschema_description:"How long a node is away; divided by timeScale."`
	Toleration units.Duration `json:"toleration,omitzero" jsonschema:"example=5m" jsonschema_description:"How long its pods are kept; divided by timeScale."`
}

// EventTuning is for Events: what a recorder of client-go does to those of one object.
type EventTuning struct {
	Burst   int            `json:"burst,omitempty" jsonschema:"minimum=0,maximum=100000,example=25" jsonschema_description:"Events of one source about one object before throttling."`
	Refill  units.Duration `json:"refill,omitzero" jsonschema:"example=5m" jsonschema_description:"Time until one more is allowed."`
	Similar int            `json:"similar,omitempty" jsonschema:"minimum=0,maximum=100000,example=10" jsonschema_description:"Events of one object and reason before they are aggregated into a count."`
	Window  units.Duration `json:"window,omitzero" jsonschema:"example=10m" jsonschema_description:"Window of that aggregation."`
	TTL     units.Duration `json:"ttl,omitzero" jsonschema:"example=1h" jsonschema_description:"After which an Event is deleted; not divided by timeScale."`
}

// WriterTuning is how controllers gather what happens: the least time between two writes of one object.
type WriterTuning struct {
	Delay         dist.Duration  `json:"delay,omitzero" jsonschema_description:"From an event to a controller's write."`
	ReplicaSet    units.Duration `json:"replicaSet,omitzero" jsonschema:"example=200ms" jsonschema_description:"Minimum time between status writes of one ReplicaSet."`
	Deployment    units.Duration `json:"deployment,omitzero" jsonschema:"example=200ms" jsonschema_description:"The same for a Deployment or DaemonSet."`
	Job           units.Duration `json:"job,omitzero" jsonschema:"example=1s" jsonschema_description:"How long a Job's controller batches pod changes."`
	EndpointSlice units.Duration `json:"endpointSlice,omitzero" jsonschema:"example=200ms" jsonschema_description:"Minimum time between writes of one EndpointSlice."`
}

// ClusterTuning is for what goes on whatever the load is.
type ClusterTuning struct {
	LeasePeriod      *units.Duration `json:"leasePeriod,omitempty" range:"100ms..24h" jsonschema:"example=10s" jsonschema_description:"Of each node's Lease; 0s: never."`
	NodeStatusPeriod *units.Duration `json:"nodeStatusPeriod,omitempty" range:"100ms..24h" jsonschema:"example=5m" jsonschema_description:"Of each node's status; 0s: never."`
	Widgets          *int            `json:"widgets,omitempty" jsonschema:"minimum=0,maximum=1000000,example=50" jsonschema_description:"Custom resources."`
	WidgetRate       *float64        `json:"widgetRate,omitempty" jsonschema:"minimum=0,maximum=10000,example=5" jsonschema_description:"Updates of them per second."`
	ConfigMaps       *int            `json:"configMaps,omitempty" jsonschema:"minimum=0,maximum=1000000,example=50" jsonschema_description:"ConfigMaps."`
	ConfigMapRate    *float64        `json:"configMapRate,omitempty" jsonschema:"minimum=0,maximum=10000,example=1" jsonschema_description:"Updates of them per second."`
}

// MixTuning divides the pods of a profile among its parts; the shares are divided by their sum.
type MixTuning struct {
	Services *float64 `json:"services,omitempty" jsonschema:"minimum=0,maximum=1,example=0.45" jsonschema_description:"Part of the pods that scale operations add."`
	Rollouts *float64 `json:"rollouts,omitempty" jsonschema:"minimum=0,maximum=1,example=0.1" jsonschema_description:"Part that rollouts replace."`
	Jobs     *float64 `json:"jobs,omitempty" jsonschema:"minimum=0,maximum=1,example=0.4" jsonschema_description:"Part of Jobs."`
	Daemons  *float64 `json:"daemons,omitempty" jsonschema:"minimum=0,maximum=1,example=0.05" jsonschema_description:"Part of DaemonSets."`
}

func (m *MixTuning) normalise() {
	shares := []**float64{&m.Services, &m.Rollouts, &m.Jobs, &m.Daemons}
	sum := 0.0
	for _, s := range shares {
		sum += **s
	}
	if sum == 0 || math.Abs(sum-1) < 1e-9 {
		return
	}
	for _, s := range shares {
		*s = new(**s / sum) // what was there belongs to others
	}
}

// over fills what t leaves open from base.
func (t Tuning) over(base Tuning) Tuning {
	fill(reflect.ValueOf(&t).Elem(), reflect.ValueOf(base))
	return t
}

func fill(dst, base reflect.Value) {
	for i := range dst.NumField() {
		f := dst.Field(i)
		switch {
		case f.Kind() == reflect.Struct && f.Type().PkgPath() == reflect.TypeFor[Tuning]().PkgPath():
			fill(f, base.Field(i))
		case f.IsZero():
			f.Set(base.Field(i))
		}
	}
}
