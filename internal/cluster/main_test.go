package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// helperEnv makes the test binary act as a program that brings a cluster up, for
// tests about what is left when such a program ends. Its value is JSON options.
const helperEnv = "WATCHBENCH_CLUSTER_TEST_HELPER"

func TestMain(m *testing.M) {
	if opts := os.Getenv(helperEnv); opts != "" {
		os.Exit(helper(opts))
	}
	goleak.VerifyTestMain(m)
}

type helperOptions struct {
	Provider string
	Options  Options
	Stay     bool // block after Up, else exit without Down
}

// helper prints the cluster as one line of JSON.
func helper(encoded string) int {
	var opts helperOptions
	if err := json.Unmarshal([]byte(encoded), &opts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	p, err := New(opts.Provider, opts.Options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	c, err := p.Up(context.Background(), func(line string) { fmt.Fprintln(os.Stderr, line) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(c); err != nil {
		return 1
	}
	if opts.Stay {
		select {}
	}
	return 0
}

// startHelper runs the helper and returns it with the cluster that it reported.
func startHelper(t *testing.T, opts helperOptions) (*exec.Cmd, *Cluster) {
	t.Helper()
	encoded, err := json.Marshal(opts)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), helperEnv+"="+string(encoded))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the helper reported no cluster: %v", err)
	}
	var c Cluster
	if err := json.Unmarshal([]byte(line), &c); err != nil {
		t.Fatal(err)
	}
	return cmd, &c
}

// processesNaming returns the command lines of all processes that mention s.
func processesNaming(t *testing.T, s string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, s) && !strings.Contains(line, "[sh] <defunct>") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// assertNothingLeft checks a temporary directory that only clusters used.
func assertNothingLeft(t *testing.T, temp string) {
	t.Helper()
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("files left in %s: %v, %v", temp, left, err)
	}
	if left := processesNaming(t, filepath.Join(temp, dirPrefix)); len(left) != 0 {
		t.Errorf("processes left:\n%s", strings.Join(left, "\n"))
	}
}

// eventually waits for something that another process does.
func eventually(t *testing.T, within time.Duration, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}
