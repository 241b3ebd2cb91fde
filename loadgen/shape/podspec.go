package shape

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const gracePeriodSeconds = 30

const (
	appLabel       = "app.kubernetes.io/name"
	componentLabel = "app.kubernetes.io/component"
	hashLabel      = "pod-template-hash"
	padding        = "watchbench.dev/settings" // takes what is left of a size
)

// feature is a fragment that pods have, as JSON with words to be drawn, in <…>, and defaults spelled out.
type feature struct {
	cost   int // bytes of the served ready pod: in its spec, in its status, in managedFields
	weight int // among those that are drawn; 0: nearly all pods have it
	most   int // of one pod
	text   string
}

// podSpecText has a line per feature: cost, weight, most, fragment. The first is in every pod; of those
// without weight the commonest are first.
//
//go:embed podspec.txt
var podSpecText string

// features are in the order of the file, weights those of all, summed up.
var features, weights = func() (all []feature, weights int) {
	for line := range strings.Lines(podSpecText) {
		var f feature
		if _, err := fmt.Sscan(line, &f.cost, &f.weight, &f.most); err != nil {
			panic("shape: " + err.Error()) // it is the program's own
		}
		f.text = line[strings.IndexByte(line, '{'):]
		all, weights = append(all, f), weights+f.weight
	}
	return all, weights
}()

// fragment is the YAML that a feature adds to a pod.
type fragment struct {
	Spec                 corev1.PodSpec
	Container, Any, Each *corev1.Container // the first, any, each of them
	Annotations          map[string]string
}

// specBuilder adds features until about budget bytes of the served object are used.
type specBuilder struct {
	draw
	spec        corev1.PodSpec
	annotations map[string]string
	budget      int
	used        map[*feature]int
	envs        map[string]bool
}

// buildSpec is the spec of a pod of containers and init containers of a size; images have no tag.
func buildSpec(d draw, containers, inits, budget int, job bool) (corev1.PodSpec, map[string]string) {
	b := &specBuilder{draw: d, annotations: map[string]string{}, budget: budget, used: map[*feature]int{},
		envs: map[string]bool{}}
	b.add(&features[0])
	if job {
		b.spec.RestartPolicy = corev1.RestartPolicyNever
	}
	registry, name := pick(d, registries), pick(d, nouns)+"-"+pick(d, roles)
	b.spec.Containers = append(b.spec.Containers, bareContainer(name, registry+"/"+pick(d, teams)+"/"+name))
	for i := range containers - 1 {
		side := sides[i%len(sides)]
		if i >= len(sides) {
			side += "-" + strconv.Itoa(i+1)
		}
		b.spec.Containers = append(b.spec.Containers, bareContainer(side, registry+"/platform/"+side))
	}
	for i := range inits {
		b.spec.InitContainers = append(b.spec.InitContainers, bareContainer("init-"+strconv.Itoa(i),
			registry+"/platform/init-"+pick(d, nouns)))
	}
	for i := range features {
		if features[i].weight == 0 && i > 0 {
			b.take(&features[i])
		}
	}
	for refused := 0; refused < 12; refused++ {
		if b.take(b.any()) {
			refused = -1
		}
	}
	// Only a very large pod has this left: settings in its environment, as some have.
	app := &b.spec.Containers[0]
	for left := b.budget - 4096; left > 0 && len(b.envs) < 600; {
		n := min(left, 2000+b.IntN(6000))
		app.Env = append(app.Env, corev1.EnvVar{Name: b.env(), Value: b.text(n)})
		left -= n + 150
	}
	return b.spec, b.annotations
}

func bareContainer(name, image string) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
}

// any is one of the features with weight.
func (b *specBuilder) any() *feature {
	n := b.IntN(weights)
	i := 0
	for ; n >= features[i].weight; i++ {
		n -= features[i].weight
	}
	return &features[i]
}

// take adds a feature if there is room for it. What probes need comes before them.
func (b *specBuilder) take(f *feature) bool {
	cost := f.cost
	if strings.HasPrefix(f.text, `{"each"`) {
		cost *= len(b.spec.Containers)
	}
	if b.used[f] == f.most || b.budget < cost {
		return false
	}
	b.used[f]++
	b.budget -= cost
	b.add(f)
	return true
}

func (b *specBuilder) add(f *feature) {
	var part fragment
	if err := json.Unmarshal([]byte(b.fill(f.text)), &part); err != nil {
		panic(fmt.Sprintf("shape: %s: %v", f.text, err)) // it is the program's own
	}
	merge(reflect.ValueOf(&b.spec).Elem(), reflect.ValueOf(part.Spec))
	maps.Copy(b.annotations, part.Annotations)
	for i := range b.spec.Containers {
		if part.Each != nil {
			merge(reflect.ValueOf(&b.spec.Containers[i]).Elem(), reflect.ValueOf(*part.Each))
		}
	}
	if part.Container != nil {
		merge(reflect.ValueOf(&b.spec.Containers[0]).Elem(), reflect.ValueOf(*part.Container))
	}
	if part.Any != nil {
		merge(reflect.ValueOf(&b.spec.Containers[b.IntN(len(b.spec.Containers))]).Elem(), reflect.ValueOf(*part.Any))
	}
}

// merge adds the fields of a part: lists grow, all else is new.
func merge(to, part reflect.Value) {
	for i := range to.NumField() {
		switch f := part.Field(i); {
		case f.IsZero():
		case f.Kind() == reflect.Slice:
			to.Field(i).Set(reflect.AppendSlice(to.Field(i), f))
		default:
			to.Field(i).Set(f)
		}
	}
}

var placeholder = regexp.MustCompile(`<([a-zA-Z]+)(?: (\d+))?(?: (\d+))?>`)

// fill draws the words of a text; equal ones are drawn once.
func (b *specBuilder) fill(text string) string {
	drawn := map[string]string{}
	return placeholder.ReplaceAllStringFunc(text, func(key string) string {
		word, ok := drawn[key]
		if !ok {
			word = b.word(placeholder.FindStringSubmatch(key))
			drawn[key] = word
		}
		return word
	})
}

func (b *specBuilder) word(key []string) string {
	low, _ := strconv.Atoi(key[2])
	high, _ := strconv.Atoi(key[3])
	number := len(b.spec.Volumes)
	switch key[1] {
	case "n":
		return strconv.Itoa(low + b.IntN(high-low+1))
	case "hex":
		return b.hex(low)
	case "i":
		return strconv.Itoa(number)
	case "mount":
		return mounts[number%len(mounts)] + "/" + strconv.Itoa(number)
	case "app":
		return b.spec.Containers[0].Name
	case "ENV":
		return b.env()
	}
	return pick(b.draw, lists[key[1]+"s"])
}

func (b *specBuilder) env() string {
	name := strings.ToUpper(pick(b.draw, nouns)) + "_" + pick(b.draw, envs)
	if b.envs[name] {
		name += "_" + strconv.Itoa(len(b.envs))
	}
	b.envs[name] = true
	return name
}
