package spec

import "cmp"

// Where readers read from.
const (
	FromWatcher   = "watcher"
	FromAPIServer = "apiserver"
)

// Readers are programs that read Pods while the load goes on, and receive notifications. The zero value is none.
type Readers struct {
	From         string `json:"from,omitempty" jsonschema:"enum=watcher,enum=apiserver,example=watcher" jsonschema_description:"watcher (the default) or, for comparison, apiserver. Without readers, watcher still enables its read API."`
	Get          int    `json:"get,omitempty" jsonschema:"minimum=0,maximum=100000,example=2000" jsonschema_description:"GETs of prefilled Pods per second, open loop. At most 64 in flight; later ones are sent late, and their latency counts from when they were due."`
	List         int    `json:"list,omitempty" jsonschema:"minimum=0,maximum=100000,example=20" jsonschema_description:"LISTs of Pods per second, at most 8 in flight."`
	Limit        int    `json:"limit,omitempty" jsonschema:"minimum=0,maximum=100000,example=500" jsonschema_description:"Objects per LIST (first page only); 0: all."`
	Watches      int    `json:"watches,omitempty" jsonschema:"minimum=0,maximum=10000,example=500" jsonschema_description:"Watches of all Pods, one connection each."`
	Webhooks     int    `json:"webhooks,omitempty" jsonschema:"minimum=0,maximum=100,example=4" jsonschema_description:"Webhook receivers, each subscribed to all Pods."`
	WebhookQueue int    `json:"webhookQueue,omitempty" jsonschema:"minimum=0,maximum=1000000,example=256" jsonschema_description:"Max events queued per receiver; 0: the watcher's default."`
}

// Asked reports whether there are any readers, or the resource watcher is to run for none.
func (r *Readers) Asked() bool { return r.From != "" || r.Any() }

// Any reports whether anyone reads, so that there is a record of it.
func (r *Readers) Any() bool { return r.Get+r.List+r.Watches+r.Webhooks > 0 }

// Source is the server that the readers ask.
func (r *Readers) Source() string { return cmp.Or(r.From, FromWatcher) }

// Served reports whether the watcher serves: its resource watcher runs.
func (r *Readers) Served() bool { return r.Asked() && r.Source() == FromWatcher }

func (s *Scenario) validateReaders() error {
	r := &s.Readers
	if !r.Asked() {
		return nil
	}
	const ours = "leave it out, or set readers.from: apiserver"
	w := &s.Watcher
	switch {
	case s.Simulated():
		return bad("readers", "use another provider, or leave it out",
			"readers need a real apiserver, which cluster.provider %s is not", ProviderSimulated)
	case r.Get > 0 && s.Load.Prefill == 0:
		const none = "no Pod exists before the load that could be asked for"
		return bad("readers.get", "set load.prefill, for example 300", none)
	case r.Limit > 0 && r.List == 0:
		return bad("readers.list", "set it, for example to 20", "a limit of LISTs, and no LIST")
	case r.WebhookQueue > 0 && r.Webhooks == 0:
		return bad("readers.webhooks", "set it, for example to 4", "a queue of receivers, and no receiver")
	case r.Source() == FromAPIServer && r.Webhooks > 0:
		return bad("readers.webhooks", "leave it out, or readers.from", "an apiserver notifies nobody")
	case r.Served() && (w.Command != "" || w.Profile != "default"):
		return bad("readers.from", ours, "only k8s-watch with the profile default serves what it has")
	case r.Served() && (w.Replicas > 1 || s.Load.LabelShards > 0):
		return bad("readers.from", ours, "with several watchers, none has all Pods, or only one serves them")
	}
	return nil
}
