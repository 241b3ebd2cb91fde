package query

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/watchbench/watchbench/watcher/view"
)

// latest is the version in a token that goes on with whatever state there is.
const latest = -1

// maxToken is more than a token with the longest names takes.
const maxToken = 4 << 10

// token says where the next page of a list begins.
type token struct {
	Version   int64  `json:"rv"` // of the state that is listed, or latest
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"name"` // of the last object that was sent
	// Left is how many objects are behind it, which saves counting them; -1: not known.
	Left int `json:"left"`
}

func (t token) String() string {
	text, err := json.Marshal(t)
	if err != nil { // numbers and strings always have a form
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func (t token) after() view.Name { return view.Name{Namespace: t.Namespace, Name: t.Name} }

// parseToken reads the token of a list of a namespace, of all if that is empty.
func parseToken(text, namespace string) (token, error) {
	var t token
	if err := t.parse(text); err != nil {
		return token{}, badRequest("invalid continue token: %v", err)
	}
	if namespace != "" && t.Namespace != namespace {
		return token{}, badRequest("invalid continue token: it is of a list of another namespace")
	}
	return t, nil
}

func (t *token) parse(text string) error {
	if len(text) > maxToken {
		return errors.New("it is too long")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return errors.New("it is not encoded as a token")
	}
	if err := decodeStrict(bytes.NewReader(raw), t); err != nil {
		return errors.New("it has not the content of a token")
	}
	switch {
	case t.Version == 0 || t.Version < latest:
		return fmt.Errorf("version %d", t.Version)
	case t.Left < -1:
		return fmt.Errorf("%d objects left", t.Left)
	case t.Name == "" || len(content.IsPathSegmentName(t.Name)) > 0 || t.Namespace != "" && len(content.IsPathSegmentName(t.Namespace)) > 0:
		return errors.New("no object has the name in it")
	}
	return nil
}

// decodeStrict reads exactly one JSON value without unknown members.
func decodeStrict(r io.Reader, into any) error {
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

// expiredToken refuses a token whose version has expired, with one that goes on with the
// latest state instead.
func expiredToken(t token) error {
	err := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
		"You must start a new list without the continue parameter, or use the continue token in this response to go on with the latest version.")
	t.Version, t.Left = latest, -1
	err.ErrStatus.Continue = t.String()
	return err
}
