package replay

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// Server serves a simulated apiserver on a socket.
type Server struct {
	API      *apisim.Server
	listener net.Listener
}

const headerTimeout = 10 * time.Second

// window of changes that is kept of each kind: that of an apiserver under a fast load, whose cache grows to it.
const window = 102_400

// Listen makes a server, with a window of its own. It accepts at once and answers with Run.
func Listen(addr string, c apisim.Config) (*Server, error) {
	c.Window = window
	api, err := apisim.New(c)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for clients of the simulated apiserver: %w", err)
	}
	return &Server{api, l}, nil
}

// URL is where the server is.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Remote reports whether other machines may reach the server.
func (s *Server) Remote() bool {
	a, ok := s.listener.Addr().(*net.TCPAddr)
	return ok && !a.IP.IsLoopback()
}

const contextName = "apisim"

// KubeconfigOutput describes the file that WriteKubeconfig is to write. Only an earlier one of it is replaced: the flag
// is easily taken for the one that names the user's own.
func KubeconfigOutput(flag, path string) userfile.Output {
	return userfile.Output{Flag: flag, Path: path, What: "kubeconfig of a simulated apiserver",
		Ours: func(path string) bool {
			cfg, err := clientcmd.LoadFromFile(path)
			return err == nil && len(cfg.Contexts) == 1 && cfg.Contexts[contextName] != nil
		}}
}

// WriteKubeconfig makes a file by which clients find the server.
func (s *Server) WriteKubeconfig(path string) error {
	if err := kubeapi.WriteConfig(path, kubeapi.ConfigFor(contextName, &rest.Config{Host: s.URL()})); err != nil {
		return fmt.Errorf("write the kubeconfig of the simulated apiserver: %w", err)
	}
	return nil
}

// Run serves until ctx ends, and breaks all connections then.
func (s *Server) Run(ctx context.Context) error {
	if err := lifecycle.Serve(ctx, &http.Server{Handler: s.API, ReadHeaderTimeout: headerTimeout}, s.listener,
		0); err != nil {
		return fmt.Errorf("serve the simulated apiserver: %w", err)
	}
	return nil
}
