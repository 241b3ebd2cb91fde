package apisim_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// TestShardsLikeAnApiserver asks for shards: a real apiserver with the feature gate, and one without.
func TestShardsLikeAnApiserver(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	const maps = "/api/v1/namespaces/{ns}/configmaps?"
	const stream = "watch=1&timeoutSeconds=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
	halves := kubeapi.Split(2, kubeapi.ByUID)
	selectors := []string{
		halves[0].String(), halves[1].String(), " " + strings.ReplaceAll(halves[0].String(), "'", `"`) + "\t",
		strings.ReplaceAll(halves[0].String(), ", ", ","), kubeapi.Split(1, kubeapi.ByUID)[0].String(),
		kubeapi.Split(2, kubeapi.ByNamespace)[0].String(), kubeapi.Split(2, kubeapi.ByNamespace)[1].String(),
		"x", " ", strings.ReplaceAll(halves[0].String(), "uid", "name"), strings.ReplaceAll(halves[0].String(), "0x0000000000000000", "0x0"),
		strings.ReplaceAll(halves[0].String(), "'0x0000000000000000', ", ""), strings.ReplaceAll(halves[0].String(), "0x0000000000000000", "0x8000000000000000"),
	}
	var questions []question
	for _, selector := range selectors {
		q := "shardSelector=" + url.QueryEscape(selector)
		for _, path := range []string{
			maps, maps + "limit=1&", maps + "limit=1&continue={token}&", maps + "limit=2&resourceVersion=0&", maps + "labelSelector=app%3Dweb&", maps + "limit=1&labelSelector=app%3Dweb&",
			maps + "fieldSelector=metadata.name%3Db&", maps + "resourceVersion={first}&resourceVersionMatch=Exact&", maps + stream, maps + "watch=1&timeoutSeconds=1&",
			maps + "watch=1&timeoutSeconds=1&resourceVersion={first}&", "/api/v1/namespaces/{ns}/configmaps/b?",
		} {
			questions = append(questions, question{path + q, ""})
		}
		questions = append(questions, question{maps + q, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
			question{maps + "watch=1&timeoutSeconds=1&" + q, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"})
	}
	for _, gate := range []bool{true, false} {
		name, opts := "off", cluster.EmbeddedOptions{}
		if gate {
			name, opts.Gates = "on", []string{"ShardedListAndWatch"}
		}
		t.Run(name, func(t *testing.T) {
			p, err := cluster.New(cluster.Embedded, cluster.Options{Embedded: opts})
			if err != nil {
				t.Fatal(err)
			}
			c, err := p.Up(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := c.Down(context.Background()); err != nil {
					t.Error(err)
				}
			})
			cfg, err := c.RESTConfig()
			if err != nil {
				t.Fatal(err)
			}
			actual := realSide(t, cfg, clustertest.Namespace(t, cfg))
			answers := compare(t, actual, simSide(t, actual.ns, actual.uids, apisim.Config{NoShards: !gate}), questions)
			if said := strings.Contains(answers[0], halves[0].String()); said != gate {
				t.Errorf("with the gate %s the apiserver answers %s", name, answers[0])
			}
		})
	}
}
