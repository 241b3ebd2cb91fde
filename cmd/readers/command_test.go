package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/commandline"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/readlog"
)

// TestBadInput: one line, what would be right, and the code for it; nothing is written.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", `{"collection":"/api/v1/pods","connections":1}`)
	record := filepath.Join(dir, "record")
	for _, c := range []struct{ args, says string }{
		{"", "--config is missing"},
		{"--config x", "--kubeconfig is missing"},
		{"--config x --kubeconfig x", "--record is missing"},
		{"--config " + dir + "/none --kubeconfig x --record " + record, "no such file"},
		{"--config " + write("unknown", `{"gets":1}`) + " --kubeconfig x --record " + record, `unknown field "gets"`},
		{"--config " + write("bad", `{"collection":"/api/v1/pods","connections":1,"get":-1}`) + " --kubeconfig x --record " + record, "get: -1 is not a rate"},
		{"--config " + good + " --kubeconfig x --record " + good, "readers' record"},
		{"surplus", `unexpected argument "surplus"`},
		{"slow-clients", "--address is missing"},
		{"slow-clients --address 127.0.0.1:1", "--ca is missing"},
		{"slow-clients --address 127.0.0.1:1 --ca x", "--for is missing"},
		{"slow-clients --address 127.0.0.1:1 --ca x --for 1s --count 0", "count: 0 is not 1 to 10000"},
	} {
		var out, err bytes.Buffer
		code := commandline.Run(context.Background(), command(strings.NewReader(""), &out, &err), strings.Fields(c.args))
		if text := err.String(); code != commandline.ExitUsage || !strings.Contains(text, c.says) || strings.Count(text, "\n") != 1 || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, want %d and %q", c.args, code, text, commandline.ExitUsage, c.says)
		}
		if _, err := os.Stat(record); err == nil {
			t.Errorf("%s: a record was made", c.args)
		}
	}
}

func files(t *testing.T) (config, kubeconfig, record string) {
	t.Helper()
	s, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put("pods", []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"p"}}`)); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	config, kubeconfig, record = filepath.Join(dir, "config"), filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "record")
	if err := os.WriteFile(config, []byte(`{"collection":"/api/v1/pods","connections":2,"get":100,"watches":2,"webhooks":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := kubeapi.WriteConfig(kubeconfig, kubeapi.ConfigFor("x", &rest.Config{Host: srv.URL})); err != nil {
		t.Fatal(err)
	}
	return config, kubeconfig, record
}

func TestProtocol(t *testing.T) {
	config, kubeconfig, record := files(t)
	in, lines := io.Pipe()
	answers, out := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- commandline.Run(t.Context(), command(in, out, &stderr), strings.Fields("--config "+config+" --kubeconfig "+kubeconfig+" --record "+record))
		_ = out.Close()
	}()
	buf := make([]byte, 1000)
	expect := func(want string) {
		t.Helper()
		if n, err := answers.Read(buf); err != nil || !strings.Contains(string(buf[:n]), want) {
			t.Fatalf("%q, %v, want %s", buf[:n], err, want)
		}
	}
	expect(`"listening","listen":["127.0.0.1:`)
	for _, step := range []struct{ say, want string }{{"connect", `"ready"`}, {"go", ""}, {"stop", `"stopped"`}, {"done", ""}} {
		if _, err := io.WriteString(lines, step.say+"\n"); err != nil {
			t.Fatal(err)
		}
		if step.want != "" {
			expect(step.want)
		}
	}
	if c := <-code; c != 0 {
		t.Fatalf("exit code %d: %s", c, stderr.String())
	}
	_ = lines.Close()
	opened := 0
	for r, err := range readlog.ReadFile(record) {
		if err != nil {
			t.Fatal(err)
		}
		if r.What == readlog.Opened {
			opened++
		}
	}
	if opened != 3 {
		t.Errorf("%d watches were opened, want two and the control", opened)
	}
}

// A line that is out of turn, and the end of standard input, end the program with an error.
func TestOutOfTurn(t *testing.T) {
	config, kubeconfig, record := files(t)
	for in, want := range map[string]string{"go\n": `"go" on standard input, want connect`, "connect\n": "standard input ended"} {
		var out, err bytes.Buffer
		code := commandline.Run(t.Context(), command(strings.NewReader(in), &out, &err), strings.Fields("--config "+config+" --kubeconfig "+kubeconfig+" --record "+record))
		if code != commandline.ExitError || !strings.Contains(err.String(), want) {
			t.Errorf("%q: %d, %s", in, code, err.String())
		}
	}
}

func TestFor(t *testing.T) {
	config, kubeconfig, record := files(t)
	var out, err bytes.Buffer
	if code := commandline.Run(t.Context(), command(nil, &out, &err), strings.Fields("--for 300ms --config "+config+" --kubeconfig "+kubeconfig+" --record "+record)); code != 0 {
		t.Fatalf("%d: %s", code, err.String())
	}
	gets := 0
	for r, err := range readlog.ReadFile(record) {
		if err != nil {
			t.Fatal(err)
		}
		if r.What == readlog.Get && r.Items == 1 {
			gets++
		}
	}
	if gets < 10 {
		t.Errorf("%d GETs in 300 ms at 100/s", gets)
	}
}

// TestSlowClients: how many there were is on standard output.
func TestSlowClients(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, err bytes.Buffer
	args := "slow-clients --count 20 --for 500ms --ca " + ca + " --address " + s.Listener.Addr().String()
	if code := commandline.Run(t.Context(), command(nil, &out, &err), strings.Fields(args)); code != 0 || out.String() != `{"asked":20,"connected":20,"shaken":2,"cut":0}`+"\n" {
		t.Errorf("%d: %s%s", code, out.String(), err.String())
	}
}
