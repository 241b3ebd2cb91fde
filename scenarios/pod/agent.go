package pod

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
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
	maxInput  = 1 << 20
	maxStart  = 32 << 20 // with all files
	// endHeader has the party's End once all of a file was read.
	endHeader = "Party-End"
	// Files of the party's output, in its folder.
	stdout, stderr = ".stdout", ".stderr"
)

// Agent starts a party in its container and serves what a process on the same machine would have by itself: its
// input and output, signals, files and usage. A request that is repeated has no second effect.
type Agent struct {
	Listen  string        // address; empty: AgentPort of the Pod's loopback
	Silence time.Duration // 0: Silence

	end  context.CancelFunc // the stand-in needs nothing more
	done chan struct{}      // closed when the party has ended

	mu    sync.Mutex // guards what follows
	asked time.Time
	dir   string // of the party
	cmd   *exec.Cmd
	stdin io.WriteCloser
	proc  *procstat.Process
	ended End
	dying bool // the agent was told to end
	last  Usage
}

// Start is the body of POST /start.
type Start struct {
	Argv, Env []string // Env beside the container's
	Dir       string
	Files     map[string][]byte // by path
}

// End is how a party ended.
type End struct {
	Code     int
	Signal   int   // that ended it
	OOMKills int64 // in the container
	Dying    bool  // the container is being ended, and not by the stand-in
}

// Run serves until the party's end was asked for and the agent is told to end, or nobody asks any more. It ends
// the party before it returns. That ctx ends is the container's end.
func (a *Agent) Run(ctx context.Context) error {
	listener, err := net.Listen("tcp", cmp.Or(a.Listen, net.JoinHostPort("127.0.0.1", strconv.Itoa(AgentPort))))
	if err != nil {
		return fmt.Errorf("listen for the stand-in: %w", err)
	}
	needed, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	silence := cmp.Or(a.Silence, Silence)
	a.end, a.done, a.asked = end, make(chan struct{}), time.Now()
	server := &http.Server{Handler: a.handler(), ReadHeaderTimeout: answerWithin}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
	defer serving.Wait()
	defer func() { _ = server.Close() }()

	tick := time.NewTicker(min(time.Second, silence/4))
	defer tick.Stop()
	for silent := time.Duration(0); silent <= silence && ctx.Err() == nil; {
		select {
		case <-needed.Done():
			a.kill()
			return nil
		case <-ctx.Done():
		case <-tick.C:
		}
		a.mu.Lock()
		silent = time.Since(a.asked)
		a.mu.Unlock()
	}
	a.mu.Lock()
	a.dying = true
	cmd := a.cmd
	a.mu.Unlock()
	if cmd == nil {
		return nil
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-a.done:
	case <-time.After(grace):
	}
	a.kill()
	if ctx.Err() != nil { // else nobody is there
		select {
		case <-needed.Done():
		case <-time.After(lingering):
		}
	}
	return nil
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
	mux.HandleFunc("POST /start", a.postStart)
	mux.HandleFunc("POST /stdin", a.inTurn(func(_ url.Values, part []byte) { // a party that has ended takes no more
		if len(part) == 0 {
			_ = a.stdin.Close()
		}
		_, _ = a.stdin.Write(part)
	}))
	mux.HandleFunc("POST /signal", a.inTurn(func(q url.Values, _ []byte) { // one that has ended needs none
		if n, err := strconv.Atoi(q.Get("signal")); err == nil {
			_ = a.cmd.Process.Signal(syscall.Signal(n))
		}
	}))
	mux.HandleFunc("GET /file", a.getFile)
	mux.HandleFunc("GET /usage", a.getUsage)
	mux.HandleFunc("POST /end", func(http.ResponseWriter, *http.Request) { a.end() })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.asked = time.Now()
		a.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

// postStart writes the party's files and starts it.
func (a *Agent) postStart(w http.ResponseWriter, r *http.Request) {
	var s Start
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxStart)).Decode(&s); err != nil {
		http.Error(w, err.Error(), unread(err))
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cmd != nil {
		return // the answer was lost
	}
	err := errors.New("no command, or the container is ending")
	if len(s.Argv) > 0 && !a.dying {
		err = a.startLocked(s)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	}
}

// unread is the status of a body that cannot be read: is it the request's fault, or the connection's?
func unread(err error) int {
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}

// startLocked starts the party; the caller holds mu.
func (a *Agent) startLocked(s Start) error {
	for path, data := range s.Files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			return err
		}
	}
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for name, to := range map[string]*io.Writer{stdout: &cmd.Stdout, stderr: &cmd.Stderr} {
		f, err := os.Create(filepath.Join(s.Dir, name))
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
	a.dir, a.cmd, a.stdin = s.Dir, cmd, stdin
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
	u.container(cgroupRoot)
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

// inTurn handles requests that are numbered from 1 on; one that comes again has no effect.
func (a *Agent) inTurn(do func(query url.Values, body []byte)) http.HandlerFunc {
	var mu sync.Mutex // serialises them; held while the party does not read
	taken := 0
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		seq, err := strconv.Atoi(query.Get("seq"))
		body, readErr := io.ReadAll(http.MaxBytesReader(w, r.Body, maxInput))
		a.mu.Lock()
		running := a.cmd != nil
		a.mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		switch {
		case readErr != nil:
			http.Error(w, readErr.Error(), unread(readErr))
		case err != nil || !running || seq > taken+1:
			http.Error(w, fmt.Sprintf("no party, or not number %d: %v", taken+1, err), http.StatusBadRequest)
		case seq == taken+1:
			taken = seq
			do(query, body)
		}
	}
}

// getFile answers with a file of the party's folder from an offset on, as it grows until the party ends. If there is
// no more, the answer is 204 with the party's End.
func (a *Agent) getFile(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	at, err := strconv.ParseInt(q.Get("offset"), 10, 64)
	a.mu.Lock()
	dir := a.dir
	a.mu.Unlock()
	if err != nil || dir == "" {
		http.Error(w, fmt.Sprintf("no party, or no offset: %v", err), http.StatusBadRequest)
		return
	}
	f, err := os.OpenInRoot(dir, q.Get("path"))
	if errors.Is(err, fs.ErrNotExist) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if err == nil {
		defer f.Close()
		_, err = f.Seek(at, io.SeekStart)
	}
	if err != nil {
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
		if ended && !wrote && err == nil {
			a.mu.Lock()
			text, _ := json.Marshal(a.ended)
			a.mu.Unlock()
			w.Header().Set(endHeader, string(text))
			w.WriteHeader(http.StatusNoContent)
		}
		if err != nil || ended || time.Now().After(until) {
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

func (a *Agent) getUsage(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	u := a.last
	if !a.hasEnded() {
		u.process(a.proc)
	}
	a.mu.Unlock()
	u.container(cgroupRoot)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(u) // whoever asked is gone
}
