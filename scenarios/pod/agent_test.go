package pod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/watchbench/watchbench/scenarios/history"
)

// agentProcess is an agent of its own on loopback.
type agentProcess struct {
	*agentClient
	cmd  *exec.Cmd
	addr string
	dir  string
}

func startAgent(t *testing.T, silence string) *agentProcess {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &agentProcess{addr: l.Addr().String(), dir: t.TempDir()}
	_ = l.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(self, p.addr, silence)
	p.cmd.Env = append(os.Environ(), actAs+"=agent")
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	p.agentClient = newAgentClient(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", p.addr)
	})
	t.Cleanup(p.close)
	return p
}

// play starts the test binary in a role as the agent's party.
func (p *agentProcess) play(t *testing.T, c *agentClient, role string, args ...string) {
	t.Helper()
	self, err := os.Executable()
	if err == nil {
		err = c.start(t.Context(), Start{Argv: append([]string{self}, args...), Env: []string{actAs + "=" + role}, Dir: p.dir,
			Files: map[string][]byte{filepath.Join(p.dir, "deep", "config\n"): config()}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func config() []byte { return bytes.Repeat([]byte("config"), 1000) }

// ended waits for the party's end.
func (p *agentProcess) ended(t *testing.T) End {
	t.Helper()
	end, err := p.output(t.Context(), stdout, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// breaking dials through connections that break after a random number of bytes, in either direction.
func breaking(t *testing.T, addr string, most int64) (dial func(context.Context, string, string) (net.Conn, error), broken func() int) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex // guards random and n
	n := 0
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			mu.Lock()
			defer mu.Unlock()
			return &breaks{Conn: conn, left: random.Int64N(most), broke: func() {
				mu.Lock()
				defer mu.Unlock()
				n++
			}}, err
		}, func() int {
			mu.Lock()
			defer mu.Unlock()
			return n
		}
}

type breaks struct {
	net.Conn
	mu    sync.Mutex // guards left
	left  int64
	broke func()
}

func (b *breaks) pass(n int) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left -= int64(n); b.left < 0 {
		_ = b.Close()
		b.broke()
		return 0, io.ErrUnexpectedEOF // what came last is lost
	}
	return n, nil
}

func (b *breaks) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if err != nil {
		return n, err
	}
	return b.pass(n)
}

// Write delivers what breaks the connection: a request that took effect, and whose answer is lost.
func (b *breaks) Write(p []byte) (int, error) {
	n, err := b.Conn.Write(p)
	if err != nil {
		return n, err
	}
	return b.pass(n)
}

// Input, output, files and the exit code are whole, and nothing is double, over connections that break all the time.
func TestBrokenConnections(t *testing.T) {
	p := startAgent(t, "1m")
	dial, broken := breaking(t, p.addr, 150_000)
	c := newAgentClient(dial)
	t.Cleanup(c.close)
	ctx := t.Context()
	p.play(t, c, "chatters", filepath.Join(p.dir, "result"))
	var said, want [2]bytes.Buffer
	var in strings.Builder
	for i := range 300 {
		fmt.Fprintf(&in, "line %d\n", i)
		fmt.Fprintf(&want[0], "in line %d\n", i)
	}
	for i := range chatter {
		fmt.Fprintf(&want[0], "out %d\n", i)
		fmt.Fprintf(&want[1], "err %d\n", i)
	}
	fed := make(chan error, 1)
	go func() { fed <- c.feed(ctx, byLine(in.String())) }()
	var outputs sync.WaitGroup
	for i, name := range []string{stdout, stderr} {
		outputs.Go(func() {
			if end, err := c.output(ctx, name, &said[i]); err != nil || end != (End{Code: 7, OOMKills: end.OOMKills}) {
				t.Errorf("%s: end %+v: %v", name, end, err)
			}
		})
	}
	outputs.Wait()
	if err := <-fed; err != nil {
		t.Error(err)
	}
	for i := range said {
		if !bytes.Equal(said[i].Bytes(), want[i].Bytes()) {
			t.Errorf("output %d: %d bytes, want %d", i, said[i].Len(), want[i].Len())
		}
	}
	here := t.TempDir() + "/fetched"
	for name, want := range map[string][]byte{"result": leftBehind(), "deep/config\n": config(), "nothing": nil} {
		_ = os.Remove(here)
		if err := c.fetch(ctx, name, here); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(here); !bytes.Equal(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%d bytes of %q, want %d: %v", len(got), name, len(want), err)
		}
	}
	if n := broken(); n < 15 {
		t.Errorf("only %d connections broke: nothing was tried", n)
	}
	if err := p.post(ctx, "/end", nil, nil); err != nil {
		t.Error(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// byLine returns a line with each read, as a parent writes them.
func byLine(text string) io.Reader { return &lines{strings.SplitAfter(text, "\n")} }

type lines struct{ left []string }

func (l *lines) Read(p []byte) (int, error) {
	if len(l.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, l.left[0])
	l.left = l.left[1:]
	return n, nil
}

// That the party is to end, said again as its answer was lost, is one signal: a second one would end its clean-up.
func TestSignalArrivesOnce(t *testing.T) {
	p := startAgent(t, "1m")
	note := filepath.Join(p.dir, "note")
	p.play(t, p.agentClient, "obeys", note, "2")
	await(t, p, "ready\n")
	for range 3 {
		if err := p.post(t.Context(), "/stop", nil, nil); err != nil {
			t.Fatal(err)
		}
		await(t, p, "ready\nterminated\n") // the kernel merges those that are not taken yet
	}
	if err := p.pass(t.Context(), 1, nil); err != nil { // closes it
		t.Fatal(err)
	}
	if end := p.ended(t); end.Code != 3 || end.Dying {
		t.Errorf("%+v", end)
	}
	if got, err := os.ReadFile(note); err != nil || string(got) != "t" {
		t.Errorf("it had the signals %q: %v", got, err)
	}
}

// Input that is sent again, as its answer was lost, arrives once.
func TestInputArrivesOnce(t *testing.T) {
	p := startAgent(t, "1m")
	p.play(t, p.agentClient, "chatters", filepath.Join(p.dir, "result"))
	for seq, part := range []string{"a\n", "b\n", ""} { // the last one closes it
		for range 3 {
			if err := p.pass(t.Context(), seq+1, []byte(part)); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.ended(t)
	if said, err := os.ReadFile(filepath.Join(p.dir, stdout)); err != nil || !bytes.HasPrefix(said, []byte("in a\nin b\nout 0\n")) {
		t.Errorf("%.40q: %v", said, err)
	}
}

// await waits until the party has written exactly this.
func await(t *testing.T, p *agentProcess, want string) {
	t.Helper()
	var got []byte
	for range 6000 {
		if got, _ = os.ReadFile(filepath.Join(p.dir, stdout)); string(got) == want {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("it wrote %q, want %q", got, want)
}

// An agent that nobody asks ends its party, and itself.
func TestSilence(t *testing.T) {
	p := startAgent(t, "2s")
	note := filepath.Join(p.dir, "note")
	p.play(t, p.agentClient, "obeys", note, "1")
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(note); err != nil || string(got) != "t" {
		t.Errorf("its party had the signals %q: %v", got, err)
	}
}

// Of a container that is ended the stand-in still learns all, and that it was not the party that wanted it.
func TestContainerEnds(t *testing.T) {
	p := startAgent(t, "1m")
	p.play(t, p.agentClient, "obeys", filepath.Join(p.dir, "note"), "1")
	await(t, p, "ready\n")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	end, err := p.output(t.Context(), stdout, &said)
	err = errors.Join(err, p.post(t.Context(), "/end", nil, nil))
	if err != nil || !end.Dying || end.Code != 0 || said.String() != "ready\nterminated\n" {
		t.Errorf("%+v, said %q: %v", end, said.String(), err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// The use is the party's while it runs, and unknown before and after, not 0.
func TestUsage(t *testing.T) {
	p := startAgent(t, "1m")
	usage := func() Usage {
		t.Helper()
		u, err := Ask(t.Context(), p.http)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	before := time.Now()
	_, err := p.output(t.Context(), stdout, io.Discard) // asks until the agent listens
	if r, ok := errors.AsType[*refusedError](err); !ok || r.status != http.StatusNotFound {
		t.Fatal(err)
	}
	if u := usage(); u.Use != nil {
		t.Errorf("before its start: %+v", u.Use)
	}
	p.play(t, p.agentClient, "burns", filepath.Join(p.dir, "note"))
	await(t, p, "burnt\n")
	u := usage()
	if u.Use == nil {
		t.Fatalf("%+v", u)
	}
	if use := u.Use; use.CPUSeconds <= 0.02 || use.CPUSeconds > time.Since(before).Seconds()*16 || use.RSSBytes < 1<<20 ||
		use.RSSHighestBytes < use.RSSBytes || use.Read <= 0 || use.Written < 0 {
		t.Errorf("%+v", use)
	}
	if at := time.Unix(0, u.Time); at.Before(before) || at.After(time.Now()) {
		t.Errorf("at %s", at)
	}
	if err := p.pass(t.Context(), 1, nil); err != nil { // ends it
		t.Fatal(err)
	}
	p.ended(t)
	if u := usage(); u.Use != nil {
		t.Errorf("after its end: %+v", u.Use)
	}
}

// Requests that cannot be right are refused, with what is wrong.
func TestAgentRefuses(t *testing.T) {
	p := startAgent(t, "1m")
	ctx := t.Context()
	refused := func(what string, err error, status int) {
		t.Helper()
		if r, ok := errors.AsType[*refusedError](err); !ok || r.status != status {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("no such program", p.start(ctx, Start{Argv: []string{"/no/such"}}), http.StatusUnprocessableEntity)
	refused("no party", p.pass(ctx, 1, nil), http.StatusBadRequest)
	p.play(t, p.agentClient, "obeys", filepath.Join(p.dir, "note"), "1")
	p.play(t, p.agentClient, "obeys", filepath.Join(p.dir, "note"), "1") // the same once more
	refused("a gap", p.pass(ctx, 5, []byte("x")), http.StatusBadRequest)
	refused("too much", p.pass(ctx, 1, make([]byte, maxInput+1)), http.StatusRequestEntityTooLarge)
	for _, path := range []string{"/etc/passwd", "../x", "link"} { // the token of a ServiceAccount, say
		if path == "link" {
			if err := os.Symlink("/etc/passwd", filepath.Join(p.dir, path)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := p.output(ctx, path, io.Discard)
		refused(path, err, http.StatusBadRequest)
	}
}

func TestControlGroups(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"version 2": {
			"cpu.stat":      "usage_usec 2500000\nuser_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 1500000\n",
			"memory.events": "low 0\noom 3\noom_kill 2\n",
		},
		"version 1": {
			"cpu/cpu.stat":              "nr_periods 9\nnr_throttled 4\nthrottled_time 1500000000\n",
			"memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
		},
		"none": {},
	} {
		root := t.TempDir()
		for file, text := range files {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o700), os.WriteFile(filepath.Join(root, file), []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		u, want := container(root), history.PodState{Throttled: 4, ThrottledSeconds: 1.5, OOMKills: 2}
		if len(files) == 0 {
			want = history.PodState{Throttled: -1, ThrottledSeconds: -1, OOMKills: -1}
		}
		want.Received, want.Sent = u.Received, u.Sent
		if u != want {
			t.Errorf("%s: %+v, want %+v", name, u, want)
		}
	}
}
