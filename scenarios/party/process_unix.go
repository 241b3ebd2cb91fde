//go:build unix && !linux

package party

import (
	"os/exec"
	"syscall"
)

// detach puts a child into a process group of its own. Only Linux can tie a child's life to its parent's.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
