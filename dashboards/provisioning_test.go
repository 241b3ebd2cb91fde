package dashboards

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The compose file mounts what exists, where Prometheus and Grafana look for it.
func TestProvisioning(t *testing.T) {
	const dir = "../deploy/monitoring"
	read := func(file string, into any) {
		b, err := os.ReadFile(filepath.Join(dir, file)) //nolint:gosec // of the repository
		check(t, err)
		check(t, yaml.Unmarshal(b, into))
	}
	var compose struct {
		Services map[string]struct {
			Command, Volumes []string
			Environment      map[string]string
		}
	}
	read("compose.yaml", &compose)
	mounted := func(service, path string) string {
		for _, v := range compose.Services[service].Volumes {
			from, to, _ := strings.Cut(strings.TrimSuffix(v, ":ro"), ":")
			if rest, below := strings.CutPrefix(path, to+"/"); below {
				return filepath.Join(dir, from, rest)
			}
		}
		return ""
	}
	exists := func(service, path string) {
		if _, err := os.Stat(mounted(service, path)); err != nil {
			t.Errorf("%s: %s: %v", service, path, err)
		}
	}
	for _, arg := range compose.Services["prometheus"].Command {
		if path, ok := strings.CutPrefix(arg, "--config.file="); ok {
			for _, file := range []string{rulesFile, watcherTargets, storageTargets} {
				exists("prometheus", filepath.Join(filepath.Dir(path), file))
			}
			exists("prometheus", path)
		}
	}
	exists("grafana", compose.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
	for _, file := range []string{"datasources/prometheus.yaml", "dashboards/watchbench.yaml"} {
		exists("grafana", "/etc/grafana/provisioning/"+file)
	}
	var provider struct {
		Providers []struct{ Options struct{ Path string } }
	}
	read("provisioning/dashboards/watchbench.yaml", &provider)
	for _, d := range boards(t) {
		exists("grafana", provider.Providers[0].Options.Path+"/"+d.file)
	}
}
