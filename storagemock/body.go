package storagemock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/storagemock/store"
)

// errDepth is the error for JSON that the real server's database would not take.
var errDepth = fmt.Errorf("JSON nests deeper than %d levels", store.MaxDepth)

// validate returns nil if b is one JSON value that can be stored.
func validate(b []byte) error { return depthError(jsonscan.ValidWithin(b, store.MaxDepth)) }

// depthError adds the limit to an error about nesting.
func depthError(err error) error {
	if errors.Is(err, jsonscan.ErrTooDeep) {
		return errDepth
	}
	return err
}

// parsePut reads the body {"data": …} of a PUT in one pass. The body must be an object, or null, which counts as one
// without members, as the real server's decoder accepts it. Data is a slice of the body, nil if there is none.
func parsePut(body []byte) (obj store.Object, err error) {
	s := jsonscan.New(body)
	if c, err := s.Peek(); err != nil || c != '{' {
		if err := validate(body); err != nil {
			return obj, err
		}
		if string(bytes.TrimSpace(body)) != "null" {
			return obj, errors.New(`want an object like {"data": …}`)
		}
		return obj, nil
	}
	err = s.Object(func(key jsonscan.Str) error {
		if !key.Is(body, "data") {
			_, err := s.ValueWithin(store.MaxDepth - 1)
			return err
		}
		data, meta, err := store.ScanObject(&s, body, store.MaxDepth-1)
		if err == nil {
			obj = store.Object{Data: data.Of(body), Meta: meta}
		}
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return store.Object{}, depthError(err)
	}
	return obj, nil
}

// parseEvent reads the body of an event's PUT.
func (c *call) parseEvent() error {
	if err := validate(c.body); err != nil {
		return err
	}
	if err := json.Unmarshal(c.body, &c.event); err != nil {
		return err
	}
	c.key.Cluster = c.event.ClusterID
	meta := store.ParseMeta(c.event.Data)
	c.key.Namespace, c.key.Name = meta.Namespace, meta.Name
	if !jsonscan.IsObject(c.event.Data) {
		return errors.New("data is not an object")
	}
	// The real server reads both as strings when it mirrors the event.
	for _, field := range []string{"namespace", "name"} {
		if !jsonscan.IsString(jsonscan.Lookup(c.event.Data, "metadata", field)) {
			return fmt.Errorf("data.metadata.%s is not a string", field)
		}
	}
	return nil
}
