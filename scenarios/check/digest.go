package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/watchbench/watchbench/scenarios/history"
)

// Raw is one object as read from one side.
type Raw struct {
	Side history.Side
	// APIVersion and Kind complete an object that lacks them: the items of a plain LIST do.
	APIVersion, Kind string
	// Namespace and Name are the record's own key where it has one (a storage record does); empty means the object's
	// metadata.
	Namespace, Name string
	JSON            []byte
}

// The watcher adds workloadAnnotations to Pods (contract §2.4 rule 4).
var workloadAnnotations = []string{"workload.bkbcs.tencent.com/kind", "workload.bkbcs.tencent.com/name"}

// lastApplied is the annotation in which kubectl keeps the whole object as applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Digest is the canonical form of an object, for comparing the sides.
//
// On the apiserver's side managedFields and masked fields are removed, as the watcher should have done; an object with
// masks loses its managedFields in any case, and what kubectl applied, since both repeat masked fields. What is still
// there in storage makes the digests differ. On both sides
//   - the workload annotations of a Pod are ignored: their value depends on what the
//     watcher's ReplicaSet cache held when it sent the Pod (contract §2.4, §10.11);
//   - a Node's heartbeat times and its resourceVersion are ignored: the original
//     skips changes that touch nothing else (contract §2.2).
//
// Key order and string escapes do not matter; numbers are compared as written.
//
// Content is the same without the resourceVersion.
func Digest(o Raw, r Rules) (history.StateRecord, error) {
	obj, rec, err := project(o, r, len(r.Masks) == 0 && o.Kind != "" && o.Kind != kindNode)
	if err != nil {
		return rec, err
	}
	text, version, err := marshal(obj)
	if err != nil {
		return rec, fmt.Errorf("object %s: %w", rec.Key(), err)
	}
	sum := sha256.Sum256(text)
	if o.Side == history.SideStorage {
		rec.Content = hex.EncodeToString(sum[:digestBytes])
	}
	if version != nil {
		sum = sha256.Sum256(append(sum[:], version...))
	}
	rec.Digest = hex.EncodeToString(sum[:digestBytes])
	return rec, rec.Validate()
}

// marshal is the canonical form of an object without its resourceVersion, which is beside it; keys are sorted, numbers
// as they were.
func marshal(obj map[string]any) (text, version jsontext.Value, err error) {
	if meta, ok := obj["metadata"].(map[string]any); ok {
		if v, ok := meta["resourceVersion"]; ok {
			delete(meta, "resourceVersion")
			if version, err = canonical(v); err != nil {
				return nil, nil, err
			}
		}
	}
	text, err = canonical(obj)
	return text, version, err
}

func canonical(v any) (text jsontext.Value, err error) {
	text, err = jsonv2.Marshal(v, jsonv2.Deterministic(true), jsontext.ReorderRawObjects(true), asWritten)
	if bytes.IndexByte(text, 0xee) >= 0 || bytes.IndexByte(text, 0xef) >= 0 { // a map's keys are in another order
		err = errors.Join(err, text.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)))
	}
	return text, err
}

var asWritten = jsonv2.WithMarshalers(jsonv2.MarshalToFunc(func(e *jsontext.Encoder, n json.Number) error {
	return e.WriteValue(jsontext.Value(n))
}))

// project applies the rules of Digest to an object; the record lacks its digest. Where there are neither masks nor
// rules of the kind the object may be shallow, which costs a quarter.
func project(o Raw, r Rules, shallow bool) (map[string]any, history.StateRecord, error) {
	rec := history.StateRecord{Side: o.Side, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Bytes: len(o.JSON)}
	var obj map[string]any
	if shallow {
		obj = decodeShallow(o.JSON)
	}
	if obj == nil {
		var err error
		if obj, err = decodeObject(o.JSON); err != nil {
			return nil, rec, fmt.Errorf("object %s: %w", rec.Key(), err)
		}
	}
	if o.Side == history.SideApiserver {
		addMissing(obj, "apiVersion", o.APIVersion)
		addMissing(obj, "kind", o.Kind)
	}
	if rec.Kind == "" {
		rec.Kind, _ = obj["kind"].(string)
	}
	meta, _ := obj["metadata"].(map[string]any)
	if rec.Name == "" {
		rec.Name, _ = meta["name"].(string)
		rec.Namespace, _ = meta["namespace"].(string)
	}
	rec.UID, _ = meta["uid"].(string)
	if rv, ok := meta["resourceVersion"].(string); ok {
		// Opaque to clients by contract; one that is not a number stays 0 and is still compared, within the digest.
		rec.ResourceVersion, _ = strconv.ParseUint(rv, 10, 64)
	}
	r.prepare(obj, rec.Kind, rec.Namespace, o.Side)
	return obj, rec, nil
}

// digestBytes of the SHA-256 are kept: 128 bits, far beyond accidental equality.
const digestBytes = 16

// decodeShallow decodes no more of an object than the rules for all kinds ask for; what is deeper is a jsontext.Value.
// nil: the object is not plain, for example has a key twice.
func decodeShallow(raw []byte) map[string]any {
	root := members(raw)
	metadata, _ := root["metadata"].(jsontext.Value)
	meta := members(metadata)
	if meta == nil {
		return nil
	}
	root["metadata"] = meta
	for _, key := range []string{"name", "namespace", "uid", "resourceVersion"} {
		if v, ok := meta[key].(jsontext.Value); ok && v.Kind() == '"' {
			var text string
			if json.Unmarshal(v, &text) != nil {
				return nil
			}
			meta[key] = text
		}
	}
	if annotations, ok := meta["annotations"].(jsontext.Value); ok && annotations.Kind() == '{' {
		meta["annotations"] = members(annotations)
	}
	return root
}

// members are an object's, nil if it is none, is not UTF-8 or has one twice.
func members(object []byte) (all map[string]any) {
	var values map[string]jsontext.Value
	if jsonv2.Unmarshal(object, &values) != nil || values == nil {
		return nil
	}
	all = make(map[string]any, len(values))
	for k, v := range values {
		all[k] = v
	}
	return all
}

func decodeObject(raw []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var obj map[string]any
	if err := d.Decode(&obj); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the object")
	}
	if obj == nil {
		return nil, errors.New("null where an object should stand")
	}
	return obj, nil
}

func addMissing(obj map[string]any, field, value string) {
	if _, ok := obj[field]; !ok && value != "" {
		obj[field] = value
	}
}

func (r *Rules) prepare(obj map[string]any, kind, namespace string, side history.Side) {
	meta, _ := obj["metadata"].(map[string]any)
	if side == history.SideApiserver {
		masked := r.mask(obj, kind, namespace)
		if masked || !r.KeepManagedFields {
			delete(meta, "managedFields")
		}
		if annotations, ok := meta["annotations"].(map[string]any); ok && masked {
			delete(annotations, lastApplied)
		}
	}
	if kind == kindPod {
		removeAnnotations(meta, workloadAnnotations)
	}
	if kind == kindNode {
		delete(meta, "resourceVersion")
		status, _ := obj["status"].(map[string]any)
		conditions, _ := status["conditions"].([]any)
		for _, c := range conditions {
			condition, _ := c.(map[string]any)
			delete(condition, "lastHeartbeatTime")
		}
	}
}

// removeAnnotations also removes a map that is or becomes empty, so that it equals one that was never there.
func removeAnnotations(meta map[string]any, names []string) {
	annotations, ok := meta["annotations"].(map[string]any)
	if !ok {
		return
	}
	for _, n := range names {
		delete(annotations, n)
	}
	if len(annotations) == 0 {
		delete(meta, "annotations")
	}
}

// mask removes the masked fields and reports whether any mask is meant for the object. All paths refer to the object as
// it was read, so list elements are only marked at first.
func (r *Rules) mask(obj map[string]any, kind, namespace string) (masked bool) {
	if slices.Contains(r.CustomKinds, kind) {
		return false
	}
	for _, m := range r.Masks {
		if m.meant(kind, namespace) {
			removePath(obj, m.Path)
			masked = true
		}
	}
	dropMasked(obj)
	return masked
}

// maskedElement marks a list element for dropMasked.
type maskedElement struct{}

// removePath removes what is at path: a map's field by key, a list's element by decimal index. What is not there is
// nothing to remove.
func removePath(v any, path []string) {
	last := len(path) == 1
	switch t := v.(type) {
	case map[string]any:
		if last {
			delete(t, path[0])
			return
		}
		removePath(t[path[0]], path[1:])
	case []any:
		n, err := strconv.Atoi(path[0])
		switch {
		case err != nil || n < 0 || n >= len(t):
		case last:
			t[n] = maskedElement{}
		default:
			removePath(t[n], path[1:])
		}
	}
}

func dropMasked(v any) any {
	switch t := v.(type) {
	case map[string]any:
		for k, e := range t {
			t[k] = dropMasked(e)
		}
	case []any:
		t = slices.DeleteFunc(t, func(e any) bool { return e == maskedElement{} })
		for i, e := range t {
			t[i] = dropMasked(e)
		}
		return t
	}
	return v
}

// Bounds on what Fields says of one object.
const (
	maxFields = 8
	maxValue  = 60 // runes
)

// Fields says in which fields storage's copy of an object is not what Digest's rules make of the apiserver's: path,
// stored and expected value, both shortened; "" where there is no difference. Values of Secrets and of objects with
// masks are left out.
func Fields(apiserver, storage Raw, r Rules) (string, error) {
	expected, rec, err := project(apiserver, r, false)
	if err != nil {
		return "", err
	}
	stored, _, err := project(storage, r, false)
	if err != nil {
		return "", err
	}
	d := fieldDiffer{hide: rec.Kind == kindSecret || slices.ContainsFunc(r.Masks, func(m Mask) bool {
		return m.meant(rec.Kind, rec.Namespace)
	})}
	d.compare("", stored, expected)
	if len(d.found) > maxFields {
		d.found = append(d.found[:maxFields], "…")
	}
	return strings.Join(d.found, "; "), nil
}

type fieldDiffer struct {
	hide  bool     // values
	found []string // one more than maxFields at most
}

type nothing struct{}

func (d *fieldDiffer) compare(path string, stored, expected any) {
	if len(d.found) > maxFields || reflect.DeepEqual(stored, expected) {
		return
	}
	switch e := expected.(type) {
	case map[string]any:
		if s, ok := stored.(map[string]any); ok {
			d.members(path, s, e)
			return
		}
	case []any:
		if s, ok := stored.([]any); ok {
			for i := range max(len(s), len(e)) {
				d.compare(fmt.Sprintf("%s[%d]", path, i), element(s, i), element(e, i))
			}
			return
		}
	}
	d.found = append(d.found, fmt.Sprintf("%s: stored %s, expected %s", path, d.text(stored), d.text(expected)))
}

func (d *fieldDiffer) members(path string, stored, expected map[string]any) {
	all := maps.Clone(stored)
	maps.Copy(all, expected)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		at := fmt.Sprintf("%s[%q]", path, k)
		if plainKey.MatchString(k) {
			at = strings.TrimPrefix(path+"."+k, ".")
		}
		d.compare(at, member(stored, k), member(expected, k))
	}
}

// plainKey is a key that needs no quotes in a path.
var plainKey = regexp.MustCompile(`^[\w-]+$`)

func member(of map[string]any, key string) any {
	if v, ok := of[key]; ok {
		return v
	}
	return nothing{}
}

func element(of []any, i int) any {
	if i < len(of) {
		return of[i]
	}
	return nothing{}
}

func (d *fieldDiffer) text(v any) string {
	if v == (nothing{}) {
		return "nothing"
	}
	if d.hide {
		return "a value"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // of decoded JSON: never
	}
	if text := []rune(string(data)); len(text) > maxValue {
		return string(text[:maxValue]) + "…"
	}
	return string(data)
}
