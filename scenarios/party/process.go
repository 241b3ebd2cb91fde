package party

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/pod"
)

// Process is one child: its output goes to a log file, and it is reaped when it ends.
type Process struct {
	Name  string
	title string // of messages
	cmd   *exec.Cmd
	Log   string // path of its log
	stdin io.WriteCloser
	pod   bool              // which a process here stands in for
	agent *http.Client      // asks the Pod's agent
	stat  *procstat.Process // on this machine; nil if it cannot be read

	done chan struct{} // closed after the child ended and was awaited

	terminated, killed atomic.Bool // while it ran

	mu    sync.Mutex // guards what follows
	state *os.ProcessState
	said  map[string]map[string]json.RawMessage // by phase, the fields of all its lines, the later ones over the earlier
	used  time.Duration                         // CPU time of a Pod's process at the last reading
	began time.Time
}

// child describes a process to start.
type child struct {
	name  string // of the log file too
	title string // what messages call it; empty is the name
	argv  []string
	env   []string // beyond watchbench's own
	dir   string
	logs  string // directory of the log file
	stdin bool   // keep a pipe to it
	// says: its standard output is a protocol, lines of JSON with a phase; else it goes to the log as well.
	says bool
	pod  bool // it stands in for a Pod
}

// maxLine bounds one line of a child's protocol.
const maxLine = 1 << 20

// start runs a child in a process group of its own, so that Ctrl-C on the terminal
// reaches only us and we end the children in order.
func start(c child) (*Process, error) {
	logPath := filepath.Join(c.logs, c.name+".log")
	logFile, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("create the log of %s: %w", c.name, err)
	}
	defer logFile.Close() // the child has its own descriptor
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	if len(c.env) > 0 {
		cmd.Env = append(os.Environ(), c.env...)
	}
	cmd.Stderr = logFile
	cmd.Stdout = logFile
	detach(cmd)
	p := &Process{Name: c.name, title: cmp.Or(c.title, c.name), cmd: cmd, Log: logPath, done: make(chan struct{}),
		said: map[string]map[string]json.RawMessage{}, pod: c.pod, began: time.Now()}
	p.agent = p.client()
	if c.stdin {
		if p.stdin, err = cmd.StdinPipe(); err != nil {
			return nil, fmt.Errorf("open a pipe to %s: %w", c.name, err)
		}
	}
	var out io.ReadCloser
	if c.says {
		cmd.Stdout = nil
		if out, err = cmd.StdoutPipe(); err != nil {
			return nil, fmt.Errorf("open a pipe from %s: %w", c.name, err)
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.title, err)
	}
	p.stat, _ = procstat.Open(p.PID()) // unknown elsewhere than on Linux
	go p.wait(out)                     // ends with the child; Stop and Kill wait for it
	return p, nil
}

// wait reads the child's output to its end and then reaps it.
func (p *Process) wait(out io.ReadCloser) {
	defer close(p.done)
	if out != nil {
		sc := bufio.NewScanner(out)
		sc.Buffer(make([]byte, 4096), maxLine)
		for sc.Scan() {
			p.take(sc.Bytes())
		}
		_, _ = io.Copy(io.Discard, out) // after an overlong line: let the child go on
	}
	_ = p.cmd.Wait() // the state says more than the error
	p.mu.Lock()
	p.state = p.cmd.ProcessState
	p.mu.Unlock()
}

// take keeps a line of the protocol; others are not part of it.
func (p *Process) take(line []byte) {
	var of struct{ Phase string }
	if json.Unmarshal(line, &of) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fields := p.said[of.Phase]
	if json.Unmarshal(line, &fields) == nil {
		p.said[of.Phase] = fields
		if p.pod && of.Phase == pod.PhasePod {
			p.began = time.Now()
		}
	}
}

// Began is when the process started; of a Pod, when that was there.
func (p *Process) Began() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.began
}

// hasSaid reports whether the process has said a phase, and fills into, unless it is nil, with what it said.
func (p *Process) hasSaid(phase string, into any) bool {
	p.mu.Lock()
	fields, ok := p.said[phase]
	data, err := json.Marshal(fields)
	p.mu.Unlock()
	return ok && err == nil && (into == nil || json.Unmarshal(data, into) == nil)
}

// begin starts a process with a protocol and returns once it has said a phase, and what.
func begin(ctx context.Context, c child, phase string, limit time.Duration, said any) (*Process, error) {
	c.says = true
	p, err := start(c)
	if err != nil {
		return nil, err
	}
	if err = p.settled(ctx); err == nil {
		err = p.reach(ctx, phase, limit, said)
	}
	if err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// reach waits for a phase; an empty one is the announcement of addresses.
func (p *Process) reach(ctx context.Context, phase string, limit time.Duration, said any) error {
	what := "the phase " + phase + " of the " + p.Name
	if phase == "" {
		what = "the announcement of " + p.Name
	}
	return p.Await(ctx, what, 10*time.Millisecond, limit, func(context.Context) bool { return p.hasSaid(phase, said) })
}

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended reports whether the child is gone.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ExitCode is the child's, -1 after a signal or while it runs.
func (p *Process) ExitCode() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == nil {
		return -1
	}
	return p.state.ExitCode()
}

// Exit is how the child ended, with the panics in its log.
func (p *Process) Exit() (history.Exit, error) {
	e := history.Exit{Process: p.Name, Terminated: p.terminated.Load(), Killed: p.killed.Load(), ExitCode: p.ExitCode()}
	log, err := os.ReadFile(p.Log)
	if err != nil {
		return e, fmt.Errorf("read the log of %s: %w", p.Name, err)
	}
	found := panicLine.FindAll(log, -1)
	if e.Panics = len(found); e.Panics > 0 {
		e.FirstPanic = string(found[0])
	}
	return e, nil
}

// panicLine is how a Go program's log shows that it panicked, whether it ended of it or a library went on.
var panicLine = regexp.MustCompile(
	`(?m)^(?:panic|fatal error): .{0,200}|^.{0,200}(?:Observed a panic|http: panic serving).{0,200}`)

// CPU is the child's CPU time from start to end, known once it has ended; of a Pod until the last reading.
func (p *Process) CPU() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pod {
		return p.used
	}
	if p.state == nil {
		return 0
	}
	return p.state.UserTime() + p.state.SystemTime()
}

// Failure describes a child that ended by itself.
func (p *Process) Failure() error {
	p.mu.Lock()
	how := "still running"
	if p.state != nil {
		how = p.state.String()
	}
	p.mu.Unlock()
	return &ExitError{Name: p.Name, title: p.title, how: how, Last: LastLine(p.Log), log: p.Log}
}

// Signal sends a signal; a child that is gone needs none.
func (p *Process) Signal(s syscall.Signal) {
	if s == syscall.SIGTERM && !p.Ended() {
		p.terminated.Store(true)
	}
	_ = p.cmd.Process.Signal(s)
}

// Stop asks the child to end and kills its group after the grace.
func (p *Process) Stop(grace time.Duration) {
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	p.Signal(syscall.SIGTERM)
	if p.pod {
		grace += podGrace
	}
	if !p.awaitEnd(grace) {
		p.Kill()
	}
}

func (p *Process) awaitEnd(limit time.Duration) bool { return p.ends(context.Background(), limit) }

// ends reports whether the child ends before the context and within the limit.
func (p *Process) ends(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// Kill ends the child and whatever it started, and waits for it.
func (p *Process) Kill() {
	if !p.Ended() {
		p.killed.Store(true)
		if p.pod && p.podEnd() == nil && p.awaitEnd(killGrace) {
			return
		}
	}
	killGroup(p.cmd)
	<-p.done
}

// Tell writes one line to the child's standard input.
func (p *Process) Tell(line string) error {
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		if errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE) {
			<-p.done
			return p.Failure()
		}
		return fmt.Errorf("write to %s: %w", p.Name, err)
	}
	return nil
}

// Await waits for a condition, the end of the child, the context or a limit, asking every so often.
func (p *Process) Await(ctx context.Context, what string, every, limit time.Duration,
	holds func(context.Context) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &TimeoutError{What: what, After: limit, Log: p.Log})
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if p.Ended() {
			return p.Failure()
		}
		if holds(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.done:
		case <-tick.C:
		}
	}
}

// LastLine finds the last line of a log that is not empty, within its last 8 KiB.
func LastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const tail = 8 << 10
	if info, err := f.Stat(); err == nil && info.Size() > tail {
		if _, err := f.Seek(-tail, io.SeekEnd); err != nil {
			return ""
		}
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return string(bytes.TrimSpace(lines[len(lines)-1]))
}

// Done is closed after the child ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Lost prefers the end of the process over the failed request that it caused.
func (p *Process) Lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.awaitEnd(200 * time.Millisecond) {
		return p.Failure()
	}
	return err
}

// WatcherName begins the name of every watcher process.
const WatcherName = "k8s-watch"

// WatcherEnded reports whether an error is a watcher that ended by itself.
func WatcherEnded(err error) bool {
	e, ok := errors.AsType[*ExitError](err)
	return ok && strings.HasPrefix(e.Name, WatcherName)
}

// ExitError is a process that ended when it should not have.
type ExitError struct {
	Name  string // of the process
	title string // what the message calls it
	how   string // how it ended
	Last  string // last line of its log; may be empty
	log   string // where the rest is
}

func (e *ExitError) Error() string {
	s := fmt.Sprintf("%s ended: %s", e.title, e.how)
	if e.Last != "" {
		s += ": " + e.Last
	}
	return s + " (log: " + e.log + ")"
}

// TimeoutError is something that did not happen in its time.
type TimeoutError struct {
	What  string
	After time.Duration
	Log   string // path of the log of the process that was waited for
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s did not happen within %s; a process may hang, or the machine be overloaded (log: %s)",
		e.What, e.After, e.Log)
}
