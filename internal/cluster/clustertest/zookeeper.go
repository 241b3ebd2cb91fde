package clustertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/watchbench/watchbench/internal/cluster"
)

const (
	jar       = "/usr/share/java/zookeeper.jar"
	startTime = 30 * time.Second
)

// ZooKeeper gives the address of a fresh, empty server that ends with the test.
func ZooKeeper(t testing.TB) string {
	t.Helper()
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skip("needs ZooKeeper: no java on PATH (Debian: apt-get install zookeeper)")
	}
	if _, err := os.Stat(jar); err != nil {
		t.Skipf("needs ZooKeeper: %s is missing (Debian: apt-get install zookeeper)", jar)
	}
	dir := t.TempDir()
	port, err := cluster.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	cfg := filepath.Join(dir, "zoo.cfg")
	text := fmt.Sprintf(
		"tickTime=500\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\nforceSync=no\n", dir,
		port)
	if err := os.WriteFile(cfg, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, java, "-Xmx96m", "-cp", jar+":/usr/share/java/*",
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", cfg)
	out, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait(); _ = out.Close() })
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	ctx, stop := context.WithTimeout(ctx, startTime)
	defer stop()
	for c, events := connect(t, addr); c.State() != zk.StateHasSession; {
		select {
		case <-events:
		case <-ctx.Done():
			log, _ := os.ReadFile(out.Name())
			t.Fatalf("ZooKeeper did not serve within %s:\n%s", startTime, log)
		}
	}
	return addr
}

// ZooKeeperClient is a connection for the test's own writes; it ends with the test.
func ZooKeeperClient(t testing.TB, addr string) *zk.Conn {
	t.Helper()
	c, _ := connect(t, addr)
	return c
}

func connect(t testing.TB, addr string) (*zk.Conn, <-chan zk.Event) {
	t.Helper()
	c, events, err := zk.Connect([]string{addr}, 5*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, events
}
