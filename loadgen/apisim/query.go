package apisim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// options is the query of a LIST or WATCH, and the scope of its path.
type options struct {
	internalversion.ListOptions
	namespace, name string
	fields          *selectable // of the kind
	form            form
	asked           named

	rv        uint64 // ResourceVersion as a number
	exact     bool   // the state at rv and no other
	start     string // of a continue token: the first path
	tokenRV   int64  // of a continue token; 0: there is none
	tokenLeft int    // of a continue token: how many objects are left, if it is known
	timeout   time.Duration
}

// latest is the version in a token that goes on without a consistent view.
const latest = -1

// maxTimeout keeps timeoutSeconds within what a duration holds; nobody waits so long.
const maxTimeout = 24 * time.Hour

func (o *options) matches(v *version) bool {
	return v != nil && (o.namespace == "" || o.namespace == v.namespace) && (o.name == "" || o.name == v.name) &&
		(o.LabelSelector.Empty() || o.LabelSelector.Matches(&v.labels)) &&
		(o.FieldSelector.Empty() || o.FieldSelector.Matches(o.ask(v)))
}

// ask is v as a field selector asks it, until the next one.
func (o *options) ask(v *version) *named {
	o.asked = named{v, o.fields}
	return &o.asked
}

// everything reports whether no selector narrows the list.
func (o *options) everything() bool {
	return o.name == "" && o.LabelSelector.Empty() && o.FieldSelector.Empty()
}

// fresh reports whether no state in particular is asked for.
func (o *options) fresh() bool { return o.ResourceVersion == "" || o.ResourceVersion == "0" }

// parse reads the query by the rules of the apiserver's own library.
func (o *options) parse(q url.Values, streaming bool) error {
	o.LabelSelector, o.FieldSelector = labels.Everything(), fields.Everything() // an empty query sets nothing
	if err := scheme.ParameterCodec.DecodeParameters(q, metav1.SchemeGroupVersion, &o.ListOptions); err != nil {
		return badRequest("%v", err)
	}
	internalversion.SetListOptionsDefaults(&o.ListOptions, streaming)
	if errs := validation.ValidateListOptions(&o.ListOptions, streaming); len(errs) > 0 {
		return invalidOptions(errs)
	}
	if o.TimeoutSeconds != nil {
		o.timeout = time.Duration(min(max(*o.TimeoutSeconds, 0), int64(maxTimeout/time.Second))) * time.Second
	}
	for _, r := range o.FieldSelector.Requirements() {
		if !o.fields.has(r.Field) {
			return badRequest("field label not supported: %s", r.Field)
		}
	}
	return o.parseVersion()
}

func (o *options) parseVersion() error {
	if o.ResourceVersion != "" {
		rv, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
		switch {
		case err != nil && o.Watch: // a watch finds it out later, where errors have no reason
			return &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: fmt.Sprintf("invalid resource version %q: want a whole number", o.ResourceVersion),
			}}
		case err != nil:
			return badRequest("invalid resource version %q: want a whole number", o.ResourceVersion)
		}
		o.rv = rv
	}
	o.exact = o.ResourceVersionMatch == metav1.ResourceVersionMatchExact || o.ResourceVersionMatch == "" && o.Limit > 0 && o.rv > 0
	if o.Continue == "" || o.Watch {
		return nil
	}
	if o.rv > 0 {
		return badRequest("specifying resource version is not allowed when using continue")
	}
	var err error
	o.tokenRV, o.start, o.tokenLeft, err = decodeToken(o.Continue)
	return err
}

// token is a continue token in the form that an apiserver's has.
type token struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	Start           string `json:"start"`
	// Left saves counting; an apiserver's database counts by itself.
	Left int `json:"left,omitempty"`
}

func encodeToken(rv int64, start string, left int) string {
	text, err := json.Marshal(token{"meta.k8s.io/v1", rv, start, left})
	if err != nil { // numbers and strings always have a form
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodeToken(text string) (rv int64, start string, left int, err error) {
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
		return 0, "", 0, badRequest("invalid continue token: continue key is not valid: %v", err)
	}
	return t.ResourceVersion, t.Start, max(t.Left, 0), nil
}
