package cluster

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// describeStaticPods reads the flags of the control plane and the version of etcd
// from the pods that kubeadm (and so kind) runs them in. A cluster that does not
// run them so, or does not let us look, leaves the fields unknown: they describe
// the environment of a measurement, nothing depends on them.
func (c *Cluster) describeStaticPods(ctx context.Context, client kubernetes.Interface) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		LabelSelector: "tier=control-plane,component in (etcd,kube-apiserver)",
	})
	if err != nil {
		return
	}
	for i := range pods.Items {
		c.describePod(&pods.Items[i])
	}
}

func (c *Cluster) describePod(pod *corev1.Pod) {
	party := pod.Labels["component"]
	for _, container := range pod.Spec.Containers {
		if container.Name != party {
			continue
		}
		if c.Flags == nil {
			c.Flags = map[string][]string{}
		}
		for _, arg := range append(container.Command, container.Args...) {
			if strings.HasPrefix(arg, "-") {
				c.Flags[party] = append(c.Flags[party], arg)
			}
		}
		if party == etcdParty {
			c.EtcdVersion = imageVersion(container.Image)
		}
	}
}

// imageVersion takes 3.6.8 from an image reference that ends in /etcd:3.6.8-0.
func imageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, ok := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if !ok {
		return ""
	}
	v, _, _ := strings.Cut(tag, "-")
	return strings.TrimPrefix(v, "v")
}
