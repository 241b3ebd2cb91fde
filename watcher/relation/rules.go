package relation

import (
	"strings"
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
	down  bool
	shape *shape
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

// space is where a reference finds its target.
type space uint8

const (
	spaceOwn     space = iota // the holder's namespace; a reference to another one is none
	spaceNone                 // the cluster
	spaceNamed                // the namespace that the reference names
	spaceOfOwner              // the holder's namespace, or the cluster: the target's kind knows
)

var rules = func() []*rule {
	target := func(path string) *place {
		return &place{path: path,
			fields: map[string]field{"kind": fieldKind, "namespace": fieldNamespace, "name": fieldName, "uid": fieldUID}}
	}
	fromVolume := &rule{
		typ: Bound, holder: volumes, target: claims, space: spaceNamed, uid: true,
		shape: shapeOf(&place{path: "spec claimRef",
			fields: map[string]field{"namespace": fieldNamespace, "name": fieldName, "uid": fieldUID}}),
	}
	fromClaim := &rule{typ: Bound, holder: claims, target: volumes, down: true, space: spaceNone,
		shape: shapeOf(byName("spec volumeName", "")), back: fromVolume}
	fromVolume.back = fromClaim
	return []*rule{
		{
			typ: Owner, space: spaceOfOwner,
			shape: shapeOf(&place{path: "metadata ownerReferences *",
				fields: map[string]field{"apiVersion": fieldAPIVersion, "kind": fieldKind, "name": fieldName, "uid": fieldUID}}),
		},
		fromClaim,
		fromVolume,
		{typ: Slice, holder: slicesKind, target: services,
			shape: shapeOf(byName("metadata labels kubernetes.io/service-name", ""))},
		{typ: EndpointsOf, holder: endpoints, target: services, self: true, lax: true, shape: shapeOf()},
		{typ: Target, holder: slicesKind, target: pods, down: true, shape: shapeOf(target("endpoints * targetRef"))},
		{typ: Target, holder: endpoints, target: pods, down: true,
			shape: shapeOf(target("subsets * addresses * targetRef"), target("subsets * notReadyAddresses * targetRef"))},
		{typ: OnNode, holder: pods, target: nodes, down: true, space: spaceNone, shape: shapeOf(byName("spec nodeName", ""))},
		{typ: ConfigMap, holder: pods, target: configMaps, down: true,
			shape: shapeOf(append(containers("configMapRef", "configMapKeyRef"),
				byName("spec volumes * configMap", "name"), byName("spec volumes * projected sources * configMap", "name"))...)},
		{typ: Secret, holder: pods, target: secrets, down: true,
			shape: shapeOf(append(containers("secretRef", "secretKeyRef"), secretVolumes()...)...)},
		{typ: ServiceAccount, holder: pods, target: accounts, down: true,
			shape: shapeOf(byName("spec serviceAccountName", ""))},
		{typ: Claim, holder: pods, target: claims, down: true, shape: shapeOf(
			byName("spec volumes * persistentVolumeClaim", "claimName"),
			&place{path: "spec volumes *", fields: map[string]field{"name": fieldName, "ephemeral": fieldPresent},
				generated: true})},
		{typ: Scale, holder: scalers, down: true, shape: shapeOf(
			&place{path: "spec scaleTargetRef",
				fields: map[string]field{"apiVersion": fieldAPIVersion, "kind": fieldKind, "name": fieldName}})},
		{typ: Backend, holder: ingresses, target: services, down: true, shape: shapeOf(
			byName("spec defaultBackend service", "name"), byName("spec rules * http paths * backend service", "name"))},
	}
}()

// containers are the places where containers of all sorts name what their environment
// comes from.
func containers(all, one string) (places []*place) {
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		places = append(places, byName("spec "+list+" * envFrom * "+all, "name"),
			byName("spec "+list+" * env * valueFrom "+one, "name"))
	}
	return places
}

// secretVolumes are the places of a Pod outside its containers that name Secrets: all that
// the kubelet reads on its behalf.
func secretVolumes() []*place {
	places := []*place{
		byName("spec imagePullSecrets *", "name"),
		byName("spec volumes * secret", "secretName"),
		byName("spec volumes * azureFile", "secretName"),
		byName("spec volumes * projected sources * secret", "name"),
		byName("spec volumes * csi nodePublishSecretRef", "name"),
	}
	for _, driver := range []string{"cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		places = append(places, byName("spec volumes * "+driver+" secretRef", "name"))
	}
	return places
}

// reference names an object, as another one does. Its strings share memory with what it
// was read from.
type reference struct {
	apiVersion string // "" where the rule has the kind
	of         groupKind
	namespace  string
	name, uid  string
}

// refs calls yield with the references of an object by this rule; an error says that the
// text is not JSON. buf is used for reading and may be nil.
func (ru *rule) refs(raw []byte, buf *reader, yield func(reference)) error {
	if buf == nil {
		buf = &reader{}
	}
	if err := buf.read(raw, ru.shape); err != nil {
		return err
	}
	if ru.self && buf.name != "" {
		yield(reference{of: ru.target, namespace: buf.namespace, name: buf.name})
	}
	for _, f := range buf.found {
		if ref, ok := ru.ref(f, buf); ok {
			yield(ref)
		}
	}
	return nil
}

func (ru *rule) ref(f found, of *reader) (reference, bool) {
	r := reference{of: ru.target, name: f.name, uid: f.uid}
	switch {
	case ru.typ == Target && f.kind != pods.kind, ru.typ == Owner && f.uid == "":
		return r, false
	case f.place.generated && !f.present:
		return r, false
	case f.place.generated:
		r.name = of.name + "-" + f.name
	}
	if r.of == (groupKind{}) {
		group, _, grouped := strings.Cut(f.apiVersion, "/")
		if !grouped {
			group = ""
		}
		r.of, r.apiVersion = groupKind{group, f.kind}, f.apiVersion
		if f.kind == "" {
			return r, false
		}
	}
	switch ru.space {
	case spaceOwn:
		r.namespace = of.namespace
		return r, f.namespace == "" || f.namespace == of.namespace
	case spaceNamed:
		r.namespace = f.namespace
	case spaceNone, spaceOfOwner:
	}
	return r, true
}

// key identifies a reference in an index. The namespace is left out where only the
// target's kind says whether it has one; whoever looks something up sees to it.
func (r reference) key() string {
	return strings.Join([]string{r.of.group, r.of.kind, r.namespace, r.name, r.uid}, "/")
}

// values is for view.Index.
func (ru *rule) values(raw []byte) []string {
	var keys []string
	_ = ru.refs(raw, nil, func(r reference) { keys = append(keys, r.key()) }) // what cannot be read refers to nothing
	return keys
}
