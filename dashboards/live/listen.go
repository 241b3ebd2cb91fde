package live

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// loopback is the host of an address without one.
const loopback = "127.0.0.1"

// Listen opens the address of the page: host:port, or :port on the loopback address. Port 0
// is any free one.
func Listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%q is not an address; write host:port, or :port for this machine only", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("%q has no port of 0 to 65535; write for example :8080, or :0 for any free port", addr)
	}
	if host == "" {
		host = loopback
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port)) //nolint:noctx // binding does not block
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %s of %s is in use; use another, or :0 for any free port", port, host)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %q: %w; use an address of this machine, such as %s:0", addr, cause(err),
			loopback)
	}
	return l, nil
}

// cause is a failure to listen without the words that repeat the address.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// Remote reports whether other machines may reach a listener.
func Remote(l net.Listener) bool {
	a, ok := l.Addr().(*net.TCPAddr)
	return ok && !a.IP.IsLoopback()
}

// ours reports whether a request for a host may be answered by a listener on loopback: a
// foreign page can have a name of its own point here, and would then read what is served.
func ours(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(strings.Trim(host, "[]")) != nil
}
