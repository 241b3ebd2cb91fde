package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestPins(t *testing.T) {
	if v := KubernetesVersion(); !regexp.MustCompile(`^v1\.\d+\.\d+$`).MatchString(v) {
		t.Errorf("Kubernetes version %q", v)
	}
	if v := mustFind(Etcd).version(); !regexp.MustCompile(`^v3\.\d+\.\d+$`).MatchString(v) {
		t.Errorf("etcd version %q", v)
	}
	if v := mustFind(Kwok).version(); !regexp.MustCompile(`^v0\.\d+\.\d+$`).MatchString(v) {
		t.Errorf("kwok version %q", v)
	}
	for _, tl := range tools {
		mod, sum := tl.files()
		if !strings.Contains(string(mod), "\t"+tl.pkg+"\n") && !strings.Contains(string(mod), "tool "+tl.pkg+"\n") {
			t.Errorf("pin/%s.mod does not list the tool %s", tl.pin, tl.pkg)
		}
		if want := tl.module + " " + tl.version() + " h1:"; !strings.Contains(string(sum), want) {
			t.Errorf("pin/%s.sum has no line %s", tl.pin, want)
		}
	}
}

// The staging modules must be those of the Kubernetes release, and the client that
// this repository uses should be of the same one.
func TestPinsBelongTogether(t *testing.T) {
	staging := "v0." + strings.TrimPrefix(KubernetesVersion(), "v1.")
	for _, name := range []string{APIServer, Kubectl} {
		mod, _ := mustFind(name).files()
		replaced := regexp.MustCompile(`(?m)^\t(k8s\.io/\S+) => (\S+) (\S+)$`).FindAllStringSubmatch(string(mod), -1)
		if len(replaced) < 30 {
			t.Fatalf("%s: only %d staging modules are replaced", name, len(replaced))
		}
		for _, r := range replaced {
			if r[1] != r[2] || r[3] != staging {
				t.Errorf("%s: %s is replaced by %s %s, want %s", name, r[1], r[2], r[3], staging)
			}
		}
	}
	if v := mustFind(Kubectl).version(); v != KubernetesVersion() {
		t.Errorf("kubectl is %s, kube-apiserver %s", v, KubernetesVersion())
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "k8s.io/client-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(out)); got != staging {
		t.Errorf("client-go is %s, the control plane's is %s: move the pin, too", got, staging)
	}
}

func TestLdflagsStampTheVersion(t *testing.T) {
	flags := mustFind(APIServer).ldflags()
	for _, want := range []string{"gitVersion=" + KubernetesVersion(), "gitMajor=1 ", "gitTreeState=clean"} {
		if !strings.Contains(flags, want) {
			t.Errorf("ldflags %q lack %s", flags, want)
		}
	}
	if flags := mustFind(Etcd).ldflags(); strings.Contains(flags, "k8s.io") {
		t.Errorf("etcd is linked with %q", flags)
	}
}

func TestRoot(t *testing.T) {
	t.Setenv(EnvCache, "")
	t.Setenv("XDG_CACHE_HOME", "/xdg")
	t.Setenv("HOME", "/home/u")
	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, option, env, want string }{
		{"user's", "", "", filepath.Join(user, "watchbench")},
		{"environment", "", "/env", "/env"},
		{"option", "/opt", "/env", "/opt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(EnvCache, tc.env)
			if got, err := (Options{Cache: tc.option}).Root(); err != nil || got != tc.want {
				t.Errorf("got %s, %v, want %s", got, err, tc.want)
			}
		})
	}
	t.Run("nowhere", func(t *testing.T) {
		t.Setenv("XDG_CACHE_HOME", "")
		t.Setenv("HOME", "")
		if _, err := (Options{}).Dir(); err == nil || !strings.Contains(err.Error(), EnvCache) {
			t.Errorf("got error %v, want one that says how to name a directory", err)
		}
	})
}
