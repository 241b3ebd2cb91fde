package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/watchbench/watchbench/storagemock/behavior"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/storagemock/store"
)

// asProgram makes the test binary the program itself.
const asProgram = "STORAGEMOCK_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestBadInput(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	dir := t.TempDir()
	both, linked, snapshot := filepath.Join(dir, "both"), filepath.Join(dir, "linked"), filepath.Join(dir, "snapshot")
	if err := os.Symlink("both", linked); err != nil {
		t.Fatal(err)
	}
	if err := save(snapshot, store.New(store.Faithful, 1).Save); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--latency", "fast"}, 2, `latency "fast", column 1: fast: not a duration`},
		{[]string{"--latency", "lognormal(mean=87ms,p99=10s)"}, 2, "no lognormal has a p99 of more than 15.0 times its mean"},
		{[]string{"--capacity", "inflight=none"}, 2, `capacity "inflight=none": inflight=none: want a whole number of at least 1`},
		{[]string{"--faults", "503:1%,explode:2%"}, 2, "unknown fault explode"},
		{[]string{"--mode", "strict"}, 2, "want faithful or conditional"},
		{[]string{"--listen", "0.0.0.0:80"}, 2, "--allow-remote"},
		{[]string{"--admin", "10.0.0.1:80"}, 2, "--allow-remote"},
		{[]string{"--pprof"}, 2, "give --admin as well"},
		{[]string{"--log-level", "loud"}, 2, "debug, info, warn or error"},
		{[]string{"--colour"}, 2, "unknown flag: --colour"},
		{[]string{"--instances", "many"}, 2, `--instances: "many" is not a whole number`},
		{[]string{"serve"}, 2, `unexpected argument "serve"`},
		{[]string{"--latency", "fast", "--mode", "strict"}, 2, "; mode"},
		{[]string{"--listen", busy.Addr().String()}, 1, "address already in use: choose another address with --listen"},
		{[]string{"--admin", busy.Addr().String()}, 1, "address already in use: choose another address with --admin"},
		{[]string{"--latency", "lognormal(87ms,110ms)"}, 2, "by name: write lognormal(p50=60ms,p99=400ms) or lognormal(mean=87ms,p99=110ms)"},
		{[]string{"--save-ledger", "/nope/x"}, 2, "save-ledger: open /nope/x: no such file or directory"},
		{[]string{"--save-snapshot", t.TempDir()}, 2, "save-snapshot: open "},
		{[]string{"--save-ledger", both, "--save-snapshot", both}, 2, "save-snapshot: " + both + " is the file of save-ledger, too; name another one"},
		{[]string{"--save-ledger", both, "--save-snapshot", linked}, 2, "is the file of save-ledger, too"},
		{[]string{"--save-ledger", "run.go"}, 2, "save-ledger: run.go is there and is no ledger, so it is not overwritten"},
		{[]string{"--save-ledger", snapshot, "--load-snapshot", snapshot}, 2, "is no ledger"},
		{[]string{"--save-snapshot", "run.go"}, 2, "is no snapshot"},
		{[]string{"--load-snapshot", "/nonexistent"}, 1, "no such file"},
		{[]string{"--load-snapshot", "run.go"}, 1, "load-snapshot: run.go"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(tc.args, &stdout, &stderr)
		if code != tc.code || !strings.Contains(stderr.String(), tc.want) || stdout.Len() > 0 {
			t.Errorf("%q: exit %d, %q, want %d and %q", tc.args, code, stderr.String(), tc.code, tc.want)
		}
		if strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: not one line: %q", tc.args, stderr.String())
		}
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--help"}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "--latency") {
		t.Errorf("exit %d, %s", code, stdout.String())
	}
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	ledgerFile, snapshot := filepath.Join(dir, "ledger.zst"), filepath.Join(dir, "snapshot.zst")
	begin := func(args ...string) (cmd *exec.Cmd, a announcement) {
		cmd = exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		cmd.Stderr = t.Output()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &a)
		}
		if err != nil {
			t.Fatalf("announcement %q: %v", line, err)
		}
		return cmd, a
	}
	end := func(cmd *exec.Cmd) {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("after SIGTERM: %v", err)
		}
	}
	do := func(method, url, body string) string {
		t.Helper()
		req, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	const path = "/bcsstorage/v1/k8s/dynamic/cluster_resources/clusters/C/Node/n1"

	cmd, a := begin("--admin", "127.0.0.1:0", "--instances", "2", "--save-ledger", ledgerFile, "--save-snapshot", snapshot, "--pprof", "--latency", "method=GET: 5ms; lognormal(p50=6ms,p99=40ms)")
	if len(a.Listen) != 2 || a.Admin == "" {
		t.Fatalf("announced %+v", a)
	}
	do("PUT", "http://"+a.Listen[0]+path, `{"data":{"metadata":{"uid":"u1"}}}`)
	if got := do("GET", "http://"+a.Listen[1]+path, ""); !strings.Contains(got, `"uid":"u1"`) {
		t.Errorf("the second instance says %s", got)
	}
	if got := do("GET", "http://"+a.Admin+"/debug/pprof/cmdline", ""); !strings.Contains(got, "--pprof") {
		t.Errorf("pprof says %q", got)
	}
	end(cmd)
	r, err := ledger.Open(ledgerFile)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.All() {
		if err != nil || e.UID != "u1" || !e.Acked() {
			t.Errorf("saved ledger: %+v, %v", e, err)
		}
	}

	// Both files are there now, and one of them goes on.
	cmd, a = begin("--load-snapshot", snapshot, "--save-snapshot", snapshot, "--save-ledger", ledgerFile)
	if got := do("GET", "http://"+a.Listen[0]+path, ""); !strings.Contains(got, `"uid":"u1"`) || a.Admin != "" {
		t.Errorf("after loading: %s, %+v", got, a)
	}
	end(cmd)
}

// TestHelpNamesFaults: every effect that there is.
func TestHelpNamesFaults(t *testing.T) {
	usage := command(io.Discard, io.Discard).Flags().Lookup("faults").Usage
	for _, effect := range behavior.Effects {
		if !strings.Contains(usage, effect) {
			t.Errorf("%q lacks %s", usage, effect)
		}
	}
	if _, err := behavior.ParseFaults("interim(103)"); err != nil || !strings.Contains(usage, "interim") {
		t.Errorf("%q, %v", usage, err)
	}
}
