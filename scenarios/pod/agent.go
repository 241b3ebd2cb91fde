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
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/internal/procstat"
)

const (
	// agentPort is where agents listen in their Pods, below the kernel's ephemeral ports.
	agentPort = "8079"
	// Silence is how long agent and stand-in go on without hearing from each other.
	Silence = 30 * time.Second
	// grace is how long a party has after SIGTERM: a generator's teardown and a little more.
	grace = 2*time.Minute + 10*time.Second
	// answerWithin bounds long polls, so that each request shows that somebody is there.
	answerWithin = 5 * time.Second
	// lingering is how long an agent whose container is to end waits for its stand-in to fetch what the party left.
	lingering = 10 * time.Second
	// tailEvery is how soon output is passed on. A party writes to files, so that no slow reader delays it.
	tailEvery = 10 * time.Millisecond
	maxInput  = 1 << 20
	maxStart  = 32 << 20 // with all files
	// endHeader has the party's End once all of a file was read.
	endHeader = "Party-End"
	// Files of the party's output, in its folder.
	stdout, stderr = ".stdout", ".stderr"
)

// Agent starts a party in its container and serves what a process on the same machine would have by itself: its
// input and output, its end, files and usage. A request that is repeated has no second effect.
type Agent struct {
	Listen  string        // address; empty: agentPort of the Pod's loopback
	Silence time.Duration // 0: Silence

	needed context.CancelFunc      // the stand-in needs nothing more
	party  context.Context         // ends when the party is to end: by SIGTERM, and by SIGKILL after grace
	stop   context.CancelCauseFunc // ends it; with errDying unless the stand-in asked for it
	done   chan struct{}           // closed when the party has ended

	input sync.Mutex // guards taken and the party's input; held while the party does not read
	taken int        // parts of the input

	mu    sync.Mutex // guards what follows
	dir   string     // of the party
	cmd   *exec.Cmd
	stdin io.WriteCloser
	proc  *procstat.Process
	ended *End
}

var errDying = errors.New("the container is to end, or nobody asks")

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

// Run serves until the stand-in needs nothing more, the container ends, which is the end of ctx, or nobody asks any
// more. It ends the party before it returns.
func (a *Agent) Run(ctx context.Context) error {
	listener, err := net.Listen("tcp", cmp.Or(a.Listen, "127.0.0.1:"+agentPort))
	if err != nil {
		return fmt.Errorf("listen for the stand-in: %w", err)
	}
	needed, done := context.WithCancel(context.Background())
	defer done()
	asked, silent := context.WithCancel(ctx)
	defer silent()
	a.needed, a.done = done, make(chan struct{})
	a.party, a.stop = context.WithCancelCause(context.Background())
	defer a.kill()
	silence := cmp.Or(a.Silence, Silence)
	server := &http.Server{Handler: a.handler(time.AfterFunc(silence, silent), silence), ReadHeaderTimeout: answerWithin}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
	defer serving.Wait()
	defer func() { _ = server.Close() }()
	select {
	case <-needed.Done():
		return nil
	case <-asked.Done():
	}
	if a.stop(errDying); a.running() {
		if <-a.done; ctx.Err() != nil { // else nobody is there
			select {
			case <-needed.Done():
			case <-time.After(lingering):
			}
		}
	}
	return nil
}

// running reports whether a party was started.
func (a *Agent) running() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cmd != nil
}

// kill ends the party, if there is one.
func (a *Agent) kill() {
	a.stop(nil) // from here on none is started
	if a.running() {
		_ = a.cmd.Process.Kill()
		<-a.done
	}
}

func (a *Agent) handler(alarm *time.Timer, silence time.Duration) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /start", a.postStart)
	mux.HandleFunc("POST /stdin", a.postInput)
	mux.HandleFunc("POST /stop", func(http.ResponseWriter, *http.Request) { a.stop(nil) })
	mux.HandleFunc("GET /file", a.getFile)
	mux.HandleFunc("GET /usage", a.getUsage)
	mux.HandleFunc("POST /end", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		_ = http.NewResponseController(w).Flush() // the connection ends with the agent
		a.needed()
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		alarm.Reset(silence)
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
	if err := a.startLocked(s); err != nil {
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
	if len(s.Argv) == 0 {
		return errors.New("no command")
	}
	for path, data := range s.Files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(a.party, s.Argv[0], s.Argv[1:]...)
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, grace
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

func (a *Agent) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // the state says more
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = &End{Code: cmd.ProcessState.ExitCode(), OOMKills: container(cgroupRoot).OOMKills,
		Dying: errors.Is(context.Cause(a.party), errDying)}
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		a.ended.Signal = int(s.Signal())
	}
	close(a.done)
}

// postInput takes the parts of the party's input, numbered from 1; a repeated one has no effect, and an empty one ends
// the input.
func (a *Agent) postInput(w http.ResponseWriter, r *http.Request) {
	seq, err := strconv.Atoi(r.URL.Query().Get("seq"))
	part, readErr := io.ReadAll(http.MaxBytesReader(w, r.Body, maxInput))
	running := a.running()
	a.input.Lock()
	defer a.input.Unlock()
	switch {
	case readErr != nil:
		http.Error(w, readErr.Error(), unread(readErr))
	case err != nil || !running || seq > a.taken+1:
		http.Error(w, fmt.Sprintf("no party, or not number %d: %v", a.taken+1, err), http.StatusBadRequest)
	case seq == a.taken+1:
		if a.taken = seq; len(part) == 0 {
			_ = a.stdin.Close()
		}
		_, _ = a.stdin.Write(part) // a party that has ended takes no more
	}
}

// getFile streams a file of the party's folder from an offset on, as it grows until the party ends. If there is no
// more, the answer is 204 with the party's End.
func (a *Agent) getFile(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	at, err := strconv.ParseInt(q.Get("offset"), 10, 64)
	var f *os.File
	if err == nil {
		dir, _ := a.state()
		f, err = os.OpenInRoot(dir, q.Get("path"))
	}
	if err == nil {
		defer f.Close()
		_, err = f.Seek(at, io.SeekStart)
	}
	if err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, fs.ErrNotExist) {
			status = http.StatusNotFound
		}
		http.Error(w, err.Error(), status)
		return
	}
	tick := time.NewTicker(tailEvery)
	defer tick.Stop()
	wrote := false
	for until := time.Now().Add(answerWithin); ; {
		_, ended := a.state() // before the last read
		n, err := io.Copy(w, f)
		if wrote = wrote || n > 0; n > 0 {
			_ = http.NewResponseController(w).Flush()
		}
		if ended != nil && !wrote && err == nil {
			text, _ := json.Marshal(ended)
			w.Header().Set(endHeader, string(text))
			w.WriteHeader(http.StatusNoContent)
		}
		if err != nil || ended != nil || time.Now().After(until) {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// state is the party's folder, and how it ended; nil: it has not.
func (a *Agent) state() (dir string, ended *End) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dir, a.ended
}

func (a *Agent) getUsage(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	proc := a.proc
	a.mu.Unlock()
	u := Usage{Time: time.Now().UnixNano(), PodState: container(cgroupRoot)}
	if use, ok := UseOf(proc); ok {
		u.Use = &use
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(u) // whoever asked is gone
}
