package query

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// printers show some built-in kinds about as an apiserver does; others show name and
// age.
var (
	printers   = map[string]printer{}
	anyPrinter = show("Name,Age", func(o *struct{ Metadata meta }) []any { return o.Metadata.around() })
)

const (
	none    = "<none>"
	unknown = "<unknown>"
)

// meta is the metadata that rows show.
type meta struct {
	Name              string
	CreationTimestamp time.Time
	DeletionTimestamp *time.Time
	Labels            map[string]string
}

// around are the first and last cell, with others between them.
func (m *meta) around(cells ...any) []any {
	return append(append([]any{m.Name}, cells...), since(m.CreationTimestamp))
}

// since is how long ago something was, in an apiserver's words.
func since(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(time.Since(t))
}
