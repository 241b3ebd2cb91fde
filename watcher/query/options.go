package query

import (
	"github.com/watchbench/watchbench/internal/kubeapi"
)

// options are the query of a LIST or WATCH.
type options struct {
	*kubeapi.Options
	// indexed is an index that narrows a list, and the value to look up; the zero field: none.
	indexed kubeapi.Field
	value   string
}

// parseList reads what a list or watch asks for.
func (h *Handler) parseList(q *request) (err error) {
	all, o := h.fields(q.gvr), &options{}
	limits := kubeapi.Limits{Selector: h.config.MaxSelectorBytes, Page: int64(h.config.MaxPage)}
	if o.Options, err = kubeapi.ParseOptions(q.query, q.namespace, limits); err != nil {
		return err
	}
	if err := all.Check(o.FieldSelector); err != nil {
		return err
	}
	for _, f := range all {
		if value, exact := o.FieldSelector.RequiresExactMatch(f.Name); exact && f.Index {
			o.indexed, o.value = f, value
		}
	}
	q.options, q.matcher = o, newMatcher(q.namespace, o.Options, all)
	return nil
}
