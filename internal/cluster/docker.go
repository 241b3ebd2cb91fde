package cluster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strconv"
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

// docker calls Docker's command line client, as kind does: both then see the same
// daemon, context and credentials.
type docker struct{}

// check says how Docker is unavailable.
func (d docker) check(ctx context.Context) error {
	const remedy = "see that docker version works for this user, or use the embedded cluster, which needs no Docker"
	asked, cancel := context.WithTimeoutCause(ctx, dockerTimeout, fmt.Errorf("no answer for %s", dockerTimeout))
	defer cancel()
	_, err := d.lines(asked, "version", "--format", "{{.Server.Version}}")
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &badinput.Error{What: "a kind cluster needs Docker", Remedy: remedy, Err: cmp.Or(context.Cause(asked), err)}
}

// lines runs one command and returns its output. An error carries what the command
// wrote to its standard error.
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

// ensureImage pulls a node image that is not there. kind would do so too, but five
// times, silently, and without an end when the run is interrupted.
func (d docker) ensureImage(ctx context.Context, image string, say func(string, ...any)) error {
	_, err := d.lines(ctx, "image", "inspect", "--format", "{{.Id}}", image)
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	say("pulling %s", image)
	if _, err := d.lines(ctx, "pull", "--quiet", image); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("pull %s: %w", image, context.Cause(ctx))
		}
		return &badinput.Error{
			What:   fmt.Sprintf("the kind node image %s is not here and cannot be pulled", image),
			Remedy: "name one that is there with --kind-image, or load or build it first", Err: err,
		}
	}
	return nil
}

// haveImages refuses images that are not there: they are built here, and pulled from nowhere.
func (d docker) haveImages(ctx context.Context, images []string) error {
	if len(images) == 0 {
		return nil
	}
	_, err := d.lines(ctx, append([]string{"image", "inspect", "--format", "{{.Id}}"}, images...)...)
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &badinput.Error{What: "Docker lacks an image", Err: err,
		Remedy: "build the images with make image, or name where they are with --image-registry"}
}

// removeNodes deletes all containers of a kind cluster, with their volumes. It looks
// again after an error, because kind may have been deleting one at the same time.
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

// parties finds the process ids of etcd and kube-apiserver as this machine sees
// them. With the daemon in a virtual machine it sees none of them.
func (d docker) parties(ctx context.Context, cluster string) map[string]int {
	ctx, cancel := context.WithTimeout(ctx, dockerTimeout)
	defer cancel()
	fields, err := d.lines(ctx, "top", cluster+"-control-plane", "-eo", "pid,comm")
	if err != nil {
		return nil
	}
	pids := map[string]int{}
	for i := 2; i+1 < len(fields); i += 2 { // after the heading
		pid, err := strconv.Atoi(fields[i])
		name := fields[i+1]
		if err == nil && (name == etcdParty || name == apiserverParty) && strings.HasPrefix(commandLine(pid), name+" ") {
			pids[name] = pid
		}
	}
	return pids
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
