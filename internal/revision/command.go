package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// lastLines of a failed command's output are shown.
const lastLines = 20

// endGrace is how long a command may take to end after an interruption.
const endGrace = 5 * time.Second

// git runs git in a folder and returns its output without white space around it.
func git(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	// Files are to be written as they are in the repository, whatever a user's hooks do.
	return run(ctx, dir, env, "git",
		append([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}, args...)...)
}

func run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), endGrace
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("%s is not installed: %w", name, err)
		}
		said := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return "", &commandError{name, err, said[max(0, len(said)-lastLines):]}
	}
	return strings.TrimSpace(out.String()), nil
}
