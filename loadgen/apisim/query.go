package apisim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/watchbench/watchbench/loadgen/apistatus"
)

// options is the query of a LIST or WATCH.
type options struct {
	watch     bool
	version   string // as given; empty and 0 have meanings of their own
	rv        uint64 // version as a number
	exact     bool   // the state at rv and no other
	limit     int64
	start     string // of a continue token: the first path
	tokenRV   int64  // of a continue token; 0: there is none
	initial   *bool
	bookmarks bool
	timeout   time.Duration // 0: not given
	selection
}

// latest is the version in a token that goes on without a consistent view.
const latest = -1

// maxTimeout keeps timeoutSeconds within what a duration holds; nobody waits so long.
const maxTimeout = 24 * time.Hour

// selection is which objects a request is about.
type selection struct {
	namespace, name string
	labels          labels.Selector
	fields          fields.Selector
}

func (s selection) matches(v *version) bool {
	return v != nil && (s.namespace == "" || s.namespace == v.namespace) && (s.name == "" || s.name == v.name) &&
		(s.labels.Empty() || s.labels.Matches(v.labels)) &&
		(s.fields.Empty() || s.fields.Matches(fields.Set{"metadata.name": v.name, "metadata.namespace": v.namespace}))
}

// everything reports whether no selector narrows the list.
func (s selection) everything() bool { return s.name == "" && s.labels.Empty() && s.fields.Empty() }

// flag reads a boolean as an apiserver does: given and neither 0 nor false.
func flag(q url.Values, name string) bool {
	v, given := q[name]
	return given && v[0] != "0" && !strings.EqualFold(v[0], "false")
}

func number(q url.Values, name string) (int64, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, badRequest("%s=%s: want a whole number", name, text)
	}
	return n, nil
}

// parseOptions reads the query; the scope of the path is in sel.
func parseOptions(q url.Values, sel selection, streaming bool) (*options, error) {
	o := &options{watch: flag(q, "watch"), version: q.Get("resourceVersion"), bookmarks: flag(q, "allowWatchBookmarks"), selection: sel}
	var err error
	if o.limit, err = number(q, "limit"); err != nil {
		return nil, err
	}
	seconds, err := number(q, "timeoutSeconds")
	if err != nil {
		return nil, err
	}
	o.timeout = time.Duration(min(max(seconds, 0), int64(maxTimeout/time.Second))) * time.Second
	if _, given := q["sendInitialEvents"]; given {
		v := flag(q, "sendInitialEvents")
		o.initial = &v
	}
	match := q.Get("resourceVersionMatch")
	if o.watch && o.initial == nil && match == "" && streaming && (o.version == "" || o.version == "0") {
		on := true // what a watch without a version has always meant
		o.initial, match = &on, string(metav1.ResourceVersionMatchNotOlderThan)
	}
	if errs := o.validate(match, q.Get("continue"), streaming); len(errs) > 0 {
		return nil, invalidOptions(errs)
	}
	if err := o.parseVersion(match, q.Get("continue")); err != nil {
		return nil, err
	}
	return o, o.parseSelectors(q)
}

// validate holds the rules of resourceVersionMatch and sendInitialEvents.
func (o *options) validate(match, token string, streaming bool) field.ErrorList {
	var errs field.ErrorList
	forbid := func(name, why string) { errs = append(errs, field.Forbidden(field.NewPath(name), why)) }
	const rvm, sie = "resourceVersionMatch", "sendInitialEvents"
	const notOlder, exact = string(metav1.ResourceVersionMatchNotOlderThan), string(metav1.ResourceVersionMatchExact)
	switch {
	case o.watch:
		if o.initial != nil && match != notOlder {
			forbid(rvm, "sendInitialEvents requires setting resourceVersionMatch to "+notOlder)
		}
		if o.initial != nil && !streaming {
			forbid(sie, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
		}
		if match != "" && o.initial == nil {
			forbid(rvm, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
		}
		if match != "" && match != notOlder {
			errs = append(errs, field.NotSupported(field.NewPath(rvm), match, []string{notOlder}))
		}
	default:
		if o.initial != nil {
			forbid(sie, "sendInitialEvents is forbidden for list")
		}
		if match != "" && o.version == "" {
			forbid(rvm, "resourceVersionMatch is forbidden unless resourceVersion is provided")
		}
		if match != "" && match != notOlder && match != exact {
			errs = append(errs, field.NotSupported(field.NewPath(rvm), match, []string{exact, notOlder, ""}))
		}
		if match == exact && o.version == "0" {
			forbid(rvm, `resourceVersionMatch "exact" is forbidden for resourceVersion "0"`)
		}
	}
	if match != "" && token != "" {
		forbid(rvm, "resourceVersionMatch is forbidden when continue is provided")
	}
	return errs
}

func (o *options) parseVersion(match, token string) error {
	if o.version != "" {
		rv, err := strconv.ParseUint(o.version, 10, 64)
		switch {
		case err != nil && o.watch: // a watch finds it out later, where errors have no reason
			return &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: fmt.Sprintf("invalid resource version %q: want a whole number", o.version),
			}}
		case err != nil:
			return badRequest("invalid resource version %q: want a whole number", o.version)
		}
		o.rv = rv
	}
	o.exact = match == string(metav1.ResourceVersionMatchExact) || match == "" && o.limit > 0 && o.rv > 0
	if token == "" || o.watch {
		return nil
	}
	if o.rv > 0 {
		return badRequest("specifying resource version is not allowed when using continue")
	}
	var err error
	o.tokenRV, o.start, err = decodeToken(token)
	return err
}

func (o *options) parseSelectors(q url.Values) error {
	var err error
	if o.labels, err = labels.Parse(q.Get("labelSelector")); err != nil {
		return badRequest("unable to parse labelSelector: %v", err)
	}
	if o.fields, err = fields.ParseSelector(q.Get("fieldSelector")); err != nil {
		return badRequest("unable to parse fieldSelector: %v", err)
	}
	for _, r := range o.fields.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" {
			return badRequest("field label not supported: %s", r.Field)
		}
	}
	return nil
}

// token is a continue token in the form that an apiserver's has.
type token struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	Start           string `json:"start"`
}

func encodeToken(rv int64, start string) string {
	text, err := json.Marshal(token{"meta.k8s.io/v1", rv, start})
	if err != nil { // it always has a form
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodeToken(text string) (rv int64, start string, err error) {
	var t token
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	switch {
	case err != nil:
	case t.APIVersion != "meta.k8s.io/v1":
		err = fmt.Errorf("server does not recognize the encoded version %q", t.APIVersion)
	case t.ResourceVersion == 0 || t.ResourceVersion < latest:
		err = fmt.Errorf("incorrect encoded start resourceVersion %d", t.ResourceVersion)
	case t.Start == "" || path.Clean("/"+t.Start) != "/"+t.Start:
		err = fmt.Errorf("encoded start key %q", t.Start)
	}
	if err != nil {
		return 0, "", badRequest("invalid continue token: continue key is not valid: %v", err)
	}
	return t.ResourceVersion, t.Start, nil
}

// accepted reports whether the client takes JSON that is no table.
func accepted(r *http.Request) bool {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return true
	}
	return slices.ContainsFunc(strings.Split(strings.Join(values, ","), ","), func(one string) bool {
		media, params, _ := strings.Cut(one, ";")
		switch strings.TrimSpace(media) {
		case "", apistatus.ContentType, "application/*", "*/*":
			return !strings.Contains(params, "as=")
		}
		return false
	})
}
