package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	kindexec "sigs.k8s.io/kind/pkg/exec"

	"github.com/watchbench/watchbench/internal/badinput"
)

const (
	// kindLabel is the container label by which kind finds the nodes of a cluster.
	kindLabel = "io.x-k8s.kind.cluster"
	// dockerTimeout bounds one question to the daemon, not a pull or a deletion.
	dockerTimeout = 20 * time.Second
)

// docker calls Docker's command line client, as kind does: both then see the same daemon, context and credentials.
type docker struct{}

func (d docker) check(ctx context.Context) error {
	const remedy = "see that docker version works for this user, or use the embedded cluster, which needs no Docker"
	asked, cancel := context.WithTimeoutCause(ctx, dockerTimeout, fmt.Errorf("no answer for %s", dockerTimeout))
	defer cancel()
	_, err := d.lines(asked, "version", "--format", "{{.Server.Version}}")
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case asked.Err() != nil:
		err = context.Cause(asked)
	}
	return &badinput.Error{What: "a kind cluster needs Docker", Remedy: remedy, Err: err}
}

// lines runs one command and returns its output. An error carries what the command wrote to its standard error.
func (docker) lines(ctx context.Context, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(stderr.String()); said != "" {
			return nil, fmt.Errorf("docker %s: %s: %w", args[0], lastLine(said), err)
		}
		return nil, fmt.Errorf("docker %s: %w", args[0], err)
	}
	return strings.Fields(stdout.String()), nil
}

func lastLine(s string) string {
	return s[strings.LastIndex(s, "\n")+1:]
}

// removeNodes deletes a kind cluster's containers and volumes, again after an error: kind may be deleting one, too.
func (d docker) removeNodes(ctx context.Context, cluster string) error {
	var failure error
	for range 3 {
		ids, err := d.lines(ctx, "ps", "-a", "-q", "--filter", "label="+kindLabel+"="+cluster)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return nil
		}
		if _, failure = d.lines(ctx, append([]string{"rm", "-f", "-v"}, ids...)...); failure == nil {
			return nil
		}
	}
	return fmt.Errorf("delete the nodes of kind cluster %s: %w", cluster, failure)
}

// kindError adds the end of what a failed command inside kind said.
func kindError(err error) error {
	run := kindexec.RunErrorForError(err)
	if run == nil {
		return err
	}
	said := strings.Split(strings.TrimSpace(string(run.Output)), "\n")
	return fmt.Errorf("%w\n%s", err, strings.Join(said[max(0, len(said)-excerptLines):], "\n"))
}
