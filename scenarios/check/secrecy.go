package check

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/scenarios/history"
)

// secrecy judges G13 over the cell's folder.
func (j *judge) secrecy(ctx context.Context) error {
	t := j.tally["G13"]
	switch {
	case len(j.h.Canaries) == 0:
		t.note("no canaries were planted")
		return nil
	case j.h.Dir == "":
		t.note("no files were captured")
		return nil
	}
	s, err := SearchCanaries(ctx, j.h.Dir, j.h.Canaries)
	if err != nil {
		return err
	}
	t.judged = s.Bytes
	for _, l := range s.Leaks {
		t.fail(l.String)
	}
	t.note("%d files searched", s.Files)
	return nil
}

// Leak is one file that holds a canary.
type Leak struct {
	File   string // relative to the searched folder
	Offset int64  // in the uncompressed bytes
	Canary int    // its index; the value itself is not repeated
	Form   string // plain, base64, …
}

func (l Leak) String() string {
	return fmt.Sprintf("%s holds canary %d (%s) at byte %d", l.File, l.Canary, l.Form, l.Offset)
}

// CanarySearch is the result of SearchCanaries; at most one leak per file.
type CanarySearch struct {
	Files int
	Bytes int64
	Leaks []Leak
}

// minCanary keeps a canary from being found by accident.
const minCanary = 8

// SearchCanaries looks for the canaries in every file below dir, compressed
// files (.zst, .gz) uncompressed, in plain form and as JSON, URL, hex and base64 would
// write them. history.json, which lists them, is left out.
func SearchCanaries(ctx context.Context, dir string, canaries []string) (*CanarySearch, error) {
	needles, err := needlesOf(canaries)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("searching for canaries: %w", err)
	}
	defer func() { _ = root.Close() }() // only read from
	out := &CanarySearch{}
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		// what is computed is not searched
		case !d.Type().IsRegular() || filepath.Base(path) == history.FileMeta || path == history.FileFindings:
			return nil
		}
		f, err := root.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read from
		out.Files++
		leak, n, err := searchFile(path, f, needles)
		out.Bytes += n
		if err != nil {
			return &history.FormatError{File: path, Err: err}
		}
		if leak != nil {
			out.Leaks = append(out.Leaks, *leak)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("searching for canaries: %w", err)
	}
	return out, nil
}

type needle struct {
	canary int
	form   string
	text   []byte
}

func needlesOf(canaries []string) ([]needle, error) {
	var all []needle
	for i, c := range canaries {
		if len(c) < minCanary {
			return nil, fmt.Errorf("canary %d has %d bytes: want at least %d, so that it is not found by accident", i, len(c),
				minCanary)
		}
		add := func(form, text string) {
			for _, n := range all {
				if n.canary == i && string(n.text) == text {
					return
				}
			}
			all = append(all, needle{i, form, []byte(text)})
		}
		add("plain", c)
		if q, err := json.Marshal(c); err == nil {
			add("JSON", strings.Trim(string(q), `"`))
		}
		add("URL", url.QueryEscape(c))
		add("hex", hex.EncodeToString([]byte(c)))
		// A canary inside a longer base64 text starts at one of three alignments; the
		// characters shared with what stands around it are cut off.
		for shift := range 3 {
			enc := base64.StdEncoding.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, shift), c...))
			from := (shift*8 + 5) / 6
			to := (shift + len(c)) * 8 / 6
			add("base64", enc[from:to])
			add("base64", strings.NewReplacer("+", "-", "/", "_").Replace(enc[from:to]))
		}
	}
	return all, nil
}

// maxCaptureWindow bounds the memory a compressed file may ask for.
const maxCaptureWindow = 128 << 20

// searchChunk is read at a time; memory stays at twice that for files of any size.
const searchChunk = 256 << 10

func searchFile(path string, f io.Reader, needles []needle) (*Leak, int64, error) {
	r := f
	switch filepath.Ext(path) {
	case ".zst":
		d, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxCaptureWindow))
		if err != nil {
			return nil, 0, err
		}
		defer d.Close()
		r = d
	case ".gz":
		d, err := gzip.NewReader(f)
		if err != nil {
			return nil, 0, err
		}
		r = d
	}
	longest := 0
	for _, n := range needles {
		longest = max(longest, len(n.text))
	}
	buf := make([]byte, 0, searchChunk+longest)
	var offset int64 // of buf[0]
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for _, nd := range needles {
			if i := bytes.Index(buf, nd.text); i >= 0 {
				return &Leak{File: path, Offset: offset + int64(i), Canary: nd.canary, Form: nd.form}, offset + int64(len(buf)), nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil, offset + int64(len(buf)), nil
		} else if err != nil {
			return nil, offset + int64(len(buf)), err
		}
		keep := min(longest-1, len(buf))
		offset += int64(len(buf) - keep)
		buf = append(buf[:0], buf[len(buf)-keep:]...)
	}
}
