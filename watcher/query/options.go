package query

import (
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// options are the query of a LIST or WATCH.
type options struct {
	internalversion.ListOptions
	version uint64 // ResourceVersion as a number
	exact   bool   // the state at version and no other
	token   token  // of Continue; zero: there is none
	timeout time.Duration
	// indexed is an index that narrows a list, and the value to look up; the zero field: none.
	indexed field
	value   string
}

// maxTimeout keeps timeoutSeconds within what a duration holds; nobody waits so long.
const maxTimeout = 24 * time.Hour

// parseOptions reads the query of a request for a namespace by the rules of an apiserver.
func (h *Handler) parseOptions(q url.Values, namespace string, s *selectable) (*options, error) {
	var in metav1.ListOptions
	if err := metav1.Convert_url_Values_To_v1_ListOptions(&q, &in, nil); err != nil {
		return nil, badRequest("%v", err)
	}
	for name, text := range map[string]string{"labelSelector": in.LabelSelector, "fieldSelector": in.FieldSelector} {
		if len(text) > h.config.MaxSelectorBytes {
			return nil, badRequest("%s: %d bytes, the most are %d", name, len(text), h.config.MaxSelectorBytes)
		}
	}
	if in.ShardSelector != "" {
		return nil, badRequest("shardSelector is not supported")
	}
	o := &options{ListOptions: internalversion.ListOptions{
		Watch: in.Watch, AllowWatchBookmarks: in.AllowWatchBookmarks, ResourceVersion: in.ResourceVersion, ResourceVersionMatch: in.ResourceVersionMatch,
		TimeoutSeconds: in.TimeoutSeconds, Limit: min(in.Limit, int64(h.config.MaxPage)), Continue: in.Continue, SendInitialEvents: in.SendInitialEvents,
	}}
	var err error
	if o.LabelSelector, err = labels.Parse(in.LabelSelector); err != nil {
		return nil, badRequest("%v", err)
	}
	if o.FieldSelector, err = fields.ParseSelector(in.FieldSelector); err != nil {
		return nil, badRequest("%v", err)
	}
	internalversion.SetListOptionsDefaults(&o.ListOptions, true)
	if errs := validation.ValidateListOptions(&o.ListOptions, true); len(errs) > 0 {
		return nil, invalidOptions(errs)
	}
	if t := o.TimeoutSeconds; t != nil {
		o.timeout = time.Duration(min(max(*t, 0), int64(maxTimeout/time.Second))) * time.Second
	}
	if err := o.parseFields(s); err != nil {
		return nil, err
	}
	if o.version, err = parseVersion(o.ResourceVersion); err != nil {
		return nil, err
	}
	o.exact = o.ResourceVersionMatch == metav1.ResourceVersionMatchExact || o.ResourceVersionMatch == "" && o.Limit > 0 && o.version > 0
	if o.Continue == "" || o.Watch {
		return o, nil
	}
	if o.version > 0 {
		return nil, badRequest("specifying resource version is not allowed when using continue")
	}
	o.token, err = parseToken(o.Continue, namespace)
	return o, err
}

// parseFields refuses fields that cannot be selected by, and finds an index.
func (o *options) parseFields(s *selectable) error {
	for _, r := range o.FieldSelector.Requirements() {
		if r.Field == nameField || r.Field == namespaceField {
			continue
		}
		f, ok := s.find(r.Field)
		if !ok {
			return badRequest("field label not supported: %s; supported are %s", r.Field, s.names())
		}
		if value, exact := o.FieldSelector.RequiresExactMatch(r.Field); exact && f.index {
			o.indexed, o.value = f, value
		}
	}
	return nil
}

// parseVersion reads a resourceVersion; none is 0.
func parseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, invalidVersion(text)
	}
	return v, nil
}

// fresh reports whether no state in particular is asked for.
func (o *options) fresh() bool { return o.ResourceVersion == "" || o.ResourceVersion == "0" }

// everything reports whether no selector narrows the list.
func (o *options) everything() bool { return o.LabelSelector.Empty() && o.FieldSelector.Empty() }
