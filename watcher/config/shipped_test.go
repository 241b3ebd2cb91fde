package config

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Each key that has no effect is explained in the documentation.
func TestUnusedKeysAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/k8s-watch-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range append(slices.Clone(unusedKeys), "crdVersionSupport", "apiResourceLists", "bcs.tls.password", "k8s.tls.password") {
		if !strings.Contains(string(text), "`"+key+"`") {
			t.Errorf("docs/k8s-watch-reference.md does not name %s", key)
		}
	}
}

// The files that deploy ships are read without a warning.
func TestShippedFiles(t *testing.T) {
	cfg, warnings, err := Load("../../deploy/k8s-watch/config.json")
	if err != nil || len(warnings) > 0 {
		t.Error(warnings, err)
	}
	if d := Default().BCS; cfg.BCS.Strategy != d.Strategy || cfg.BCS.PodQueueNum != d.PodQueueNum {
		t.Errorf("the shipped file needs tuning: strategy %s, podQueueNum %d", cfg.BCS.Strategy, cfg.BCS.PodQueueNum)
	}
	f, warnings, err := LoadFilter("../../deploy/k8s-watch/filter.json")
	if err != nil || len(warnings) > 0 {
		t.Error(warnings, err)
	}
	for _, gv := range []string{"types.kubefed.io/v1beta1", "core.kubefed.io/v1beta1", "multiclusterdns.kubefed.io/v1alpha1", "scheduling.kubefed.io/v1alpha1"} {
		if !slices.Contains(f.CRDResourceWhiteList, gv) {
			t.Errorf("the white list has no %s", gv)
		}
	}
}
