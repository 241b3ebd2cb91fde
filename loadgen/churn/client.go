package churn

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	// streamsPerConnection is well below the apiserver's limit (100), beyond which requests would wait in the client.
	streamsPerConnection = 50
	// maxConnections bounds the connections; 16 × 100 streams are more than a small apiserver serves at a time.
	maxConnections = 16

	userAgent    = "watchbench-churn"
	fieldManager = "watchbench-churn"
	protobufType = "application/vnd.kubernetes.protobuf"
)

// clients are connections to one apiserver; heartbeats and bystanders do not queue behind the load.
type clients struct {
	load       []rest.Interface
	control    *rest.Config // over a connection of its own
	controlSet *kubernetes.Clientset
	meta       metadata.Interface // over control, too
	transports []http.RoundTripper
}

func newClients(base *rest.Config, concurrency int) (*clients, error) {
	c := &clients{}
	connections := min(maxConnections, (concurrency+streamsPerConnection-1)/streamsPerConnection)
	for range max(1, connections) {
		cfg, err := c.connect(base)
		if err != nil {
			return nil, err
		}
		set, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return nil, fmt.Errorf("making a client: %w", err)
		}
		c.load = append(c.load, set.CoreV1().RESTClient())
	}
	var err error
	if c.control, err = c.connect(base); err != nil {
		return nil, err
	}
	if c.controlSet, err = kubernetes.NewForConfig(c.control); err == nil {
		c.meta, err = metadata.NewForConfig(c.control)
	}
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return c, nil
}

// connect makes a config whose clients share one new connection.
func (c *clients) connect(base *rest.Config) (*rest.Config, error) {
	own := rest.CopyConfig(base)
	own.UserAgent = userAgent
	// gzip would cost more time than it saves on the way to a near apiserver.
	own.DisableCompression = true
	// A dialer of its own keeps client-go from sharing the cached transport.
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	own.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, address)
	}
	transport, err := rest.TransportFor(own)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the apiserver: %w", err)
	}
	url, _, err := rest.DefaultServerUrlFor(own)
	if err != nil {
		return nil, fmt.Errorf("reading the apiserver's address: %w", err)
	}
	c.transports = append(c.transports, transport)
	return &rest.Config{
		Host:      url.String(),
		Transport: transport, // has TLS and credentials in it
		UserAgent: userAgent,
		QPS:       -1, // the plan sets the rate, nothing else
		ContentConfig: rest.ContentConfig{
			ContentType:        protobufType,
			AcceptContentTypes: protobufType + ",application/json",
		},
		WarningHandler: rest.NoWarnings{},
	}, nil
}

func (c *clients) forLane(lane int64) rest.Interface { return c.load[int(lane%int64(len(c.load)))] }

func (c *clients) close() {
	for _, t := range c.transports {
		utilnet.CloseIdleConnectionsFor(t)
	}
}
