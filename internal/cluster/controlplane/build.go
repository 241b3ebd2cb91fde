package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// progressEvery is the time between two progress lines of one build.
	progressEvery = 15 * time.Second
	// tailLines is how much of the compiler's output an error carries.
	tailLines = 20
	// killAfter is what the go command gets to end its compilers after it was asked to.
	killAfter = 5 * time.Second
)

// build compiles one tool into dir. The lock must be held.
func build(ctx context.Context, opts Options, t tool, dir string) error {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("build %s %s: %w; install Go, or point KUBEBUILDER_ASSETS at a directory with etcd and "+
			"kube-apiserver",
			t.name, t.version(), err)
	}
	work, err := os.MkdirTemp(dir, workPrefix+t.name+"-")
	if err != nil {
		return fmt.Errorf("create a directory to build %s in: %w", t.name, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	mod, sum := t.files()
	for name, data := range map[string][]byte{"go.mod": mod, "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(work, name), data, 0o644); err != nil {
			return fmt.Errorf("write the pinned module of %s: %w", t.name, err)
		}
	}
	opts.say("building %s %s, once, about %s", t.name, t.version(), t.about)
	started := time.Now()
	out := filepath.Join(work, t.name)
	if err := compile(ctx, opts, t, goTool, work, out); err != nil {
		return err
	}
	// The stamp of an older binary must not vouch for the new one, nor the other
	// way round, whatever is cut off between these steps.
	if err := os.Remove(stampPath(dir, t)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("replace %s: %w", t.name, err)
	}
	if err := os.Rename(out, filepath.Join(dir, t.name)); err != nil {
		return fmt.Errorf("put %s in its place: %w", t.name, err)
	}
	stamp := filepath.Join(work, "stamp")
	if err := os.WriteFile(stamp, []byte(t.stamp()), 0o644); err != nil {
		return fmt.Errorf("write the stamp of %s: %w", t.name, err)
	}
	if err := os.Rename(stamp, stampPath(dir, t)); err != nil {
		return fmt.Errorf("write the stamp of %s: %w", t.name, err)
	}
	opts.say("built %s %s in %s", t.name, t.version(), time.Since(started).Round(time.Second))
	return nil
}

// compile runs the go command. Its process group is ended with ctx, so that no
// compiler outlives an interrupted build.
func compile(ctx context.Context, opts Options, t tool, goTool, work, out string) error {
	cmd := exec.CommandContext(ctx, goTool,
		"build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", t.ldflags(), "-o", out, t.pkg)
	cmd.Dir = work
	cmd.Env = buildEnv(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killAfter
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := runWithProgress(cmd, func(elapsed time.Duration) {
		opts.say("building %s: %s of about %s", t.name, elapsed.Round(time.Second), t.about)
	})
	if ctx.Err() != nil {
		return fmt.Errorf("build %s: %w", t.name, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("build %s %s: %w\n%s\nThe sources come through the Go module proxy (GOPROXY); "+
			"KUBEBUILDER_ASSETS may point at a directory with ready-made binaries instead",
			t.name, t.version(), err, tail(output.String()))
	}
	return nil
}

// runWithProgress runs cmd and calls progress now and then until it has ended.
func runWithProgress(cmd *exec.Cmd, progress func(elapsed time.Duration)) error {
	started := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	done := make(chan error, 1) // one result
	go func() { done <- cmd.Run() }()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			progress(time.Since(started))
		}
	}
}

// tail returns the last lines of the compiler's output.
func tail(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// buildEnv is the caller's environment without what would change the result:
// flags and workspaces meant for the caller's own project, another target, cgo.
func buildEnv(env []string) []string {
	out := make([]string, 0, len(env)+3)
	for _, kv := range env {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "GOFLAGS", "GOWORK", "GOOS", "GOARCH", "CGO_ENABLED", "GO111MODULE", "GOEXPERIMENT":
		default:
			out = append(out, kv)
		}
	}
	return append(out, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
}
