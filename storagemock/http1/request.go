package http1

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// MaxHead bounds the request line and headers together.
const MaxHead = 64 << 10

// Request is one request, read completely. Body belongs to the handler, who may
// keep it.
type Request struct {
	Method   string
	Path     string // as sent: not decoded, without the query
	Query    string // as sent, without the question mark
	Body     []byte
	Received time.Time // when its last byte had been read

	head          []byte // header lines, valid until the handler returns
	contentLength int64  // -1 when absent
	chunked       bool
	old           bool // HTTP/1.0
	expect        bool
	closing       bool // the connection ends after the answer
}

// Header returns the first value of a header, "" when absent. It is valid until
// the handler returns.
func (r *Request) Header(name string) string {
	for line := range bytes.SplitSeq(r.head, []byte("\n")) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if ok && len(key) == len(name) && strings.EqualFold(string(key), name) {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// protocolError is an unreadable request; it becomes the answer.
type protocolError struct {
	status int
	text   string
}

func (e *protocolError) Error() string { return e.text }

func bad(text string) error { return &protocolError{400, text} }

// parseHead reads a head that ends with an empty line.
func parseHead(head []byte, r *Request) error {
	line, rest, _ := bytes.Cut(head, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if err := parseRequestLine(line, r); err != nil {
		return err
	}
	r.head, r.contentLength = rest, -1
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			break
		}
		if err := parseHeader(line, r); err != nil {
			return err
		}
	}
	switch {
	case r.chunked && r.contentLength >= 0:
		return bad("both Content-Length and Transfer-Encoding")
	case r.chunked && r.old: // RFC 9112 §6.1: the framing is faulty
		return bad("Transfer-Encoding in HTTP/1.0")
	}
	return nil
}

func parseRequestLine(line []byte, r *Request) error {
	method, rest, ok1 := bytes.Cut(line, []byte(" "))
	target, proto, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok1 || !ok2 || len(method) == 0 || len(target) == 0 {
		return bad("the request line is not METHOD PATH HTTP/1.1")
	}
	for _, c := range method {
		if c < 'A' || c > 'Z' {
			return bad("the method is not in capital letters")
		}
	}
	switch string(proto) {
	case "HTTP/1.1":
	case "HTTP/1.0":
		r.old, r.closing = true, true
	default:
		return &protocolError{505, "only HTTP/1.1 and HTTP/1.0 are spoken here"}
	}
	for _, c := range target {
		if c <= ' ' || c == 0x7f {
			return bad("control character in the path")
		}
	}
	r.Method = methodName(method)
	path := string(target)
	if i := strings.Index(path, "://"); i > 0 && path[0] != '/' { // absolute form, as to a proxy
		j := strings.IndexByte(path[i+3:], '/')
		if j < 0 {
			path = "/"
		} else {
			path = path[i+3+j:]
		}
	}
	if path[0] != '/' {
		return bad("the path does not begin with a slash")
	}
	r.Path, r.Query, _ = strings.Cut(path, "?")
	return nil
}

// methodName spares an allocation for the usual methods.
func methodName(b []byte) string {
	switch string(b) {
	case "GET":
		return "GET"
	case "PUT":
		return "PUT"
	case "DELETE":
		return "DELETE"
	case "POST":
		return "POST"
	}
	return string(b)
}

func parseHeader(line []byte, r *Request) error {
	key, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(key) == 0 || key[0] == ' ' || key[0] == '\t' {
		return bad("a header line without a name")
	}
	value = bytes.TrimSpace(value)
	switch len(key) {
	case len("Content-Length"):
		if bytes.EqualFold(key, []byte("Content-Length")) {
			n, err := strconv.ParseUint(string(value), 10, 62)
			if err != nil || r.contentLength >= 0 && r.contentLength != int64(n) {
				return bad("Content-Length is not one number")
			}
			r.contentLength = int64(n)
		}
	case len("Connection"):
		if bytes.EqualFold(key, []byte("Connection")) {
			for token := range bytes.SplitSeq(value, []byte(",")) {
				switch token = bytes.TrimSpace(token); {
				case bytes.EqualFold(token, []byte("close")):
					r.closing = true
				case bytes.EqualFold(token, []byte("keep-alive")):
					r.closing = false
				}
			}
		}
	case len("Transfer-Encoding"):
		if bytes.EqualFold(key, []byte("Transfer-Encoding")) {
			if !bytes.EqualFold(value, []byte("chunked")) {
				return &protocolError{501, "Transfer-Encoding is not chunked"}
			}
			r.chunked = true
		}
	case len("Expect"):
		if bytes.EqualFold(key, []byte("Expect")) {
			if !bytes.EqualFold(value, []byte("100-continue")) {
				return &protocolError{417, "Expect is not 100-continue"}
			}
			r.expect = true
		}
	}
	return nil
}
