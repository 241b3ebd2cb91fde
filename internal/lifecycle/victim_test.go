package lifecycle

import (
	"net"
	"testing"
	"time"
)

// TestVictim: of three old connections, the one whose client left is evicted first, then the one that
// asked for nothing, then the oldest; a request that nobody has read yet protects as one that was read.
func TestVictim(t *testing.T) {
	const left, silent, waits, asked = "left", "silent", "waits", "asked"
	for _, tc := range []struct {
		name    string
		clients [3]string
		want    int
	}{
		{"left", [3]string{asked, silent, left}, 2},
		{"silent", [3]string{asked, waits, silent}, 2},
		{"oldest", [3]string{waits, asked, waits}, 0},
		{"two silent", [3]string{waits, silent, silent}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			network, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			b := Bound(network, Bounds{Connections: 3, Patience: time.Minute, Evict: true})
			defer func() { _ = b.Close() }()
			var clients []net.Conn
			for _, does := range tc.clients {
				client, err := net.Dial("tcp", network.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = client.Close() }()
				server, err := b.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = server.Close() }()
				if does == waits || does == asked {
					if _, err := client.Write([]byte("G")); err != nil {
						t.Fatal(err)
					}
				}
				if does == asked {
					if _, err := server.Read(make([]byte, 1)); err != nil {
						t.Fatal(err)
					}
				}
				clients = append(clients, client)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			at := b.conns.Front()
			for i := range clients {
				c := at.Value.(*boundConn)
				c.began = c.began.Add(-time.Minute)
				for deadline := time.Now().Add(time.Minute); tc.clients[i] == waits && time.Now().Before(deadline); {
					if _, there := c.peek(); there { // loopback has delivered it
						break
					}
				}
				if tc.clients[i] == left {
					_ = clients[i].Close()
					for gone := false; !gone; gone, _ = c.peek() {
					}
				}
				at = at.Next()
			}
			got := 0
			for e := b.conns.Front(); e != b.victim(); e = e.Next() {
				got++
			}
			if got != tc.want {
				t.Errorf("connection %d of %v is evicted, want %d", got, tc.clients, tc.want)
			}
		})
	}
}
