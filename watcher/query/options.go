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
	s, o := h.fields(q.gvr), &options{}
	limits := kubeapi.Limits{Selector: h.config.MaxSelectorBytes, Page: int64(h.config.MaxPage)}
	if o.Options, err = kubeapi.ParseOptions(q.query, q.namespace, limits); err != nil {
		return err
	}
	if err := o.parseFields(s); err != nil {
		return err
	}
	q.options, q.matcher = o, newMatcher(q.namespace, o, s)
	return nil
}

// parseFields refuses fields that cannot be selected by, and finds an index.
func (o *options) parseFields(s *selectable) error {
	for _, r := range o.FieldSelector.Requirements() {
		if r.Field == kubeapi.NameField || r.Field == kubeapi.NamespaceField {
			continue
		}
		f, ok := s.find(r.Field)
		if !ok {
			return kubeapi.BadRequest("field label not supported: %s; supported are %s", r.Field, s.names())
		}
		if value, exact := o.FieldSelector.RequiresExactMatch(r.Field); exact && f.Index {
			o.indexed, o.value = f, value
		}
	}
	return nil
}
