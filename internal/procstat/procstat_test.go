package procstat

import (
	"crypto/sha256"
	"net"
	"os"
	"os/exec"
	"runtime"
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
