package apisim

import (
	"net/http"
	"net/url"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

type options struct {
	*kubeapi.Options
	path    kubeapi.Path
	fields  kubeapi.Fields // of the kind
	partial bool           // only metadata is shown
	shards  bool           // a shardSelector counts
}

func (o *options) parse(q url.Values) (err error) {
	if !o.shards {
		q.Del("shardSelector")
	}
	o.Options, err = kubeapi.ParseOptions(q, o.path.Namespace, kubeapi.Limits{Shards: true})
	switch {
	case err != nil && o.Options != nil && o.Watch: // a watch finds a bad version out later, where errors have no reason
		return kubeapi.Status(http.StatusInternalServerError, "", "%v", err)
	case err != nil:
		return err
	}
	return o.fields.Check(o.FieldSelector)
}

func (o *options) matches(v *version) bool {
	return v != nil && (o.path.Namespace == "" || o.path.Namespace == v.Namespace) &&
		(o.Shard == nil || o.Shard.Holds(v.Namespace, v.Name, v.uid)) && (o.Everything() ||
		o.Selects(&kubeapi.Attributes{Name: v.key, Labels: v.labels, Values: v.fields, Fields: o.fields}))
}
