package kubeapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// MaxWait is how long a request waits for a version that is still to come.
	MaxWait = 3 * time.Second
	// maxTimeout keeps timeoutSeconds within what a duration holds; nobody waits so long.
	maxTimeout = 24 * time.Hour
	// lastBookmark is how long before its end a watch gets its last one.
	lastBookmark = 2 * time.Second
)

// Options are the query of a LIST or WATCH.
type Options struct {
	internalversion.ListOptions
	Version uint64 // ResourceVersion as a number
	Exact   bool   // the state at Version and no other
	Token   Token  // of Continue; zero: there is none
	Shard   *Shard // of ShardSelector; nil: everything
	Timeout time.Duration
}

// Limits bound a query.
type Limits struct {
	Selector int   // bytes of one; 0: any
	Page     int64 // objects in one, to which a limit is lowered; 0: any
	Shards   bool  // whether a shardSelector is understood
}

// ParseOptions reads the query of a request for a namespace, of all if that is empty. Whether the fields of its
// selector are known is for the caller. With an error of the version or token alone come the options.
func ParseOptions(q url.Values, namespace string, l Limits) (*Options, error) {
	var in metav1.ListOptions
	if err := metav1.Convert_url_Values_To_v1_ListOptions(&q, &in, nil); err != nil {
		return nil, BadRequest("%v", err)
	}
	for name, text := range map[string]string{"labelSelector": in.LabelSelector, "fieldSelector": in.FieldSelector} {
		if l.Selector > 0 && len(text) > l.Selector {
			return nil, BadRequest("%s: %d bytes, the most are %d", name, len(text), l.Selector)
		}
	}
	if in.ShardSelector != "" && !l.Shards {
		return nil, BadRequest("shardSelector is not supported")
	}
	if l.Page > 0 {
		in.Limit = min(in.Limit, l.Page)
	}
	o := &Options{ListOptions: internalversion.ListOptions{
		Watch: in.Watch, AllowWatchBookmarks: in.AllowWatchBookmarks, SendInitialEvents: in.SendInitialEvents,
		ResourceVersion: in.ResourceVersion, ResourceVersionMatch: in.ResourceVersionMatch,
		TimeoutSeconds: in.TimeoutSeconds, Limit: in.Limit, Continue: in.Continue,
	}}
	var err error
	if o.LabelSelector, err = labels.Parse(in.LabelSelector); err != nil {
		return nil, BadRequest("%v", err)
	}
	if o.FieldSelector, err = fields.ParseSelector(in.FieldSelector); err != nil {
		return nil, BadRequest("%v", err)
	}
	internalversion.SetListOptionsDefaults(&o.ListOptions, true)
	if errs := validation.ValidateListOptions(&o.ListOptions, true); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	if in.ShardSelector != "" {
		shard, err := ParseShard(in.ShardSelector)
		if err != nil {
			return nil, err
		}
		o.Shard = &shard
	}
	if t := o.TimeoutSeconds; t != nil {
		o.Timeout = time.Duration(min(max(*t, 0), int64(maxTimeout/time.Second))) * time.Second
	}
	return o, o.parseVersion(namespace)
}

func (o *Options) parseVersion(namespace string) (err error) {
	if o.Version, err = ParseVersion(o.ResourceVersion); err != nil {
		return err
	}
	o.Exact = o.ResourceVersionMatch == metav1.ResourceVersionMatchExact ||
		o.ResourceVersionMatch == "" && o.Limit > 0 && o.Version > 0
	if o.Continue == "" || o.Watch {
		return nil
	}
	if o.Version > 0 {
		return BadRequest("specifying resource version is not allowed when using continue")
	}
	o.Token, err = parseToken(o.Continue, namespace)
	return err
}

// ParseVersion reads a resourceVersion; none is 0.
func ParseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, BadRequest("resourceVersion: Invalid value: %q: want a whole number", text)
	}
	return v, nil
}

// Fresh reports whether no state in particular is asked for.
func (o *Options) Fresh() bool { return o.ResourceVersion == "" || o.ResourceVersion == "0" }

// Everything reports whether no selector narrows the list.
func (o *Options) Everything() bool { return o.LabelSelector.Empty() && o.FieldSelector.Empty() }

// Initial reports whether a watch is a streaming list.
func (o *Options) Initial() bool { return o.SendInitialEvents != nil && *o.SendInitialEvents }

// Asked is the version whose state a list asks for, and whether no other will do.
func (o *Options) Asked() (version uint64, exact bool) {
	if o.Token.Version > 0 {
		return uint64(o.Token.Version), true
	}
	return o.Version, o.Exact
}

// NextBookmark is when a watch that ends is to get its next bookmark, end if there is none before. every is how often
// it gets one.
func NextBookmark(now, end time.Time, every time.Duration) time.Time {
	next := now.Add(every)
	if last := end.Add(-lastBookmark); next.After(last) {
		next = last
	}
	if !next.After(now) {
		return end
	}
	return next
}

// latest is the version in a token that goes on with whatever state there is.
const latest = -1

// maxToken is more than a token with the longest names takes.
const maxToken = 4 << 10

// Token says where the next page of a list begins.
type Token struct {
	Version   int64  `json:"rv"` // of the state that is listed, or latest
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"name"` // of the last object that was sent
	// Left is how many objects are behind it, which saves counting them; -1: not known.
	Left int `json:"left"`
}

func (t Token) String() string {
	text, err := json.Marshal(t)
	if err != nil { // numbers and strings always have a form
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseToken(text, namespace string) (Token, error) {
	var t Token
	if err := t.parse(text); err != nil {
		return Token{}, BadRequest("invalid continue token: %v", err)
	}
	if namespace != "" && t.Namespace != namespace {
		return Token{}, BadRequest("invalid continue token: it is of a list of another namespace")
	}
	return t, nil
}

func (t *Token) parse(text string) error {
	if len(text) > maxToken {
		return errors.New("it is too long")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return errors.New("it is not encoded as a token")
	}
	if err := DecodeStrict(bytes.NewReader(raw), t); err != nil {
		return errors.New("it has not the content of a token")
	}
	segment := func(name string) bool { return len(content.IsPathSegmentName(name)) == 0 }
	switch {
	case t.Version == 0 || t.Version < latest:
		return fmt.Errorf("version %d", t.Version)
	case t.Left < -1:
		return fmt.Errorf("%d objects left", t.Left)
	case t.Name == "" || !segment(t.Name) || t.Namespace != "" && !segment(t.Namespace):
		return errors.New("no object has the name in it")
	}
	return nil
}

// DecodeStrict reads exactly one JSON value without unknown members.
func DecodeStrict(r io.Reader, into any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}
