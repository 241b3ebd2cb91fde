package controlplane

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed pin/*.mod pin/*.sum
var pinFiles embed.FS

// Names of the binaries that Ensure can provide.
const (
	Etcd      = "etcd"
	APIServer = "kube-apiserver"

	// What makes a cluster of these two live; see Controllers.
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok" // plays the kubelets

	// Kubectl is for tests of what it is shown.
	Kubectl = "kubectl"
)

// Controllers are the binaries that write to a cluster by themselves.
func Controllers() []string { return []string{ControllerManager, Scheduler, Kwok} }

type tool struct {
	name   string
	pin    string // pin/<pin>.mod
	module string // whose version is the binary's version
	pkg    string
}

var tools = []tool{
	{name: Etcd, pin: "etcd", module: "go.etcd.io/etcd/server/v3", pkg: "go.etcd.io/etcd/server/v3"},
	{name: APIServer, pin: "kubernetes", module: "k8s.io/kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-apiserver"},
	// After kube-apiserver, most of whose packages they share.
	{name: ControllerManager, pin: "kubernetes", module: "k8s.io/kubernetes",
		pkg: "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{name: Scheduler, pin: "kubernetes", module: "k8s.io/kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-scheduler"},
	{name: Kwok, pin: "kwok", module: "sigs.k8s.io/kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok"},
	// In a pin of its own: it needs more than kube-apiserver, which is not to be built again for it.
	{name: Kubectl, pin: "kubectl", module: "k8s.io/kubernetes", pkg: "k8s.io/kubernetes/cmd/kubectl"},
}

// KubernetesVersion is the pinned version, such as "v1.36.3".
func KubernetesVersion() string { return mustFind(APIServer).version() }

func mustFind(name string) tool {
	return tools[slices.IndexFunc(tools, func(t tool) bool { return t.name == name })]
}

func (t tool) files() (mod, sum []byte) {
	mod, err := pinFiles.ReadFile("pin/" + t.pin + ".mod")
	if err == nil {
		sum, err = pinFiles.ReadFile("pin/" + t.pin + ".sum")
	}
	if err != nil {
		panic(err) // embedded at compile time, see TestPins
	}
	return mod, sum
}

func (t tool) version() string {
	mod, _ := t.files()
	m := regexp.MustCompile(`(?m)^(?:require )?\s*` + regexp.QuoteMeta(t.module) + ` (v\S+)`).FindSubmatch(mod)
	if m == nil {
		panic("controlplane: pin/" + t.pin + ".mod does not require " + t.module) // see TestPins
	}
	return string(m[1])
}

func (t tool) stamp() string {
	mod, sum := t.files()
	h := sha256.New()
	h.Write(mod)
	h.Write(sum)
	return fmt.Sprintf("%s@%s %s\n", t.pkg, t.version(), hex.EncodeToString(h.Sum(nil)))
}

// ldflags strips the symbol tables (a third of the size) and sets the version, which Kubernetes' own build takes from
// git.
func (t tool) ldflags() string {
	flags := "-s -w"
	if t.module != "k8s.io/kubernetes" {
		return flags // etcd and kwok have their versions in their sources
	}
	v := t.version()
	part := strings.SplitN(strings.TrimPrefix(v, "v"), ".", 3)
	for _, kv := range []string{"gitVersion=" + v, "gitMajor=" + part[0], "gitMinor=" + part[1], "gitTreeState=clean"} {
		flags += " -X k8s.io/component-base/version." + kv
	}
	return flags
}
