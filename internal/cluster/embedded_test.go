package cluster

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestEmbeddedUpDown(t *testing.T) {
	p, err := New(Embedded, Options{Embedded: EmbeddedOptions{Temp: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t0 := time.Now()
	c, err := p.Up(context.Background(), func(s string) { t.Log(time.Since(t0), s) })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v up %s", c, time.Since(t0))
	cfg, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	cs := kubernetes.NewForConfigOrDie(cfg)
	l, err := cs.CoreV1().Namespaces().List(context.Background(), metav1.ListOptions{})
	t.Log(len(l.Items), err)
	t0 = time.Now()
	t.Log(c.Down(context.Background()), time.Since(t0))
}
