package procstat

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func needProc(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("/proc exists on Linux only")
	}
}

func TestUsageGrowsWithWork(t *testing.T) {
	needProc(t)
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	before, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if before.RSS < 1<<20 || before.Threads < 1 {
		t.Errorf("a Go test has more than 1 MiB and a thread: %+v", before)
	}
	sum := [32]byte{}
	for after := before; after.CPU-before.CPU < 30*time.Millisecond; {
		for range 10_000 {
			sum = sha256.Sum256(sum[:])
		}
		if after, err = p.Usage(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMain is also the process that TestHighestMemory looks at: it holds much memory for a
// moment, gives it back, says so, and waits to be killed.
func TestMain(m *testing.M) {
	if os.Getenv("PROCSTAT_SWELL") == "" {
		os.Exit(m.Run())
	}
	swollen := make([]byte, swell)
	for i := 0; i < len(swollen); i += os.Getpagesize() {
		swollen[i] = 1
	}
	runtime.KeepAlive(swollen)
	debug.FreeOSMemory() // it is of no more use from here on
	fmt.Println("freed")
	select {}
}

const swell = 96 << 20

// TestHighestMemory: what was given back before anybody looked is still known.
func TestHighestMemory(t *testing.T) {
	needProc(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCSTAT_SWELL=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "freed\n" {
		t.Fatalf("%q, %v", line, err)
	}
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	u, err := p.Usage()
	if err != nil || u.RSS > swell/2 || u.RSSHighest < swell || u.RSSHighest > 2*swell {
		t.Errorf("now %d MiB, highest %d MiB of %d: %v", u.RSS>>20, u.RSSHighest>>20, swell>>20, err)
	}
}

func TestUsageCountsSocketBytes(t *testing.T) {
	needProc(t)
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	before, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if before.Read < 0 {
		t.Skip("the kernel does not tell this process's I/O")
	}
	const size = 1 << 20
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	done := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, size))
		done <- err
	}()
	buf := make([]byte, 64<<10)
	for n := 0; n < size; {
		m, err := s.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		n += m
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	after, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if r, w := after.Read-before.Read, after.Written-before.Written; r < size || w < size {
		t.Errorf("read %d, written %d; both should be at least %d", r, w, size)
	}
}

func TestGoneProcess(t *testing.T) {
	needProc(t)
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip("no sleep command:", err)
	}
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if u, err := p.Usage(); err == nil {
		t.Errorf("a process that is gone still has usage %+v", u)
	}
	if _, err := Open(cmd.Process.Pid); err == nil {
		t.Error("a process that is gone was opened")
	}
}

func TestMachine(t *testing.T) {
	needProc(t)
	m := Describe()
	if m.CPUs < 1 || m.MemoryMiB < 16 || m.Kernel == "" {
		t.Errorf("incomplete: %+v", m)
	}
	if l, err := LoadAverage(); err != nil || len(l) != 3 {
		t.Errorf("load average %v: %v", l, err)
	}
	c, err := ReadCPUTime()
	if err != nil || c.Total < c.Busy || c.Busy <= 0 {
		t.Errorf("CPU time %+v: %v", c, err)
	}
}

// Files that the kernel keeps because there is room are no use of it.
func TestGroupRoom(t *testing.T) {
	for _, tc := range []struct {
		name                 string
		limit, current, stat string
		want                 float64
		limited              bool
	}{
		{"no limit", "max\n", "500\n", "inactive_file 100\n", 0, false},
		{"files", "1000\n", "900\n", "anon 500\nfile 400\nactive_file 100\ninactive_file 300\n", 400, true},
		{"no files", "1000\n", "900\n", "", 100, true},
		{"over the limit", "1000\n", "1200\n", "inactive_file 100\n", 0, true},
		{"read at different times", "1000\n", "100\n", "inactive_file 200\n", 1000, true},
		{"no group", "", "", "", 0, false},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"memory.max": tc.limit, "memory.current": tc.current, "memory.stat": tc.stat} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, limited := groupRoom(dir); got != tc.want || limited != tc.limited {
			t.Errorf("%s: %v, %v", tc.name, got, limited)
		}
	}
}

func TestStealPercent(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before, after CPUTime
		want          float64
	}{
		{"none", CPUTime{Total: 10}, CPUTime{Total: 20}, 0},
		{"a tenth", CPUTime{Total: 10, Steal: 1}, CPUTime{Total: 20, Steal: 2}, 10},
		{"no time passed", CPUTime{Total: 10, Steal: 1}, CPUTime{Total: 10, Steal: 1}, 0},
	} {
		if got := tc.after.Since(tc.before).StealPercent(); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
