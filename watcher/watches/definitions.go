package watches

import (
	"context"
	"maps"
	"time"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
)

// definitionsGVR is followed to learn which custom kinds are served before discovery says so.
var definitionsGVR = GVR{collector.Definitions.Group, collector.Definitions.Version, collector.Definitions.Name}

// definition lists the kinds that a CustomResourceDefinition adds: none if it is
// not established or gone.
type definition struct {
	kinds []Kind
	at    time.Time // when it went; zero while it is there
}

// goneFor is how long nobody else is believed about a kind whose definition is gone: an
// answer of discovery may be older than that.
const goneFor = 30 * time.Second

func (d *definition) gone() bool { return !d.at.IsZero() }

// readDefinition takes the JSON of a CustomResourceDefinition.
func readDefinition(raw []byte) (*definition, error) {
	in, err := collector.ReadDefinition(raw)
	if err != nil {
		return nil, err
	}
	d := &definition{}
	for _, v := range in.Versions {
		k := Kind{Resource: in.Resource, Singular: in.Singular, ShortNames: in.ShortNames, Categories: in.Categories}
		k.Version = v.Name
		if in.Established && v.Served && k.Validate() == nil {
			d.kinds = append(d.kinds, k)
		}
	}
	return d, nil
}

// followCustom follows the CustomResourceDefinitions for as long as they are served.
func (w *Watches) followCustom(ctx context.Context) {
	select {
	case <-w.known:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		h, _, err := w.hold(definitionsGVR, true)
		if err == nil {
			err = w.followDefinitions(ctx, h)
			h.release()
		}
		w.logger.Debug("the CustomResourceDefinitions are not followed", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

func (w *Watches) followDefinitions(ctx context.Context, h *hold) error {
	if err := w.synced(ctx, h); err != nil {
		return err
	}
	v := h.view
	s, err := v.Snapshot()
	if err != nil {
		return err
	}
	all := map[string]*definition{}
	var buf []byte
	s.Ascend("", view.Name{}, func(o *object.Object) bool {
		all[o.Key.Name], buf = w.definitionOf(o, buf)
		return true
	})
	maps.Copy(all, w.vanished(all))
	cursor := v.FollowAll(s)
	changes := make([]view.Change, 0, 64)
	for {
		w.define(all)
		w.endUnserved()
		got, _, err := cursor.Next(ctx, changes)
		if err != nil {
			return err
		}
		clear(all)
		for _, c := range got {
			name := c.Object.Key.Name
			if c.Type == view.Deleted {
				all[name] = &definition{at: time.Now()}
			} else {
				all[name], buf = w.definitionOf(c.Object, buf)
			}
		}
	}
}

// definitionOf reads o with the help of buf. One that cannot be read is none.
func (w *Watches) definitionOf(o *object.Object, buf []byte) (*definition, []byte) {
	plain, buf := o.Unpacked(buf)
	d, err := readDefinition(plain.Raw)
	if err != nil {
		w.logger.Warn("CustomResourceDefinition ignored", "name", o.Key.Name, "error", err)
		return &definition{}, buf
	}
	return d, buf
}
