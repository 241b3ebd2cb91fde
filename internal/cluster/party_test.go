package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A process id that has gone to somebody else must not be killed.
func TestForeignProcessIsNoParty(t *testing.T) {
	dir := t.TempDir()
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	for _, content := range []string{strconv.Itoa(sleep.Process.Pid), "1", "0", "-1", "", "x", "999999999"} {
		if err := os.WriteFile(filepath.Join(dir, etcdParty+pidSuffix), []byte(content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if pid := partyPID(dir, etcdParty); pid != 0 {
			t.Errorf("%q: process %d is taken for ours", content, pid)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, etcdParty+pidSuffix), []byte(strconv.Itoa(sleep.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := killParties(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if commandLine(sleep.Process.Pid) == "" {
		t.Error("a foreign process was killed")
	}
}

// The launcher must work from any directory name.
func TestLauncher(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a $(dir)")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "p")
	if err := writeLauncher(dir, "p", "/bin/echo", nil); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, "--help").CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("--help: got %q, %v, want nothing", out, err)
	}
	cmd := exec.Command(path, "--a=1", "--b=two words")
	out, err := cmd.Output()
	if err != nil || string(out) != "--a=1 --b=two words\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if got := partyFlags(dir, "p"); len(got) != 2 || got[1] != "--b=two words" {
		t.Errorf("flags %q", got)
	}
	if err := writeLauncher(dir, "q", "/usr/bin/env", []string{"WB_A=it's", "WB_B=$HOME 2"}); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(dir, "q")).Output(); err != nil || !strings.Contains(string(out), "WB_A=it's\nWB_B=$HOME 2\n") {
		t.Errorf("environment %q, %v", out, err)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "p"+pidSuffix))
	if err != nil || strings.TrimSpace(string(pid)) != strconv.Itoa(cmd.Process.Pid) {
		t.Errorf("process id %q, %v, want %d", pid, err, cmd.Process.Pid)
	}
	if err := os.WriteFile(filepath.Join(dir, stopFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path).Output(); err == nil {
		t.Errorf("started after the stop mark, and said %q", out)
	}
}

func TestLogExcerpt(t *testing.T) {
	usage := strings.Repeat("  --name   what it is for\n", 40)
	for _, tc := range []struct{ name, log, want string }{
		{"complaint before usage", "Error: unknown flag: --x\n" + usage, "Error: unknown flag: --x"},
		{"no complaint", "a\nb\n", "a\nb"},
		{"complaint at the end", "a\nlisten tcp: address already in use\n", "listen tcp: address already in use"},
		{"empty", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(tc.log), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := logExcerpt(path); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if got := logExcerpt("/no/such/log"); got != "" {
		t.Errorf("a missing log gave %q", got)
	}
}
