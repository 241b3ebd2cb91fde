package faultlist

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// Whoever is cut off and comes back at once finds the port closed.
func TestRefuseClosesThePortFirst(t *testing.T) {
	g, err := NewGate("127.0.0.1:0", GateSettings{Reset: true, Listen: TCP})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close() }()
	const clients = 200
	again := make(chan error, clients)
	for range clients {
		c, err := net.Dial("tcp", g.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Accept(); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = c.Read(make([]byte, 1))
			c, err := net.Dial("tcp", g.Addr().String())
			if err == nil {
				_ = c.Close()
			}
			again <- err
		}()
	}
	if err := g.Refuse(true); err != nil {
		t.Fatal(err)
	}
	for range clients {
		if err := <-again; !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("a client that was cut off and came back: %v", err)
		}
	}
}
