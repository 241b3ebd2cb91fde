package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// progressEvery is the time between two progress lines.
	progressEvery = 15 * time.Second
	// tailLines is how much of the compiler's output an error carries.
	tailLines = 20
	// killAfter is the go command's grace period to end its compilers.
	killAfter = 5 * time.Second
)

// build compiles tools into dir, whose lock the caller holds.
func build(ctx context.Context, opts Options, tools []tool, dir string) error {
	var names []string
	for _, t := range tools {
		names = append(names, t.name+" "+t.version())
	}
	b := &builder{opts: opts}
	var err error
	if b.goTool, err = exec.LookPath("go"); err != nil {
		return fmt.Errorf("build %s: %w; install Go, or point KUBEBUILDER_ASSETS at a directory with etcd and "+
			"kube-apiserver", strings.Join(names, ", "), err)
	}
	if b.work, err = os.MkdirTemp(dir, workPrefix); err != nil {
		return fmt.Errorf("create a directory to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(b.work) }()
	opts.say("building %s once; reading the sources", strings.Join(names, ", "))
	for _, t := range tools {
		if err := b.list(ctx, t); err != nil {
			return err
		}
	}
	opts.say("%d packages to compile; an estimate follows in %s", b.forecast.packages, progressEvery)
	for _, t := range tools {
		started := time.Now()
		if err := b.compile(ctx, t); err != nil {
			return err
		}
		if err := install(dir, b.work, t.name, t.stamp()); err != nil {
			return err
		}
		opts.say("built %s %s in %s", t.name, t.version(), time.Since(started).Round(time.Second))
	}
	return nil
}

// builder runs the go command in work, in which each pin has a folder and each binary its name.
type builder struct {
	opts         Options
	goTool, work string
	forecast     forecast
}

// list makes the pinned module of a tool and registers its packages with the forecast. It may have to download modules.
func (b *builder) list(ctx context.Context, t tool) error {
	pin := filepath.Join(b.work, "pin-"+t.pin)
	if err := os.MkdirAll(pin, 0o755); err != nil {
		return fmt.Errorf("make the pinned module of %s: %w", t.name, err)
	}
	mod, sum := t.files()
	for name, data := range map[string][]byte{"go.mod": mod, "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(pin, name), data, 0o644); err != nil {
			return fmt.Errorf("write the pinned module of %s: %w", t.name, err)
		}
	}
	var listed, said bytes.Buffer
	cmd := b.command(ctx, t, "list", "-deps", "-f", listFormat, t.pkg)
	cmd.Stdout, cmd.Stderr = &listed, &said
	err := withProgress(cmd.Run, func(elapsed time.Duration) {
		b.opts.say("reading the sources of %s: %s", t.name, elapsed.Round(time.Second))
	})
	if err != nil {
		return failed(ctx, t, err, said.String())
	}
	b.forecast.add(t.name, listed.String())
	return nil
}

func (b *builder) compile(ctx context.Context, t tool) error {
	out := &compiler{forecast: &b.forecast, tool: t.name}
	cmd := b.command(ctx, t, "build", "-v", "-ldflags", t.ldflags(), "-o", filepath.Join(b.work, t.name), t.pkg)
	cmd.Stdout, cmd.Stderr = out, out
	b.forecast.begin()
	err := withProgress(cmd.Run, func(elapsed time.Duration) {
		b.opts.say("building %s: %s, %s", t.name, elapsed.Round(time.Second), b.forecast.left())
	})
	b.forecast.finish(t.name)
	if err != nil {
		return failed(ctx, t, err, out.output())
	}
	return nil
}

// command is a go command whose process group ends with ctx, so that no compiler outlives an interrupted build.
func (b *builder) command(ctx context.Context, t tool, verb string, args ...string) *exec.Cmd {
	args = append([]string{verb, "-mod=readonly", "-trimpath", "-buildvcs=false"}, args...)
	cmd := exec.CommandContext(ctx, b.goTool, args...)
	cmd.Dir = filepath.Join(b.work, "pin-"+t.pin)
	cmd.Env = buildEnv(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killAfter
	return cmd
}

func failed(ctx context.Context, t tool, err error, output string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("build %s: %w", t.name, context.Cause(ctx))
	}
	return fmt.Errorf("build %s %s: %w\n%s\nThe sources come through the Go module proxy (GOPROXY); "+
		"KUBEBUILDER_ASSETS may point at a directory with ready-made binaries instead",
		t.name, t.version(), err, tail(output))
}

// withProgress calls progress now and then until work has ended.
func withProgress(work func() error, progress func(elapsed time.Duration)) error {
	started := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	done := make(chan error, 1) // one result
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			progress(time.Since(started))
		}
	}
}

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
