package relation

import (
	"strings"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/watcher/object"
)

// Type is the meaning of an edge.
type Type string

// The types. Each edge leads from what has or uses to what is had or used.
const (
	Owner          Type = "owner"          // from an owner to what names it in ownerReferences
	Bound          Type = "bound"          // from a PersistentVolumeClaim to its PersistentVolume
	Slice          Type = "slice"          // from a Service to its EndpointSlices
	EndpointsOf    Type = "endpoints"      // from a Service to its Endpoints
	Target         Type = "target"         // from an EndpointSlice or Endpoints to a Pod
	OnNode         Type = "node"           // from a Pod to its Node
	ConfigMap      Type = "configMap"      // from a Pod
	Secret         Type = "secret"         // from a Pod; the Secret is only named
	ServiceAccount Type = "serviceAccount" // from a Pod
	Claim          Type = "claim"          // from a Pod to a PersistentVolumeClaim
	Scale          Type = "scale"          // from a HorizontalPodAutoscaler to what it scales
	Backend        Type = "backend"        // from an Ingress to a Service
)

// groupKind is a kind in any version. The zero one is any kind.
type groupKind struct{ group, kind string }

func (g groupKind) matches(of groupKind) bool { return g == groupKind{} || g == of }

// String is kind.group, as in the apiserver's messages.
func (g groupKind) String() string { return strings.TrimSuffix(g.kind+"."+g.group, ".") }

// Kinds with edges of their own.
var (
	pods       = groupKind{"", "Pod"}
	services   = groupKind{"", "Service"}
	endpoints  = groupKind{"", "Endpoints"}
	slicesKind = groupKind{"discovery.k8s.io", "EndpointSlice"}
	nodes      = groupKind{"", "Node"}
	configMaps = groupKind{"", "ConfigMap"}
	secrets    = groupKind{"", "Secret"}
	accounts   = groupKind{"", "ServiceAccount"}
	claims     = groupKind{"", "PersistentVolumeClaim"}
	volumes    = groupKind{"", "PersistentVolume"}
	scalers    = groupKind{"autoscaling", "HorizontalPodAutoscaler"}
	ingresses  = groupKind{"networking.k8s.io", "Ingress"}
)

// secretsKind is how a configuration names what is never looked into.
const secretsKind = "secrets"

// rule is one kind of reference, from holder to target.
type rule struct {
	typ    Type
	holder groupKind
	target groupKind // zero: the reference says
	// down is set where the edge leads from the holder to the target.
	down bool
	// in is the member of an object that has all places in it.
	in     string
	places []place
	// self is set where the target has the holder's own name.
	self bool
	// lax is set where a target that is not there means that no edge exists.
	lax bool
	// space says in which namespace the target is.
	space space
	// back is the reference by which the target must name the holder in turn; nil where it
	// need not. Holders are not searched for by such a rule: the target names them.
	back *rule
	// uid is set where a reference without one is not valid yet.
	uid bool
}

// place says where objects hold references: the keys that lead there, * for each element of an
// array, and which member of the value is the name; the empty one is the value itself.
type place struct {
	path []string
	name string
	// full is set where other members of the value than the name count.
	full bool
	// generated is set where the reference is to what the object's controller makes of its own
	// name and the one here, if there is a member ephemeral.
	generated bool
}

func byName(path, key string) place { return place{path: strings.Fields(path), name: key} }

func inFull(path string) place { return place{path: strings.Fields(path), name: "name", full: true} }

// space is where a reference finds its target.
type space uint8

const (
	spaceOwn     space = iota // the holder's namespace; a reference to another one is none
	spaceNone                 // the cluster
	spaceNamed                // the namespace that the reference names
	spaceOfOwner              // the holder's namespace, or the cluster: the target's kind knows
)

var rules = func() []*rule {
	fromVolume := &rule{typ: Bound, holder: volumes, target: claims, space: spaceNamed, uid: true, in: "spec",
		places: []place{inFull("claimRef")}}
	fromClaim := &rule{typ: Bound, holder: claims, target: volumes, down: true, space: spaceNone, in: "spec",
		places: []place{byName("volumeName", "")}, back: fromVolume}
	fromVolume.back = fromClaim
	ofPod := func(typ Type, target groupKind, places ...place) *rule {
		return &rule{typ: typ, holder: pods, target: target, down: true, in: "spec", places: places}
	}
	onNode := ofPod(OnNode, nodes, byName("nodeName", ""))
	onNode.space = spaceNone
	scratch := byName("volumes *", "name")
	scratch.generated = true
	return []*rule{
		{typ: Owner, space: spaceOfOwner, in: "metadata", places: []place{inFull("ownerReferences *")}},
		fromClaim,
		fromVolume,
		{typ: Slice, holder: slicesKind, target: services, in: "metadata",
			places: []place{byName("labels kubernetes.io/service-name", "")}},
		{typ: EndpointsOf, holder: endpoints, target: services, self: true, lax: true},
		{typ: Target, holder: slicesKind, target: pods, down: true, in: "endpoints", places: []place{inFull("* targetRef")}},
		{typ: Target, holder: endpoints, target: pods, down: true, in: "subsets",
			places: []place{inFull("* addresses * targetRef"), inFull("* notReadyAddresses * targetRef")}},
		onNode,
		ofPod(ConfigMap, configMaps, append(containers("configMapRef", "configMapKeyRef"),
			byName("volumes * configMap", "name"), byName("volumes * projected sources * configMap", "name"))...),
		ofPod(Secret, secrets, append(containers("secretRef", "secretKeyRef"), secretVolumes()...)...),
		ofPod(ServiceAccount, accounts, byName("serviceAccountName", "")),
		ofPod(Claim, claims, byName("volumes * persistentVolumeClaim", "claimName"), scratch),
		{typ: Scale, holder: scalers, down: true, in: "spec", places: []place{inFull("scaleTargetRef")}},
		{typ: Backend, holder: ingresses, target: services, down: true, in: "spec", places: []place{
			byName("defaultBackend service", "name"), byName("rules * http paths * backend service", "name")}},
	}
}()

// containers are the places where containers of all sorts name what their environment comes from.
func containers(all, one string) (places []place) {
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		places = append(places, byName(list+" * envFrom * "+all, "name"), byName(list+" * env * valueFrom "+one, "name"))
	}
	return places
}

// secretVolumes are the places of a Pod outside its containers that name Secrets: all that
// the kubelet reads on its behalf.
func secretVolumes() []place {
	places := []place{
		byName("imagePullSecrets *", "name"), byName("volumes * secret", "secretName"),
		byName("volumes * azureFile", "secretName"), byName("volumes * projected sources * secret", "name"),
		byName("volumes * csi nodePublishSecretRef", "name"),
	}
	for _, driver := range []string{"cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		places = append(places, byName("volumes * "+driver+" secretRef", "name"))
	}
	return places
}

type reference struct {
	apiVersion string // "" where the rule has the kind
	of         groupKind
	namespace  string
	name, uid  string
}

// refs are the references of an object by this rule; raw is its content.
func (ru *rule) refs(of object.Key, raw []byte) (all []reference) {
	if ru.self {
		return []reference{{of: ru.target, namespace: of.Namespace, name: of.Name}}
	}
	in := jsonscan.Lookup(raw, ru.in)
	for _, p := range ru.places {
		walk(in, p.path, func(v []byte) {
			if r, ok := ru.read(&p, of, v); ok {
				all = append(all, r)
			}
		})
	}
	return all
}

// walk calls visit with the values that a path leads to.
func walk(raw []byte, path []string, visit func([]byte)) {
	switch {
	case len(path) == 0:
		visit(raw)
	case path[0] != "*":
		if v := jsonscan.Lookup(raw, path[0]); v != nil {
			walk(v, path[1:], visit)
		}
	default:
		for v := range jsonscan.Elements(raw) {
			walk(v, path[1:], visit)
		}
	}
}

func (ru *rule) read(p *place, of object.Key, v []byte) (r reference, ok bool) {
	r.of = ru.target
	if p.name == "" {
		r.name = jsonscan.Unquote(v)
	} else {
		r.name = jsonscan.Unquote(jsonscan.Lookup(v, p.name))
	}
	var kind, apiVersion, namespace string
	if p.full {
		text := func(key string) string { return jsonscan.Unquote(jsonscan.Lookup(v, key)) }
		kind, apiVersion, namespace, r.uid = text("kind"), text("apiVersion"), text("namespace"), text("uid")
	}
	switch {
	case r.name == "", ru.typ == Target && kind != pods.kind, ru.typ == Owner && r.uid == "":
		return r, false
	case p.generated:
		if e := jsonscan.Lookup(v, "ephemeral"); e == nil || string(e) == "null" {
			return r, false
		}
		r.name = of.Name + "-" + r.name
	}
	if r.of == (groupKind{}) {
		group, _, grouped := strings.Cut(apiVersion, "/")
		if !grouped {
			group = ""
		}
		r.of, r.apiVersion = groupKind{group, kind}, apiVersion
	}
	switch ru.space {
	case spaceOwn:
		r.namespace = of.Namespace
		return r, r.of.kind != "" && (namespace == "" || namespace == of.Namespace)
	case spaceNamed:
		r.namespace = namespace
	case spaceNone, spaceOfOwner:
	}
	return r, r.of.kind != ""
}

// key identifies a reference in an index. The namespace is left out where only the
// target's kind says whether it has one; the caller that looks something up checks it.
func (r reference) key() string {
	return strings.Join([]string{r.of.group, r.of.kind, r.namespace, r.name, r.uid}, "/")
}

// values is for view.Index.
func (ru *rule) values(o *object.Object) (keys []string) {
	for _, r := range ru.refs(o.Key, o.Raw) {
		keys = append(keys, r.key())
	}
	return keys
}
