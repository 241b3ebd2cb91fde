package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	kindexec "sigs.k8s.io/kind/pkg/exec"
	kindlog "sigs.k8s.io/kind/pkg/log"

	"github.com/watchbench/watchbench/internal/badinput"
)

const (
	// kindLabel is the container label by which kind finds the nodes of a cluster.
	kindLabel = "io.x-k8s.kind.cluster"
	// kindNetwork is the Docker network that kind puts all nodes in.
	kindNetwork = "kind"
	// dockerTimeout bounds one question to the daemon, not a pull or a deletion.
	dockerTimeout = 20 * time.Second
)

// docker calls Docker's command line client, as kind does: both then see the same
// daemon, context and credentials.
type docker struct{}

// check distinguishes the ways in which Docker can be unavailable.
func (d docker) check(ctx context.Context) error {
	const remedy = "install and start Docker, or use the embedded cluster, which needs none"
	if _, err := exec.LookPath("docker"); err != nil {
		return &badinput.Error{What: "a kind cluster needs Docker, and there is no docker command", Remedy: remedy, Err: err}
	}
	asked, cancel := context.WithTimeout(ctx, dockerTimeout)
	defer cancel()
	_, err := d.lines(asked, "version", "--format", "{{.Server.Version}}")
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case asked.Err() != nil:
		return &badinput.Error{What: fmt.Sprintf("the Docker daemon has not answered for %s", dockerTimeout),
			Remedy: "see that it works: docker version", Err: asked.Err()}
	case strings.Contains(err.Error(), "permission denied"):
		return &badinput.Error{What: "this user may not talk to the Docker daemon",
			Remedy: "join the group docker, or use the embedded cluster, which needs none", Err: err}
	default:
		return &badinput.Error{What: "a kind cluster needs Docker, and its daemon does not answer", Remedy: remedy, Err: err}
	}
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
	if _, err := d.lines(ctx, "image", "inspect", "--format", "{{.Id}}", image); err == nil {
		return nil
	} else if ctx.Err() != nil {
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

// removeNodes deletes all containers of a kind cluster, with their volumes. It looks
// again after an error, because kind may have been deleting one at the same time.
func (d docker) removeNodes(ctx context.Context, cluster string) error {
	var failure error
	for range 3 {
		ids, err := d.nodes(ctx, cluster)
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

func (d docker) nodes(ctx context.Context, cluster string) ([]string, error) {
	return d.lines(ctx, "ps", "-a", "-q", "--filter", "label="+kindLabel+"="+cluster)
}

// removeNetwork deletes kind's network, unless another cluster has come to use it.
func (d docker) removeNetwork(ctx context.Context) error {
	_, err := d.lines(ctx, "network", "rm", kindNetwork)
	if err != nil && !strings.Contains(err.Error(), "active endpoints") &&
		!strings.Contains(err.Error(), "in use") && !strings.Contains(err.Error(), "not found") &&
		!strings.Contains(err.Error(), "No such network") {
		return fmt.Errorf("delete kind's network: %w", err)
	}
	return nil
}

// parties finds the process ids of etcd and kube-apiserver as this machine sees
// them. With the daemon in a virtual machine it sees none of them: nil.
func (d docker) parties(ctx context.Context, cluster string) map[string]int {
	ctx, cancel := context.WithTimeout(ctx, dockerTimeout)
	defer cancel()
	ids, err := d.nodes(ctx, cluster)
	if err != nil {
		return nil
	}
	var pids map[string]int
	for _, id := range ids {
		fields, err := d.lines(ctx, "top", id, "-eo", "pid,comm")
		if err != nil {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 { // after the heading
			pid, err := strconv.Atoi(fields[i])
			name := fields[i+1]
			if err != nil || (name != etcdParty && name != apiserverParty) || !strings.HasPrefix(commandLine(pid), name+" ") {
				continue
			}
			if pids == nil {
				pids = map[string]int{}
			}
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

// kindLogger turns kind's messages for a terminal into progress lines.
type kindLogger struct {
	say    func(string, ...any)
	silent bool // of information
}

var _ kindlog.Logger = kindLogger{}

func (l kindLogger) Warn(message string)                      { l.say("kind warns: %s", plain(message)) }
func (l kindLogger) Warnf(f string, args ...any)              { l.Warn(fmt.Sprintf(f, args...)) }
func (l kindLogger) Error(message string)                     { l.say("kind: %s", plain(message)) }
func (l kindLogger) Errorf(f string, args ...any)             { l.Error(fmt.Sprintf(f, args...)) }
func (l kindLogger) V(level kindlog.Level) kindlog.InfoLogger { return kindLogger{l.say, level != 0} }
func (l kindLogger) Enabled() bool                            { return !l.silent }
func (l kindLogger) Infof(f string, args ...any)              { l.Info(fmt.Sprintf(f, args...)) }

// Info passes on the beginning of each step. kind marks the end of a step with a
// check mark and repeats its name, which would only double the lines.
func (l kindLogger) Info(message string) {
	if line := plain(message); l.Enabled() && line != "" && !strings.Contains(message, "✓") {
		l.say("kind: %s", line)
	}
}

// plain removes the bullets, dots and pictures that kind decorates lines with.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '≤' || r == '✗':
			return r
		case r > 0x7e || r < ' ' && r != '\n':
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(strings.ReplaceAll(s, "\n", " ")), "..."))
}
