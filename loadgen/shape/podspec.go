package shape

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// schedulerName matches no scheduler, so that none binds a pod before the plan does.
const schedulerName = "watchbench.dev-churn"

// gracePeriodSeconds is Kubernetes' default.
const gracePeriodSeconds = 30

const (
	appLabel       = "app.kubernetes.io/name"
	componentLabel = "app.kubernetes.io/component"
	hashLabel      = "pod-template-hash"
	padding        = "watchbench.dev/settings" // takes what is left of a size
	tokenMount     = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// specBuilder adds to a pod's spec what real ones have, until about budget bytes of the
// served object are used. Defaults are spelled out, as an apiserver would fill them in.
type specBuilder struct {
	draw
	spec        corev1.PodSpec
	annotations map[string]string
	budget      int
}

// What a feature costs in the served ready pod: in its spec, in its status, in managedFields.
const (
	costPort, costResources, costToken, costProbe, costSecurity = 210, 560, 1150, 360, 330
	costEnv, costSecretEnv, costMount, costAffinity, costSpread = 150, 270, 640, 520, 460
	costScrape, costPreStop, costArgs, costToleration           = 290, 190, 140, 90
	maxMounts, maxEnv                                           = 14, 300
)

func (b *specBuilder) afford(cost int) bool {
	if b.budget < cost {
		return false
	}
	b.budget -= cost
	return true
}

// buildSpec is the spec of a pod of containers and init containers of a size; images have no tag.
func buildSpec(d draw, containers, inits, budget int, job bool) (corev1.PodSpec, map[string]string) {
	grace, no, yes := int64(gracePeriodSeconds), false, true
	tolerate := int64(300)
	b := &specBuilder{draw: d, annotations: map[string]string{}, budget: budget}
	b.spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace, DNSPolicy: corev1.DNSClusterFirst,
		ServiceAccountName: "default", DeprecatedServiceAccount: "default",
		AutomountServiceAccountToken: &no, EnableServiceLinks: &yes,
		SecurityContext: &corev1.PodSecurityContext{}, SchedulerName: schedulerName,
		// The two that admission would add.
		Tolerations: []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
				TolerationSeconds: &tolerate},
			{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
				TolerationSeconds: &tolerate},
		},
	}
	if job {
		b.spec.RestartPolicy = corev1.RestartPolicyNever
	}
	registry, name := pick(d, registries), pick(d, nouns)+"-"+pick(d, roles)
	for i := range max(1, containers) {
		c := bareContainer(name, registry+"/"+pick(d, teams)+"/"+name)
		if i > 0 {
			side := sides[(i-1)%len(sides)]
			if i > len(sides) {
				side += "-" + strconv.Itoa(i)
			}
			c = bareContainer(side, registry+"/platform/"+side)
		}
		b.spec.Containers = append(b.spec.Containers, c)
	}
	for i := range inits {
		b.spec.InitContainers = append(b.spec.InitContainers, bareContainer("init-"+strconv.Itoa(i),
			registry+"/platform/init-"+pick(d, nouns)))
	}
	b.common()
	b.extras()
	return b.spec, b.annotations
}

func bareContainer(name, image string) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
}

// common adds features of nearly all pods, the commonest first.
func (b *specBuilder) common() {
	app := &b.spec.Containers[0]
	if b.afford(costPort) {
		app.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}
	}
	for i := range b.spec.Containers {
		if b.afford(costResources) {
			b.spec.Containers[i].Resources = b.resources()
		}
	}
	if b.afford(costToken) {
		b.token()
	}
	if len(app.Ports) > 0 && b.afford(costProbe) {
		app.ReadinessProbe = probe("/readyz", 5+5*b.Int32N(2))
	}
	if len(app.Ports) > 0 && b.afford(costProbe) {
		app.LivenessProbe = probe("/livez", 10+10*b.Int32N(2))
	}
	if b.afford(costSecurity) {
		b.secure(app)
	}
}

// extras adds optional features by chance.
func (b *specBuilder) extras() {
	app := func() *corev1.Container { return &b.spec.Containers[b.IntN(len(b.spec.Containers))] }
	used := map[string]bool{}
	mounted := 0
	once := func(name string, cost int) bool {
		if used[name] || !b.afford(cost) {
			return false
		}
		used[name] = true
		return true
	}
	for refused := 0; refused < 12; {
		var taken bool
		switch n := b.IntN(20); {
		case n < 7:
			if taken = mounted < maxMounts && b.afford(costMount); taken {
				b.mount(app(), mounted)
				mounted++
			}
		case n < 13:
			if taken = len(b.spec.Containers[0].Env) < maxEnv && b.afford(costEnv); taken {
				b.env(&b.spec.Containers[0])
			}
		case n < 15:
			if taken = len(b.spec.Containers[0].Env) < maxEnv && b.afford(costSecretEnv); taken {
				b.secretEnv(&b.spec.Containers[0])
			}
		case n == 15:
			if taken = once("affinity", costAffinity); taken {
				b.affinity()
			}
		case n == 16:
			if taken = once("spread", costSpread); taken {
				b.spread()
			}
		case n == 17:
			if taken = once("scrape", costScrape); taken {
				b.annotations["prometheus.io/path"], b.annotations["prometheus.io/port"],
					b.annotations["prometheus.io/scrape"] = "/metrics", "8080", "true"
			}
		case n == 18:
			if taken = once("preStop", costPreStop); taken {
				b.spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
					Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "sleep " + strconv.Itoa(5+b.IntN(10))}}}}
			}
		default:
			if taken = once("args", costArgs); taken {
				b.spec.Containers[0].Args = []string{"--config=/etc/config/" + pick(b.draw, nouns) + ".yaml", "--log-format=json",
					"--workers=" + strconv.Itoa(1+b.IntN(16))}
			} else if taken = once("toleration", costToleration); taken {
				b.spec.Tolerations = append(b.spec.Tolerations, corev1.Toleration{Key: "dedicated",
					Operator: corev1.TolerationOpEqual, Value: pick(b.draw, teams), Effect: corev1.TaintEffectNoSchedule})
			}
		}
		if taken {
			refused = 0
		} else {
			refused++
		}
	}
	// Only a very large pod has this left: settings in its environment, as some have.
	for left := b.budget - 4096; left > 0 && len(b.spec.Containers[0].Env) < 2*maxEnv; {
		n := min(left, 2000+b.IntN(6000))
		b.spec.Containers[0].Env = append(b.spec.Containers[0].Env, corev1.EnvVar{Name: b.envName(&b.spec.Containers[0]),
			Value: b.text(n)})
		left -= n + costEnv
		b.budget -= n + costEnv
	}
}

func (b *specBuilder) resources() corev1.ResourceRequirements {
	cpu, memory := int64(50*(1+b.IntN(40))), int64(64*(1+b.IntN(64)))
	limits := corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(2*memory<<20, resource.BinarySI)}
	return corev1.ResourceRequirements{Limits: limits, Requests: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory<<20, resource.BinarySI)}}
}

func (b *specBuilder) token() {
	const name = "kube-api-access"
	mode, expires := int32(0o644), int64(3607)
	b.spec.Volumes = append(b.spec.Volumes, corev1.Volume{Name: name,
		VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: &mode, Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &expires, Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
					{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
			}}}})
	app := &b.spec.Containers[0]
	app.VolumeMounts = append(app.VolumeMounts, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenMount})
}

func probe(path string, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http"),
			Scheme: corev1.URISchemeHTTP}},
		TimeoutSeconds: 1 + period/5, PeriodSeconds: period, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

func (b *specBuilder) secure(c *corev1.Container) {
	no, yes := false, true
	user := 1000 + b.Int64N(9000)
	c.SecurityContext = &corev1.SecurityContext{
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, RunAsUser: &user, RunAsNonRoot: &yes,
		ReadOnlyRootFilesystem: &yes, AllowPrivilegeEscalation: &no,
	}
}

func (b *specBuilder) mount(c *corev1.Container, i int) {
	name := pick(b.draw, nouns) + "-" + pick(b.draw, []string{"config", "data", "tls", "cache"}) + "-" + strconv.Itoa(i)
	volume := corev1.Volume{Name: name}
	mode := int32(0o644)
	readOnly := true
	switch b.IntN(3) {
	case 0:
		volume.EmptyDir, readOnly = &corev1.EmptyDirVolumeSource{}, false
	case 1:
		volume.Secret = &corev1.SecretVolumeSource{SecretName: name + "-" + b.hex(5), DefaultMode: &mode}
	default:
		volume.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name + "-" +
			b.hex(5)}, DefaultMode: &mode}
	}
	b.spec.Volumes = append(b.spec.Volumes, volume)
	path := mounts[i%len(mounts)]
	if i >= len(mounts) {
		path += "/" + strconv.Itoa(i)
	}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, ReadOnly: readOnly, MountPath: path})
}

// envName is one that c does not have.
func (b *specBuilder) envName(c *corev1.Container) string {
	name := strings.ToUpper(pick(b.draw, nouns)) + "_" + pick(b.draw, envs)
	for _, e := range c.Env {
		if e.Name == name {
			return fmt.Sprintf("%s_%d", name, len(c.Env))
		}
	}
	return name
}

func (b *specBuilder) env(c *corev1.Container) {
	value := b.hex(8 + b.IntN(24))
	switch b.IntN(3) {
	case 0:
		value = strconv.Itoa(b.IntN(60000))
	case 1:
		value = "http://" + pick(b.draw, nouns) + "-" + pick(b.draw, roles) + ".svc.cluster.local:8080"
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: b.envName(c), Value: value})
}

func (b *specBuilder) secretEnv(c *corev1.Container) {
	c.Env = append(c.Env, corev1.EnvVar{Name: b.envName(c),
		ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: pick(b.draw, nouns) + "-credentials"},
			Key:                  pick(b.draw, words)}}})
}

func (b *specBuilder) affinity() {
	b.spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				LabelSelector: b.alike(),
				TopologyKey:   "kubernetes.io/hostname"}}}}}
}

func (b *specBuilder) spread() {
	b.spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: b.alike()}}
}

// alike selects the pods of the same workload.
func (b *specBuilder) alike() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{componentLabel: b.spec.Containers[0].Name}}
}
