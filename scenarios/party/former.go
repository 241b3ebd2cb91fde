package party

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
)

// version is one state of an object.
type version struct {
	history.Key
	uid string
	rv  uint64
}

func versionOf(r *history.StateRecord) version { return version{r.Key(), r.UID, r.ResourceVersion} }

// maxExplained bounds the states whose fields are compared.
const maxExplained = 20

// Former reads what storage was sent and holds no more, and before it what the apiserver served at
// those versions, as far as both still know: the mock keeps its latest records packed as they were,
// the apiserver a window of changes for watches. So while a cell runs this costs nobody anything.
func Former(ctx context.Context, m *Storage, a *APIServer, kinds []string, rules check.Rules) (
	[]history.StateRecord, error,
) {
	sent, err := m.digests(ctx, former, rules)
	if err != nil {
		return nil, m.Lost(ctx, err)
	}
	at := map[version]*history.StateRecord{}
	versions := map[string][]uint64{}
	for i := range sent {
		r := &sent[i]
		at[versionOf(r)] = r
		versions[r.Kind] = append(versions[r.Kind], r.ResourceVersion)
	}
	var served []history.StateRecord
	wrong := map[version]check.Raw{} // by what the apiserver served
	for _, kind := range kinds {
		rvs := versions[kind]
		for slices.Sort(rvs); len(rvs) > 0; rvs = rvs[1+len(rvs)/8:] {
			err := a.since(ctx, kind, max(rvs[0], 1)-1, rvs[len(rvs)-1], func(raw check.Raw) (uint64, error) {
				r, err := check.Digest(raw, rules)
				if s := at[versionOf(&r)]; s != nil && err == nil {
					served = append(served, r)
					if s.Digest != r.Digest && len(wrong) < maxExplained {
						wrong[versionOf(&r)] = raw
					}
				}
				return r.ResourceVersion, err
			})
			if err == nil {
				break
			}
			if !errors.Is(err, errForgotten) { // else from a later version on
				return nil, err
			}
		}
	}
	if len(wrong) == 0 {
		return append(served, sent...), nil
	}
	err = m.each(ctx, former, func(raw check.Raw) error {
		r, err := check.Digest(raw, rules)
		if expected, ok := wrong[versionOf(&r)]; ok && err == nil {
			at[versionOf(&r)].Differs, err = check.Fields(expected, raw, rules)
		}
		return err
	})
	return append(served, sent...), err
}

// errForgotten means that the apiserver does not know any more what happened after a version.
var errForgotten = errors.New("the apiserver has forgotten what happened after this version")

// sinceSeconds ends a watch for a version that does not come.
const sinceSeconds = 10

// since passes on the states that objects of a built-in kind had after the version from, in their
// order, until one of the version to has come. state returns the version of each.
func (a *APIServer) since(
	ctx context.Context, kind string, from, to uint64, state func(check.Raw) (uint64, error),
) error {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	path := fmt.Sprintf("%s?watch=true&timeoutSeconds=%d&resourceVersion=%d", collection(kind, ""), sinceSeconds, from)
	resp, err := get(ctx, a.http, a.Base+path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for events := json.NewDecoder(resp.Body); ; {
		var e struct {
			Type   string
			Object json.RawMessage
		}
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("watch %s: %w", path, err)
		}
		if e.Type == "ERROR" {
			var s metav1.Status
			if err := json.Unmarshal(e.Object, &s); err == nil && s.Code == http.StatusGone {
				return errForgotten
			}
			return fmt.Errorf("watch %s: the apiserver answers %.300s", path, e.Object)
		}
		raw := check.Raw{Side: history.SideApiserver, APIVersion: kindGroups[kind], Kind: kind, JSON: e.Object}
		if v, err := state(raw); err != nil || v >= to {
			return err
		}
	}
}
