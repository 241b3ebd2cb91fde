package assess

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/scenarios/history"
)

// inventory lists storage's final content, one line per object.
type inventory struct {
	lines   []string
	unknown bool // of some object, as in a record of an older version
}

func (c *inventory) add(r *history.StateRecord) {
	if r.Side != history.SideStorage {
		return
	}
	c.unknown = c.unknown || r.Content == ""
	c.lines = append(c.lines, strings.Join([]string{r.Kind, r.Namespace, r.Name, r.UID, r.Content}, "\t")+"\n")
}

// digest is as in result.Storage; empty if unknown.
func (c *inventory) digest() string {
	if c.unknown || len(c.lines) == 0 {
		return ""
	}
	slices.Sort(c.lines)
	h := sha256.New()
	for _, line := range c.lines {
		_, _ = io.WriteString(h, line) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}
