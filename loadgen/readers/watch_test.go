package readers

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// TestEndOfAWatch: the record says why a watch ended. An event that was cut is none.
func TestEndOfAWatch(t *testing.T) {
	const event = `{"type":"ADDED","object":{"metadata":{"uid":"u","resourceVersion":"7"}}}` + "\n"
	for name, tc := range map[string]struct {
		text string
		err  error // of the connection
		want string
	}{
		"in order":               {event, io.EOF, ""},
		"cut":                    {event + event[:30], io.EOF, errBody.Error()},
		"given up in an event":   {event + event[:30], context.Canceled, CutOff},
		"connection in an event": {event + event[:30], errors.New("reset"), "reset"},
		"connection":             {event, errors.New("reset"), "reset"},
	} {
		log, err := Create(filepath.Join(t.TempDir(), "record"))
		if err != nil {
			t.Fatal(err)
		}
		w, got := watcher{log: log}, ""
		if err := w.read(io.MultiReader(strings.NewReader(tc.text), failing{tc.err})); err != nil {
			got = reason(err)
		}
		if got != tc.want || w.last.Load() != 7 {
			t.Errorf("%s: %q at version %d, want %q at 7", name, got, w.last.Load(), tc.want)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// failing is a connection that ends with an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
