package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// maxLine bounds one line of a recorded file; object names are at most 253
// bytes and nothing else in the formats is long.
const maxLine = 1 << 20

// maxZstdWindow bounds the memory a compressed file may ask for.
const maxZstdWindow = 128 << 20

// source is a recorded file that can be opened for reading.
type source struct {
	path string
	zstd bool
}

// read calls line for every line that is not empty. The bytes are valid during the call.
// An error of the file or of line carries the file's name and the line's number.
func (s source) read(line func(n int, b []byte) error) error {
	f, err := os.Open(s.path)
	if err != nil {
		return &FormatError{File: s.path, Err: err}
	}
	defer func() { _ = f.Close() }() // only read from
	var r io.Reader = f
	if s.zstd {
		d, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return &FormatError{File: s.path, Err: err}
		}
		defer d.Close()
		r = d
	}
	return readLines(s.path, r, line)
}

// readLines splits r and names the place of any error. errStop ends it early
// without error.
func readLines(name string, r io.Reader, line func(n int, b []byte) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 256<<10), maxLine)
	n := 0
	for sc.Scan() {
		n++
		if len(sc.Bytes()) == 0 {
			continue
		}
		if err := line(n, sc.Bytes()); err != nil {
			if errors.Is(err, errStop) {
				return nil
			}
			return &FormatError{File: name, Line: n, Err: err}
		}
	}
	if err := sc.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("a line longer than %d bytes", maxLine)
		}
		return &FormatError{File: name, Line: n + 1, Err: err}
	}
	return nil
}

var errStop = errors.New("stop reading")
