package oplog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxLine bounds one record; a real one has less than 1 KiB.
	maxLine = 1 << 20
	// maxWindow bounds what a corrupt zstd header can make the decoder allocate; the
	// writer's window is smaller.
	maxWindow = 32 << 20
)

// ErrTruncated means that the log ends before a checkpoint: the generator was
// killed, or the file was cut.
var ErrTruncated = errors.New("op log is truncated")

// LineError is a defect of the log. Line counts from 1 in the uncompressed text.
type LineError struct {
	Line int64
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("op log, line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

var _ error = (*LineError)(nil)

// ReadFile yields the records of the log at path; see Read.
func ReadFile(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Record{}, fmt.Errorf("opening the op log: %w", err))
			return
		}
		defer func() { _ = f.Close() }()
		for r, err := range Read(f) {
			if err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Read yields the records of a log in the order in which they were appended, that
// is the order in which requests were answered. An error is the last thing
// yielded; errors.Is(err, ErrTruncated) tells a cut log, whose records so far are
// good, from a corrupt one.
func Read(r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			yield(Record{}, fmt.Errorf("preparing the op log's decompression: %w", err))
			return
		}
		defer dec.Close()
		p := parser{in: bufio.NewReaderSize(dec, 64<<10)}
		for {
			rec, err := p.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Record{}, &LineError{Line: p.line, Err: err})
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

type parser struct {
	in      *bufio.Reader
	long    []byte // a line longer than the reader's buffer
	line    int64
	records int64
	sealed  bool // the last line was a checkpoint
}

// next is the next record, or io.EOF at a proper end.
func (p *parser) next() (Record, error) {
	for {
		p.line++
		line, err := p.readLine()
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0 && p.sealed:
			return Record{}, io.EOF
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return Record{}, fmt.Errorf("%w after %d records: no checkpoint follows", ErrTruncated, p.records)
		case err != nil:
			return Record{}, fmt.Errorf("decompressing: %w", err)
		}
		if bytes.HasPrefix(line, checkpointPrefix) {
			if err := p.checkpoint(line); err != nil {
				return Record{}, err
			}
			continue
		}
		p.sealed = false
		var rec Record
		if err := decodeStrict(line, &rec); err != nil {
			return Record{}, fmt.Errorf("not a record: %w", err)
		}
		p.records++
		return rec, nil
	}
}

var checkpointPrefix = []byte(`{"checkpoint":`)

func (p *parser) checkpoint(line []byte) error {
	var mark struct {
		Checkpoint int64 `json:"checkpoint"`
	}
	if err := decodeStrict(line, &mark); err != nil {
		return fmt.Errorf("not a checkpoint: %w", err)
	}
	if mark.Checkpoint != p.records {
		return fmt.Errorf("checkpoint counts %d records, %d were read: lines are missing or doubled", mark.Checkpoint, p.records)
	}
	p.sealed = true
	return nil
}

// readLine is the next line without its newline; io.EOF with what there was when
// the newline is missing.
func (p *parser) readLine() ([]byte, error) {
	p.long = p.long[:0]
	for {
		part, err := p.in.ReadSlice('\n')
		if err == nil && len(p.long) == 0 {
			return part[:len(part)-1], nil
		}
		p.long = append(p.long, part...)
		switch {
		case err == nil:
			return p.long[:len(p.long)-1], nil
		case len(p.long) > maxLine:
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		case !errors.Is(err, bufio.ErrBufferFull):
			return p.long, err
		}
	}
}

// decodeStrict decodes one JSON value and refuses unknown keys and anything after
// it.
func decodeStrict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("incomplete JSON")
		}
		return err
	}
	if dec.InputOffset() != int64(len(bytes.TrimRight(data, " \t\r"))) {
		return errors.New("text after the JSON value")
	}
	return nil
}
