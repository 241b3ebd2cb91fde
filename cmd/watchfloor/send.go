package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/watchbench/watchbench/internal/bcsapi"
)

// sender has connections to storage. A request is taken by whichever is free, so nothing is in order.
type sender struct {
	addr string
	jobs chan []byte // requests; unbuffered, so that a slow storage holds back the watches
	free chan []byte // buffers to use again, one for each connection and each watch
}

func newSender(addr string, connections int) *sender {
	return &sender{addr: addr, jobs: make(chan []byte), free: make(chan []byte, 2*connections)}
}

// send hands one event to a connection, as the request that k8s-watch makes of it.
func (s *sender) send(ctx context.Context, cluster string, f *frame) error {
	var b []byte
	select {
	case b = <-s.free:
	default:
	}
	path := bcsapi.ObjectPath(cluster, f.namespace, f.kind, f.name)
	head := func(method string) {
		b = append(append(append(b[:0], method...), ' '), path...)
		b = append(append(append(b, " HTTP/1.1\r\nHost: "...), s.addr...),
			"\r\nUser-Agent: watchfloor\r\nContent-Type: application/json\r\n"...)
	}
	if f.verb == "DELETED" {
		head("DELETE")
		b = append(b, "\r\n"...)
	} else {
		head("PUT")
		before, after := f.line[f.object.Start:f.object.End], []byte(nil)
		if m := f.managedFields; !m.Empty() {
			before, after = f.line[f.object.Start:m.Start], f.line[m.End:f.object.End]
		}
		const open, end = `{"data":`, `}`
		b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(open)+len(before)+len(after)+len(end)), 10)
		b = append(append(append(append(append(b, "\r\n\r\n"...), open...), before...), after...), end...)
	}
	select {
	case s.jobs <- b:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run sends requests over one connection until ctx ends or storage refuses.
func (s *sender) run(ctx context.Context) error {
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("connect to storage: %w", err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	br := bufio.NewReaderSize(c, 1<<10)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case b := <-s.jobs:
			if _, err := c.Write(b); err != nil {
				return fmt.Errorf("write to storage: %w", err)
			}
			if err := readAnswer(br); err != nil {
				return fmt.Errorf("answer of storage: %w", err)
			}
			select {
			case s.free <- b:
			default:
			}
		}
	}
}

var lengthHeader = []byte("Content-Length: ")

// readAnswer reads one answer to its end; only the status is looked at.
func readAnswer(br *bufio.Reader) error {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("%q", line)
	}
	length := -1
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		if v, ok := bytes.CutPrefix(line, lengthHeader); ok {
			if length, err = strconv.Atoi(string(v)); err != nil {
				return fmt.Errorf("length %q", v)
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("no Content-Length")
	}
	_, err = br.Discard(length)
	return err
}
