package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// lineIndex maps the path of every value in a JSON document to its line. It is
// also the check that data is exactly one JSON object.
func lineIndex(data []byte) (map[string]int, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	idx := map[string]int{}
	var walk func(path string, depth int) error
	walk = func(path string, depth int) error {
		if depth > maxDepth {
			return fmt.Errorf("nested deeper than %d", maxDepth)
		}
		t, err := dec.Token()
		if err != nil {
			return eof(err)
		}
		if _, seen := idx[path]; !seen {
			idx[path] = lineAt(data, dec.InputOffset())
		}
		d, ok := t.(json.Delim)
		if !ok {
			return nil
		}
		for i := 0; dec.More(); i++ {
			next := fmt.Sprintf("%s[%d]", path, i)
			if d == '{' {
				k, err := dec.Token()
				if err != nil {
					return eof(err)
				}
				key, ok := k.(string)
				if !ok {
					return fmt.Errorf("want a key, got %v", k)
				}
				next = join(path, key)
				if _, twice := idx[next]; twice {
					return fmt.Errorf("key %q stands twice", next)
				}
				idx[next] = lineAt(data, dec.InputOffset())
			}
			if err := walk(next, depth+1); err != nil {
				return err
			}
		}
		_, err = dec.Token() // the closing delimiter
		return eof(err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("the file is empty, want a JSON object")
	}
	if err := walk("", 0); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the JSON object")
	}
	return idx, nil
}

// maxDepth is far beyond what either file needs.
const maxDepth = 32

func eof(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}
