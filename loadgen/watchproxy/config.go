package watchproxy

import (
	"errors"
	"fmt"
	"log/slog"
	"net"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/watchfault"
)

// Config is the user's configuration.
type Config struct {
	Listen string // loopback host:port for the watcher; port 0 is any free one
	Admin  string // host:port of the admin API; empty is none
	// TLS serves with a certificate of a CA made for this run; else plain HTTP.
	TLS bool
	// PassAuthorization sends what a request says of its sender on to the apiserver,
	// and nothing of the proxy's own rights.
	PassAuthorization bool
	Faults            string // in force from the start
	// Hold keeps faults from firing until the admin API's start.
	Hold bool
	Seed uint64
}

// DefaultConfig listens on any free port of the loopback interface.
func DefaultConfig() Config { return Config{Listen: "127.0.0.1:0", Seed: 1} }

// Validate refuses what could not work or would give strangers its rights.
func (c Config) Validate() error {
	var errs []error
	if err := address("listen", c.Listen); err != nil {
		errs = append(errs, err)
	}
	if c.Admin != "" {
		if err := address("admin", c.Admin); err != nil {
			errs = append(errs, err)
		}
	} else if c.Hold {
		errs = append(errs, errors.New("hold: without an admin address, nothing could start the faults"))
	}
	if c.PassAuthorization && !c.TLS {
		errs = append(errs, errors.New("pass-authorization: a client sends no token by plain HTTP; it needs TLS"))
	}
	if _, err := watchfault.Parse(c.Faults); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// address checks host:port, and that the host is this machine: whoever reaches it has
// the rights of the proxy's kubeconfig.
func address(what, hostport string) error {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return fmt.Errorf("%s %q: want host:port, like 127.0.0.1:0", what, hostport)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s %q: want a loopback address such as 127.0.0.1", what, hostport)
}

// Settings are passed in by code.
type Settings struct {
	REST   *rest.Config // required: the apiserver and the rights
	Logger *slog.Logger // nil: no logs
}
