package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// letters is the file of one subscription's dead letters, and the one before. It holds objects: only its owner
// can read it.
type letters struct {
	root *os.Root
	name string
	most int64

	mu   sync.Mutex
	file *os.File // guarded by mu; nil until the first letter and after a failure
	size int64    // guarded by mu
}

// newLetters makes the file <name>.ndjson below root, which it does not close, at its first letter.
// It has most bytes at most; then it becomes <name>.1.ndjson.
func newLetters(root *os.Root, name string, most int64) *letters {
	return &letters{root: root, name: name, most: most}
}

// letter is one line of a file.
type letter struct {
	Time  time.Time       `json:"time"` // when it was given up
	ID    string          `json:"id"`
	Why   Reason          `json:"reason"`
	Error string          `json:"error"` // of the last try
	Tries int             `json:"tries"`
	Event json.RawMessage `json:"event"` // the body
}

// write appends a letter as one write, so that a file that is cut off has whole lines up to
// the last.
func (f *letters) write(l letter) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false) // the body as it was sent
	if err := enc.Encode(l); err != nil {
		return fmt.Errorf("encode a dead letter: %w", err)
	}
	if int64(line.Len()) > f.most {
		return fmt.Errorf("a dead letter of %d bytes is larger than the file may become", line.Len())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.open(); err != nil {
		return fmt.Errorf("open the dead letters: %w", err)
	}
	if f.size+int64(line.Len()) > f.most {
		if err := f.rotate(); err != nil {
			return fmt.Errorf("rotate the dead letters: %w", err)
		}
	}
	n, err := f.file.Write(line.Bytes())
	f.size += int64(n)
	if err != nil {
		f.shut()
		return fmt.Errorf("write a dead letter: %w", err)
	}
	return nil
}

// open opens the file for appending. What a crash or a full disk left of a line is ended, so
// that it spoils no other. The caller holds mu.
func (f *letters) open() error {
	if f.file != nil {
		return nil
	}
	file, err := f.root.OpenFile(f.name+".ndjson", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err = file.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			_, err = file.Write([]byte("\n"))
		}
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	f.file, f.size = file, info.Size()
	return nil
}

func (f *letters) rotate() error {
	f.shut()
	if err := f.root.Rename(f.name+".ndjson", f.name+".1.ndjson"); err != nil {
		return err
	}
	return f.open()
}

// shut closes the file. The caller holds mu.
func (f *letters) shut() {
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
}

// close closes the file; a later letter opens it again.
func (f *letters) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shut()
}
