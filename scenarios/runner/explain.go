package runner

import (
	"cmp"
	"context"
	"slices"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

// explain notes in storage's records which fields are not as expected where both sides hold the same version of an
// object. The records have digests only, so both sides are read once more; what changed meanwhile is left as it is.
func (c *cell) explain(ctx context.Context, want, have []history.StateRecord) error {
	wrong := mismatched(want, have)
	if len(wrong) == 0 {
		return nil
	}
	var keys []history.Key
	for _, r := range wrong {
		keys = append(keys, r.Key())
	}
	bodies, err := c.storage.Objects(ctx, keys)
	if err != nil {
		return c.storage.Lost(ctx, err)
	}
	for _, r := range wrong {
		body, err := c.api.Object(ctx, r.Key())
		if err != nil || body == nil {
			continue // gone meanwhile, or custom: the digests still differ
		}
		expected := check.Raw{Side: history.SideApiserver, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, JSON: body}
		if now, err := check.Digest(expected, c.rules); err != nil ||
			now.ResourceVersion != r.ResourceVersion && r.ResourceVersion != 0 {
			continue
		}
		if r.Differs, err = check.Fields(expected, bodies[r.Key()], c.rules); err != nil {
			return err
		}
	}
	return nil
}

// mismatched are storage's records with other content than the apiserver's of the same version, by name.
func mismatched(want, have []history.StateRecord) (wrong []*history.StateRecord) {
	expected := make(map[history.Key]history.StateRecord, len(want))
	for _, w := range want {
		expected[w.Key()] = w
	}
	for i := range have {
		r := &have[i]
		w, ok := expected[r.Key()]
		same := (r.UID == w.UID || r.UID == "") && (r.ResourceVersion == w.ResourceVersion || r.ResourceVersion == 0)
		if ok && same && (r.Digest != w.Digest || r.UID != w.UID) {
			wrong = append(wrong, r)
		}
	}
	slices.SortFunc(wrong, func(a, b *history.StateRecord) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return wrong[:min(len(wrong), party.MaxExplained)]
}
