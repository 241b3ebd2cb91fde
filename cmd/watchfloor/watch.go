package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/watcher/call"
)

const (
	// readPace is the least time between two reads of a connection. An apiserver writes each event by itself, and
	// waking up for each costs more than relaying it.
	readPace   = 20 * time.Millisecond
	readBuffer = 32 << 10
	lineBuffer = 2 << 20 // the largest object is 1.5 MB
)

// apiserver is the server that is watched.
type apiserver struct {
	client *http.Client
	host   string
}

func connect(kubeconfig string) (*apiserver, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	cfg.DisableCompression = true
	cfg.NextProtos = []string{"http/1.1"}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &paced{Conn: c, br: bufio.NewReaderSize(c, readBuffer)}, err
	}
	client, base, err := call.APIServer(cfg)
	if err != nil {
		return nil, err
	}
	return &apiserver{client, strings.TrimSuffix(base.String(), "/")}, nil
}

// paced is a connection that is read in large pieces.
type paced struct {
	net.Conn
	br   *bufio.Reader
	last time.Time
}

func (p *paced) Read(b []byte) (int, error) {
	if p.br.Buffered() > 0 {
		return p.br.Read(b)
	}
	time.Sleep(readPace - time.Since(p.last))
	_, err := p.br.Peek(1) // fills the buffer with what is there
	if p.last = time.Now(); p.br.Buffered() == readBuffer {
		p.last = time.Time{} // there is more
	}
	if err != nil {
		return 0, err
	}
	return p.br.Read(b)
}

// watch relays everything there is of a kind, and then its changes. It returns when the watch ends, which is an error.
func (a *apiserver) watch(ctx context.Context, k kind, each func(*frame) error) error {
	const query = "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.host+k.path+query, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return fmt.Errorf("watch %s: %w", k.name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("watch %s: %s", k.name, resp.Status)
	}
	in := bufio.NewReaderSize(resp.Body, lineBuffer)
	for {
		line, err := in.ReadSlice('\n') // an apiserver ends each event so
		if err != nil {
			return fmt.Errorf("watch %s: %w", k.name, err)
		}
		f := frame{kind: k.name}
		if err := f.parse(line); err != nil {
			return fmt.Errorf("watch %s: %w", k.name, err)
		}
		if f.verb == "ERROR" {
			return fmt.Errorf("watch %s: %s", k.name, f.object.Of(line))
		}
		if f.verb == "BOOKMARK" {
			continue
		}
		if err := each(&f); err != nil {
			return err
		}
	}
}

// frame is one event of a watch. Its strings share memory with the line.
type frame struct {
	line                  []byte
	verb, kind            string
	namespace, name       string
	object, managedFields jsonscan.Range // of the line; managedFields with the comma before them
}

func (f *frame) parse(line []byte) error {
	f.line = line
	s := jsonscan.New(line)
	return s.Object(func(key jsonscan.Str) error {
		switch {
		case key.Is(line, "type"):
			return text(&s, line, &f.verb)
		case key.Is(line, "object"):
			f.object.Start = s.Pos()
			err := s.Object(func(key jsonscan.Str) error {
				if key.Is(line, "metadata") {
					return f.metadata(&s)
				}
				return skip(&s)
			})
			f.object.End = s.Pos()
			return err
		}
		return skip(&s)
	})
}

func (f *frame) metadata(s *jsonscan.Scanner) error {
	before := 0 // end of the member before
	return s.Object(func(key jsonscan.Str) (err error) {
		switch {
		case key.Is(f.line, "name"):
			err = text(s, f.line, &f.name)
		case key.Is(f.line, "namespace"):
			err = text(s, f.line, &f.namespace)
		case key.Is(f.line, "managedFields") && before > 0:
			err = skip(s)
			f.managedFields = jsonscan.Range{Start: before, End: s.Pos()}
		default:
			err = skip(s)
		}
		before = s.Pos()
		return err
	})
}

func skip(s *jsonscan.Scanner) error {
	_, err := s.Value()
	return err
}

func text(s *jsonscan.Scanner, line []byte, to *string) error {
	v, err := s.String()
	*to = v.Text(line)
	return err
}
