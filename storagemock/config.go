package storagemock

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/storagemock/behavior"
	"github.com/watchbench/watchbench/storagemock/store"
)

// MaxInstances bounds Config.Instances; the ledger keeps the number in a byte.
const MaxInstances = 255

// Config holds the user's choices.
type Config struct {
	// Listen is host:port of the first instance. Further instances take the following ports, or free ones when the port
	// is 0.
	Listen      string
	Instances   int
	AllowRemote bool // bind addresses that other machines can reach
	// TLSCert and TLSKey are PEM files; with both the API is served over TLS.
	TLSCert, TLSKey string
	// OldTLS accepts no later version than TLS 1.1, which a client should refuse.
	OldTLS bool

	Latency  string // grammar of behavior.ParseModel
	Capacity string // grammar of behavior.ParseCapacities; for each instance
	Mode     string // store.Faithful or store.Conditional
	Faults   string // grammar of behavior.ParseFaults
	Seed     uint64
}

// DefaultConfig returns a storage without delay on a free loopback port.
func DefaultConfig() Config {
	return Config{
		Listen: "127.0.0.1:0", Instances: 1, Latency: "0s", Capacity: "unlimited", Mode: string(store.Faithful), Seed: 1,
	}
}

// Validate returns an error that names every mistake, nil if there is none.
func (c Config) Validate() error {
	_, err := c.parse()
	return err
}

// parsed is a valid Config, parsed.
type parsed struct {
	host     string
	port     int
	model    *behavior.Model
	capacity []behavior.Rule[behavior.Capacity]
	mode     store.Mode
	faults   []behavior.FaultSpec
}

func (c Config) parse() (parsed, error) {
	var p parsed
	var errs [7]error
	if p.host, p.port, errs[0] = SplitAddress(c.Listen, c.AllowRemote); errs[0] != nil {
		errs[0] = fmt.Errorf("listen: %w", errs[0])
	}
	if c.Instances < 1 || c.Instances > MaxInstances {
		errs[1] = fmt.Errorf("instances: %d; want 1 to %d", c.Instances, MaxInstances)
	} else if p.port != 0 && p.port+c.Instances-1 > 65535 {
		errs[1] = fmt.Errorf("instances: %d instances from port %d on do not fit below 65536", c.Instances, p.port)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		errs[2] = errors.New("tls: a certificate needs its key and vice versa")
	}
	p.model, errs[3] = behavior.ParseModel(c.Latency, c.Seed)
	p.capacity, errs[4] = behavior.ParseCapacities(c.Capacity)
	p.mode, errs[5] = store.ParseMode(c.Mode)
	p.faults, errs[6] = behavior.ParseFaults(c.Faults)
	return p, errors.Join(errs[:]...)
}

// SplitAddress splits host:port. Unless allowRemote is set, the host must be a loopback address or localhost: the mock
// has no authentication.
func SplitAddress(addr string, allowRemote bool) (host string, port int, err error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("address %q: want host:port, like 127.0.0.1:50024", addr)
	}
	port, err = strconv.Atoi(portText)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("address %q: port %q is not a number from 0 to 65535", addr, portText)
	}
	if ip := net.ParseIP(host); !allowRemote && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", 0, fmt.Errorf("address %q is not loopback, so anyone could use it; allow it with --allow-remote",
			addr)
	}
	return host, port, nil
}

// Settings holds what the calling code provides.
type Settings struct {
	Logger   *slog.Logger
	Registry prometheus.Registerer
	// Listen is net.Listen for TCP if nil. It is called again for an address after connections to it were refused for a
	// while.
	Listen func(addr string) (net.Listener, error)
}
