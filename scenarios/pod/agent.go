package pod

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/watchbench/watchbench/internal/procstat"
)

const (
	// AgentPort is where agents listen in their Pods, below the ports that a kernel gives.
	AgentPort = 8079
	// Silence is how long an agent works on, and a stand-in tries to reach it, while they do not hear of one another.
	Silence = 30 * time.Second
	// grace is how long a party has after SIGTERM: a generator's teardown and a little more.
	grace = 2*time.Minute + 10*time.Second
	// answerWithin bounds answers that wait for something, so that each request shows that somebody is there.
	answerWithin = 5 * time.Second
	// lingering is how long an agent whose container is to end waits for its stand-in to fetch what the party left.
	lingering = 10 * time.Second
	// tailEvery is how soon output is passed on. A party writes into files, as on a machine of its own: nothing that is
	// slow to read delays it.
	tailEvery = 10 * time.Millisecond
	maxBody   = 1 << 20 // of what is not a file
)

// AgentOptions configure an agent.
type AgentOptions struct {
	Listen  string // address; empty: AgentPort of the Pod's loopback
	Dir     string // of the party's output; empty: the folder of the agent's binary
	Silence time.Duration
	Cgroup  string // root of the container's; empty: /sys/fs/cgroup
}

// Agent starts a party in its container and serves what a process on the same machine would have by itself: its
// input and output, signals, files and usage. A request that is repeated has no second effect.
type Agent struct {
	AgentOptions
	end  chan struct{} // closed when the stand-in needs nothing more
	done chan struct{} // closed when the party has ended

	stdinMu sync.Mutex // serialises input; held while the party does not read
	stdinAt int64      // what the party was given

	mu      sync.Mutex // guards what follows
	asked   time.Time
	start   *Start
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	proc    *procstat.Process
	signals int
	ended   End
	dying   bool // the agent was told to end
	last    Usage
}

// Start is the body of POST /start.
type Start struct {
	Argv, Env []string // Env beside the container's
	Dir       string
}

// End is the answer to GET /exit once the party has ended.
type End struct {
	Code     int
	Signal   int   // that ended it
	OOMKills int64 // in the container
	Dying    bool  // the container is being ended, and not by the stand-in
}

// NewAgent prepares an agent.
func NewAgent(o AgentOptions) (*Agent, error) {
	if o.Dir == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the agent's folder: %w", err)
		}
		o.Dir = filepath.Dir(self)
	}
	o.Listen = cmp.Or(o.Listen, net.JoinHostPort("127.0.0.1", strconv.Itoa(AgentPort)))
	o.Silence, o.Cgroup = cmp.Or(o.Silence, Silence), cmp.Or(o.Cgroup, "/sys/fs/cgroup")
	return &Agent{AgentOptions: o, asked: time.Now(), end: make(chan struct{}), done: make(chan struct{})}, nil
}

// Run serves until the party's end was asked for and the agent is told to end, or nobody asks any more. It ends
// the party before it returns. That ctx ends is the container's end.
func (a *Agent) Run(ctx context.Context) error {
	listener, err := net.Listen("tcp", a.Listen)
	if err != nil {
		return fmt.Errorf("listen for the stand-in: %w", err)
	}
	server := &http.Server{Handler: a.handler(), ReadHeaderTimeout: answerWithin}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
	defer serving.Wait()
	defer func() { _ = server.Close() }()

	tick := time.NewTicker(min(time.Second, a.Silence/4))
	defer tick.Stop()
	for !a.silent() && ctx.Err() == nil {
		select {
		case <-a.end:
			a.kill()
			return nil
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	a.mu.Lock()
	a.dying = true
	running := a.cmd != nil
	a.mu.Unlock()
	if !running {
		return nil
	}
	a.terminate()
	if ctx.Err() == nil {
		return nil // nobody is there
	}
	select {
	case <-a.end:
	case <-time.After(lingering):
	}
	return nil
}

func (a *Agent) silent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Since(a.asked) > a.Silence
}

// terminate has the party end within its grace.
func (a *Agent) terminate() {
	a.mu.Lock()
	_ = a.cmd.Process.Signal(syscall.SIGTERM)
	a.mu.Unlock()
	select {
	case <-a.done:
	case <-time.After(grace):
	}
	a.kill()
}

// kill ends the party, if there is one, and whatever it started.
func (a *Agent) kill() {
	a.mu.Lock()
	cmd := a.cmd
	a.mu.Unlock()
	if cmd != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-a.done
	}
}

func (a *Agent) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /files", a.putFile)
	mux.HandleFunc("GET /files", a.getFile)
	mux.HandleFunc("POST /start", a.postStart)
	mux.HandleFunc("POST /stdin", a.postStdin)
	mux.HandleFunc("POST /signal", a.postSignal)
	mux.HandleFunc("GET /output/{name}", a.getOutput)
	mux.HandleFunc("GET /exit", a.getExit)
	mux.HandleFunc("GET /usage", a.getUsage)
	mux.HandleFunc("POST /end", func(http.ResponseWriter, *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		select {
		case <-a.end:
		default:
			close(a.end)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.asked = time.Now()
		a.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

// putFile takes a file; one that breaks off leaves nothing.
func (a *Agent) putFile(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Query().Get("path")
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(filepath.Dir(path), ".part")
	}
	if err == nil {
		_, err = io.Copy(f, r.Body)
		if err = errors.Join(err, f.Close()); err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (a *Agent) getFile(w http.ResponseWriter, r *http.Request) {
	f, err := os.Open(r.URL.Query().Get("path"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream") // not guessed
	http.ServeContent(w, r, "", info.ModTime(), f)             // takes Range
}

func (a *Agent) postStart(w http.ResponseWriter, r *http.Request) {
	var s Start
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&s); err != nil || len(s.Argv) == 0 {
		http.Error(w, fmt.Sprintf("no command: %v", err), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.start != nil && !reflect.DeepEqual(*a.start, s):
		http.Error(w, "another party was started", http.StatusConflict)
	case a.dying:
		http.Error(w, "the container is ending", http.StatusConflict)
	case a.start == nil:
		if err := a.startLocked(s); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		}
	}
}

// startLocked starts the party; the caller holds mu.
func (a *Agent) startLocked(s Start) error {
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for name, to := range map[string]*io.Writer{"stdout": &cmd.Stdout, "stderr": &cmd.Stderr} {
		f, err := os.OpenFile(filepath.Join(a.Dir, name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer f.Close() // the party has its own descriptor
		*to = f
	}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	a.start, a.cmd, a.stdin = &s, cmd, stdin
	a.proc, _ = procstat.Open(cmd.Process.Pid) // without one, its usage is unknown
	go a.wait(cmd)                             // ends with the party; kill waits for it
	return nil
}

// wait takes a last look at a party that has ended and is not reaped yet.
func (a *Agent) wait(cmd *exec.Cmd) {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	a.mu.Lock()
	a.last.process(a.proc)
	a.mu.Unlock()
	_ = cmd.Wait() // the state says more
	var u Usage
	u.container(a.Cgroup)
	a.mu.Lock()
	defer a.mu.Unlock()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		a.last.CPUSeconds = max(a.last.CPUSeconds, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		a.last.RSSBytes, a.last.RSSHighestBytes = 0, float64(r.Maxrss<<10)
	}
	a.ended = End{Code: cmd.ProcessState.ExitCode(), OOMKills: u.OOMKills, Dying: a.dying}
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		a.ended.Signal = int(s.Signal())
	}
	close(a.done)
}

// postStdin takes the party's input from an offset on; without any, its end.
func (a *Agent) postStdin(w http.ResponseWriter, r *http.Request) {
	at, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	body, readErr := io.ReadAll(io.LimitReader(r.Body, maxBody))
	a.mu.Lock()
	stdin := a.stdin
	a.mu.Unlock()
	a.stdinMu.Lock()
	defer a.stdinMu.Unlock()
	switch {
	case err != nil || readErr != nil || stdin == nil || at > a.stdinAt:
		http.Error(w, fmt.Sprintf("input from offset %d: %v", a.stdinAt, errors.Join(err, readErr)), http.StatusBadRequest)
		return
	case len(body) == 0:
		_ = stdin.Close()
	case at+int64(len(body)) > a.stdinAt:
		n, _ := stdin.Write(body[a.stdinAt-at:]) // one that has ended, or closed it, takes no more
		if a.stdinAt += int64(n); n == 0 {
			http.Error(w, "the party takes no input", http.StatusGone)
		}
	}
}

// postSignal sends a signal, the seq-th one.
func (a *Agent) postSignal(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	seq, err := strconv.Atoi(q.Get("seq"))
	n, err2 := strconv.Atoi(q.Get("signal"))
	a.mu.Lock()
	defer a.mu.Unlock()
	if err = errors.Join(err, err2); err != nil || a.cmd == nil {
		http.Error(w, fmt.Sprintf("no party, or no signal: %v", err), http.StatusBadRequest)
		return
	}
	if seq == a.signals+1 {
		a.signals = seq
		_ = a.cmd.Process.Signal(syscall.Signal(n)) // one that has ended needs none
	}
}

// getOutput answers with what the party has written from an offset on, as it comes, and with 204 if there is no more.
func (a *Agent) getOutput(w http.ResponseWriter, r *http.Request) {
	at, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	name := r.PathValue("name")
	if err != nil || name != "stdout" && name != "stderr" {
		http.Error(w, "want /output/stdout?offset=N or stderr", http.StatusBadRequest)
		return
	}
	f, err := os.Open(filepath.Join(a.Dir, name))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer f.Close()
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	tick := time.NewTicker(tailEvery)
	defer tick.Stop()
	wrote := false
	for until := time.Now().Add(answerWithin); ; {
		ended := a.hasEnded() // before the last read
		n, err := io.Copy(w, f)
		if wrote = wrote || n > 0; n > 0 {
			_ = http.NewResponseController(w).Flush()
		}
		if err != nil || time.Now().After(until) {
			return
		}
		if ended {
			if !wrote {
				w.WriteHeader(http.StatusNoContent)
			}
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

func (a *Agent) hasEnded() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// getExit says how the party ended, or after a while 204: it has not.
func (a *Agent) getExit(w http.ResponseWriter, r *http.Request) {
	select {
	case <-a.done:
	case <-r.Context().Done():
		return
	case <-time.After(answerWithin):
		w.WriteHeader(http.StatusNoContent)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	writeJSON(w, a.ended)
}

func (a *Agent) getUsage(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	u := a.last
	if !a.hasEnded() {
		u.process(a.proc)
	}
	a.mu.Unlock()
	u.container(a.Cgroup)
	writeJSON(w, u)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // whoever asked is gone
}
