package party

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
)

// MaxExplained bounds the states whose fields are compared.
const MaxExplained = 20

// Former reads what storage was sent and holds no more, each with what the apiserver served at its version, as far as
// both still know; while a cell runs this costs nobody anything.
func Former(
	ctx context.Context, m *Storage, a *APIServer, watched []string, rules check.Rules,
) (sent []history.StateRecord, err error) {
	type version struct {
		history.Key
		uid string
		rv  uint64
	}
	var raws []check.Raw
	at, versions := map[version][]int{}, map[string][]uint64{}
	err = m.each(ctx, "former=true", func(raw check.Raw) error {
		r, err := check.Digest(raw, rules)
		v := version{r.Key(), r.UID, r.ResourceVersion}
		at[v] = append(at[v], len(sent))
		versions[r.Kind] = append(versions[r.Kind], r.ResourceVersion)
		sent, raws = append(sent, r), append(raws, raw)
		return err
	})
	if err != nil {
		return nil, m.Lost(ctx, err)
	}
	explained := 0
	for _, kind := range watched {
		rvs := versions[kind]
		slices.Sort(rvs)
		serves := func(object json.RawMessage) (last bool, err error) {
			raw := check.Raw{Side: history.SideApiserver, APIVersion: groupVersion(kind), Kind: kind, JSON: object}
			r, err := check.Digest(raw, rules)
			for _, i := range at[version{r.Key(), r.UID, r.ResourceVersion}] {
				s := &sent[i]
				if s.Served = r.Digest; s.Served != s.Digest && explained < MaxExplained && err == nil {
					explained++
					s.Differs, err = check.Fields(raw, raws[i], rules)
				}
			}
			return r.ResourceVersion >= rvs[len(rvs)-1], err
		}
		for err = errUntold; errors.Is(err, errUntold) && len(rvs) > 0; rvs = rvs[1+len(rvs)/8:] {
			err = a.since(ctx, kind, max(rvs[0], 1)-1, serves)
		}
		if err != nil && !errors.Is(err, errUntold) {
			return nil, err
		}
	}
	return sent, nil
}

// errUntold means that the apiserver does not say what happened after a version, as when it has forgotten.
var errUntold = errors.New("the apiserver does not say what happened after this version")

// since passes on the states that objects of a built-in kind had after a version, in their order,
// until the last or for 10 s.
func (a *APIServer) since(
	ctx context.Context, kind string, rv uint64, state func(json.RawMessage) (last bool, err error),
) error {
	path := fmt.Sprintf("%s?watch=true&timeoutSeconds=10&resourceVersion=%d", collection(kind, ""), rv)
	resp, err := get(ctx, a.http, a.Base+path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	events := json.NewDecoder(resp.Body)
	for last := false; !last && err == nil; {
		var e struct {
			Type   string
			Object json.RawMessage
		}
		if err = events.Decode(&e); err == nil && e.Type == "ERROR" {
			err = fmt.Errorf("%w: %.300s", errUntold, e.Object)
		}
		if err == nil {
			last, err = state(e.Object)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
