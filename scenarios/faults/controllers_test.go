package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

const appNamespace = "x"

// staged is an app whose pods are there, and nobody who does anything with them.
func staged(pods ...string) *app {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	for _, name := range pods {
		_ = client.Tracker().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: appNamespace, Name: name}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c"}}}})
	}
	return &app{client: client, at: appNamespace, nodes: []string{"n"}}
}

// TestCrashIsSeen: pods that are marked and do not crash are no crash loop.
func TestCrashIsSeen(t *testing.T) {
	e := spec.Event{Count: 2, For: units.Duration(10 * time.Second)}
	for name, tc := range map[string]struct {
		pods    []string
		crashes string // the pods that do
		want    string
	}{
		"all":      {[]string{"a", "b"}, "ab", ""},
		"one only": {[]string{"a", "b"}, "a", "the crashes: not done after 5m0s: b has not crashed"},
		"too few":  {[]string{"a"}, "a", "2 pods are to crash, 1 are there"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := staged(tc.pods...)
				time.AfterFunc(5*time.Second, func() {
					for _, c := range tc.crashes {
						p, err := a.client.CoreV1().Pods(appNamespace).Get(context.Background(), string(c), metav1.GetOptions{})
						if err == nil {
							p.Status.ContainerStatuses[0].RestartCount = 1
							_, err = a.client.CoreV1().Pods(appNamespace).UpdateStatus(context.Background(), p, metav1.UpdateOptions{})
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
				_, err := a.crash(t.Context(), nil, e)
				if (tc.want == "") != (err == nil) || err != nil && err.Error() != tc.want {
					t.Errorf("%v, want %q", err, tc.want)
				}
				time.Sleep(time.Minute) // for those that crash later
			})
		})
	}
}

// TestEvictionIsSeen: nodes without pods, and pods that stay, are no eviction.
func TestEvictionIsSeen(t *testing.T) {
	for name, tc := range map[string]struct {
		pods  []string
		count int
		want  string
	}{
		"nothing to evict": {nil, 1, "no pod is on the lost nodes"},
		"too many":         {[]string{"a"}, 2, "lose 2 nodes: there are 1"},
		"not evicted":      {[]string{"a"}, 1, "not done after 5m0s: a is still to run on n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if _, err := staged(tc.pods...).loseNodes(t.Context(), nil, spec.Event{Count: tc.count}); err == nil || !strings.Contains(fmt.Sprint(err), tc.want) {
					t.Errorf("%v, want %q", err, tc.want)
				}
			})
		})
	}
}

// TestApplication: its pods are on nodes that kwok plays, and are the Service's and the run's.
func TestApplication(t *testing.T) {
	d, service, err := application("r-1", 3)
	if err != nil || *d.Spec.Replicas != 3 || d.Name != appName || service.Name != appName {
		t.Fatalf("%v, %+v", err, d)
	}
	labels := d.Spec.Template.Labels
	for name, value := range service.Spec.Selector {
		if labels[name] != value || d.Spec.Selector.MatchLabels[name] != value {
			t.Errorf("%s=%s is not on the pods: %v", name, value, labels)
		}
	}
	if labels[party.RunLabel] != "r-1" || d.Labels[party.RunLabel] != "r-1" || d.Spec.Template.Spec.NodeSelector[cluster.KwokLabel] != "true" {
		t.Errorf("%v, %v, %v", labels, d.Labels, d.Spec.Template.Spec.NodeSelector)
	}
}
