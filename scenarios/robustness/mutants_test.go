package robustness

// mutant is a watcher with a bug.
type mutant struct {
	Name   string
	Bug    string // what it does wrong, one sentence
	Edits  []edit
	Caught []row // where, each of them
}

// edit replaces a text that occurs exactly once in a file of the repository.
type edit struct{ File, Old, New string }

// row is a scenario of the fault matrix that must catch a mutant.
type row struct {
	Scenario string
	Cells    []string // overrides that choose cells of the scenario, or make it shorter
	Columns  string   // each cell must fail in at least one of them
}

var mutants = []mutant{
	{
		Name: "two-in-flight",
		Bug:  "keyed lets two requests for one object be in flight at once",
		Edits: []edit{{
			"watcher/pipeline/strategy.go",
			"case Keyed:\n\t\treturn shape{partitions: 1, workers: n, exclusive: true}",
			"case Keyed:\n\t\treturn shape{partitions: 1, workers: n}",
		}},
		Caught: []row{
			{"faults/f00-none", nil, "O"},
			{"faults/f04-errors", []string{"matrix.storage=half"}, "O"},
		},
	},
	{
		Name: "relist-forgets-deletions",
		Bug:  "an object that a later list no longer has is forgotten, its deletion never sent",
		Edits: []edit{{
			"watcher/collector/store.go",
			"\tfor _, o := range gone {\n\t\ts.metrics.received.Inc()\n\t\tdelete(s.since, nameOf(o.Key))\n\t\tversion := o.ResourceVersion\n\t\tif s.restored.Load() {\n\t\t\tversion = min(version, s.latest)\n\t\t}\n\t\ts.emitDelete(o.Key, o.UID, version, now)\n\t}\n",
			"",
		}},
		Caught: []row{
			{"faults/f10-gone", nil, "C"},
			{"faults/f11-relist", nil, "C"},
			{"faults/f16-cut-off", nil, "C"},
		},
	},
	{
		Name: "leftovers-stay",
		Bug:  "a comparison does not see rows of storage that have no object",
		Edits: []edit{{
			"watcher/synchronizer/pages.go",
			"case s.ours(kind, r.Data):",
			"case false:",
		}},
		Caught: []row{
			{"faults/f16-while-down", nil, "C"},
			{"faults/f17-tamper", nil, "C"},
		},
	},
	{
		Name: "no-backoff",
		Bug:  "a failed request is repeated at once",
		Edits: []edit{{
			"watcher/pipeline/gate.go",
			"\td := b.Max\n",
			"\treturn 0\n\td := b.Max\n",
		}},
		Caught: []row{
			{"faults/f02-refuse", nil, "A"},
			{"faults/f04-errors", []string{"matrix.storage=half"}, "A"},
		},
	},
	{
		Name: "interim-taken-for-final",
		Bug:  "a 100, 102 or 103 of storage counts as its answer",
		Edits: []edit{{
			"watcher/storage/answer.go",
			"case resp.StatusCode >= http.StatusOK:",
			"case resp.StatusCode >= http.StatusContinue:",
		}},
		Caught: []row{
			{"faults/f04-interim", []string{"matrix.storage=all"}, "CL"},
		},
	},
	{
		Name: "no-drain",
		Bug:  "SIGTERM ends the pipeline without sending what is queued",
		Edits: []edit{{
			"watcher/pipeline/pipeline.go",
			"drain := time.NewTimer(p.config.DrainTimeout)",
			"drain := time.NewTimer(0)",
		}},
		Caught: []row{
			{"faults/f14-term-up", nil, "L"},
		},
	},
	{
		Name: "no-fence",
		Bug:  "after a request of unknown outcome the object is written again at once, like after any error",
		Edits: []edit{{
			"watcher/pipeline/outcome.go",
			"\t\tt.until = max(t.until, after(now, c.FenceDelay))\n",
			"",
		}},
		Caught: []row{
			{"faults/f03-blackhole", nil, "O"},
			{"faults/f05-unknown-faithful", nil, "O"},
			{"faults/f05-unknown-conditional", nil, "O"},
		},
	},
	{
		Name: "merged-deletion-forgotten",
		Bug:  "a deletion that is merged into a waiting event is forgotten",
		Edits: []edit{{
			"watcher/pipeline/queue.go",
			"\tolder := *s\n\ts.ev = e\n",
			"\tif e.Action == Delete && s.ev.Action == Put {\n\t\treturn\n\t}\n\tolder := *s\n\ts.ev = e\n",
		}},
		Caught: []row{
			{"faults/f01-slow", []string{"matrix.storage=50ms,200ms"}, "CL"},
			{"faults/f07-poison-retried", []string{"matrix.storage=500"}, "O"},
		},
	},
	{
		Name: "put-after-delete",
		Bug:  "a PUT that failed is queued again behind the deletion that came meanwhile",
		Edits: []edit{{
			"watcher/pipeline/outcome.go",
			"\tif ent.head == nil {\n\t\ts.entered = now",
			"\tif ent.head == nil || ent.tail.ev.Action == Delete {\n\t\ts.entered = now",
		}},
		Caught: []row{
			{"faults/f03-blackhole", nil, "O"},
			{"faults/f04-errors", []string{"matrix.storage=half"}, "O"},
		},
	},
	{
		Name: "drop-at-resize",
		Bug:  "what a handler queue that was made shorter no longer has room for is thrown away, and counted as coalesced",
		Edits: []edit{{
			"watcher/pipeline/resize.go",
			"\t\tq.capacity = c.HandlerQueueLen\n",
			`		q.capacity = c.HandlerQueueLen
		for q.depth > q.capacity && q.hasReady() {
			ent := q.popReady()
			l.freeSlot(ent.pop())
			q.depth--
			l.settleCoalesced(1)
			l.resume(ent, now)
		}
`,
		}},
		Caught: []row{
			{"robustness/f20-queues", []string{"matrix.storage=up"}, "CL"},
		},
	},
	{
		Name: "keyed-merges",
		Bug:  "keyed drops a state that waits when a newer one of its object comes, and counts it as coalesced",
		Edits: []edit{{
			"watcher/pipeline/strategy.go",
			"case Keyed:\n\t\treturn shape{partitions: 1, workers: n, exclusive: true}",
			"case Keyed:\n\t\treturn shape{partitions: 1, workers: n, exclusive: true, merge: true}",
		}},
		Caught: []row{
			{"faults/f00-none", []string{"load.hotkeys.share=0.3", "load.hotkeys.objects=32", "load.hotkeys.zipf=0"}, "L"}, // merging takes most of the pairs that O needs
		},
	},
	{
		Name: "wrong-while-newer-waits",
		Bug:  "a state that a newer one already follows is sent with a wrong restart count",
		Edits: []edit{
			{"watcher/pipeline/lane.go", "import (\n", "import (\n\t\"bytes\"\n"},
			{
				"watcher/pipeline/lane.go",
				"\ts = ent.pop()\n",
				`	s = ent.pop()
	if o := s.ev.Object; ent.head != nil && o != nil {
		s.ev.Object = o.With(bytes.ReplaceAll(o.JSON(), []byte("\"restartCount\":"), []byte("\"restartCount\":1")))
	}
`,
			},
		},
		Caught: []row{
			{"faults/f00-none", nil, "C"},
		},
	},
	{
		Name: "older-list-believed",
		Bug:  "a list from a cache that is behind replaces what is known",
		Edits: []edit{{
			"watcher/collector/history.go",
			"\tif v < h.latest {\n",
			"\tif v < h.latest && false {\n",
		}},
		Caught: []row{
			{"faults/f08-older", nil, "CO"},
		},
	},
	{
		Name: "counter-off-by-one",
		Bug:  "the counters of a kind begin at 1",
		Edits: []edit{{
			"watcher/pipeline/lane.go",
			"counts{freshness: meter.NewFreshness()}",
			"counts{freshness: meter.NewFreshness(), received: 1, sent: 1}",
		}},
		Caught: []row{
			{"faults/f00-none", nil, "L"},
		},
	},
	{
		Name: "repair-overtakes",
		Bug:  "a repair is written to storage at once, past what waits in the pipeline",
		Edits: []edit{
			{
				"watcher/copying.go",
				"\tworkload workload\n}\n",
				"\tworkload workload\n\tplatform *platform\n}\n",
			},
			{
				"watcher/copying.go",
				"expectation{c.collector, workload{cache: c.collector}}",
				"expectation{c.collector, workload{cache: c.collector}, c.platform}",
			},
			{
				"watcher/copying.go",
				"// Expected implements synchronizer.Cache.\n",
				`// Repair implements synchronizer.Cache.
func (e expectation) Repair(ctx context.Context, k object.Key) error {
	to := e.platform.storage
	if o, ok := e.Expected(k); ok {
		return to.Put(ctx, o)
	}
	return to.Delete(ctx, k, "")
}

// Expected implements synchronizer.Cache.
`,
			},
			{
				"watcher/synchronizer/compare.go",
				"\tif first && x.newer || !behind && s.set.Pipeline.Pending(x.Key) {\n",
				"\tif first && x.newer {\n",
			},
			{
				"watcher/synchronizer/compare.go",
				"\tif !behind && s.set.Pipeline.Pending(x.Key) || x.proven && s.overtaken(x) {\n\t\treturn undecided, nil\n\t}\n",
				"",
			},
			{
				"watcher/synchronizer/pages.go",
				"\t\tif touched(x.Key) {\n",
				"\t\tif false && touched(x.Key) {\n",
			},
			{
				"watcher/synchronizer/compare.go",
				"\tif s.set.Pipeline.Pending(x.Key) {\n\t\treturn false, errOpen\n\t}\n",
				"",
			},
		},
		Caught: []row{
			{"faults/f17-sync-churn", nil, "O"},
		},
	},
	{
		Name: "one-mask-off",
		Bug:  "a kind with a single mask is sent unmasked",
		Edits: []edit{{
			"watcher/object/recipe.go",
			"if len(masks) == 0 && !m.spaced",
			"if len(masks) <= 1 && !m.spaced",
		}},
		Caught: []row{
			{"faults/f26-canaries", nil, "S"},
		},
	},
	{
		Name: "applied-copy-sent",
		Bug:  "the annotation in which kubectl repeats masked fields is sent",
		Edits: []edit{{
			"watcher/object/recipe.go",
			"\tif len(masks) > 0 {\n\t\tmasks = append(masks, repeated...)\n\t} else if",
			"\tif",
		}},
		Caught: []row{
			{"faults/f26-canaries", nil, "CS"},
		},
	},
	{
		Name: "lost-lease-kept",
		Bug:  "a leader that could not renew its lease goes on writing",
		Edits: []edit{{
			"watcher/leader/elector.go",
			"\treturn e.cfg.RenewDeadline - r.since()\n",
			"\treturn e.cfg.RenewDeadline\n",
		}, {
			"watcher/leader/elector.go",
			"\t\tcase errors.Is(err, ErrLost):\n\t\t\treturn err\n",
			"",
		}},
		Caught: []row{
			{"robustness/f23-lease", nil, "O"},
			{"robustness/f23-mute", nil, "O"},
		},
	},
	{
		Name: "whole-reply-read",
		Bug:  "the answer of a receiver is read to its end, however long it is",
		Edits: []edit{{
			"watcher/notify/delivery/webhook.go",
			"\t_, _ = io.CopyN(io.Discard, resp.Body, maxReply)\n",
			"\t_, _ = io.Copy(io.Discard, resp.Body)\n",
		}},
		Caught: []row{
			{"robustness/f24-receivers", []string{"matrix.readers=faulty"}, "B"},
		},
	},
	{
		Name: "queue-without-bound",
		Bug:  "what waits for a receiver is bounded by its bytes alone",
		Edits: []edit{{
			"watcher/notify/queue.go",
			"return q.count < q.length && q.size < q.bytes }",
			"return q.size < q.bytes }",
		}},
		Caught: []row{
			{"robustness/f24-receivers", []string{"matrix.readers=faulty"}, "B"},
		},
	},
	{
		Name: "address-not-checked",
		Bug:  "where a webhook goes is not checked when it is dialled",
		Edits: []edit{{
			"watcher/notify/delivery/egress.go",
			"if err := guard.Safe(network, address, nil); err != nil {",
			"if err := guard.Safe(network, address, nil); err != nil && address == \"\" {",
		}},
		Caught: []row{
			{"robustness/f25-forged", nil, "S"},
		},
	},
	{
		Name: "redirects-followed",
		Bug:  "a receiver may send the watcher elsewhere",
		Edits: []edit{{
			"watcher/notify/delivery/webhook.go",
			"\tresp, err := t.client.RoundTrip(req)\n",
			"\tresp, err := (&http.Client{Transport: t.client}).Do(req)\n",
		}},
		Caught: []row{
			{"robustness/f25-forged", nil, "S"},
		},
	},
	{
		Name: "access-by-kind",
		Bug:  "what a user may read in one namespace is remembered for all",
		Edits: []edit{{
			"watcher/access/reviewer.go",
			"\ttext, err := json.Marshal(spec)\n",
			"\tkey := spec\n\tif spec.ResourceAttributes != nil {\n\t\tr := *spec.ResourceAttributes\n\t\tr.Namespace = \"\"\n\t\tkey.ResourceAttributes = &r\n\t}\n\ttext, err := json.Marshal(key)\n",
		}},
		Caught: []row{
			{"robustness/f28-abuse", []string{"matrix.events=abuse"}, "S"},
		},
	},
	{
		Name: "secrets-served",
		Bug:  "whoever may read Secrets at the API server may read them here, though they are withheld",
		Edits: []edit{{
			"watcher/watches/open.go",
			"if w.deny.has(r.Group, r.Resource) {",
			"if w.deny.has(r.Group, r.Resource) && r.Group != \"\" {",
		}},
		Caught: []row{
			{"robustness/f28-abuse", []string{"matrix.events=abuse"}, "S"},
		},
	},
	{
		Name: "connections-without-bound",
		Bug:  "every client that connects is served, however many there are",
		Edits: []edit{{
			"internal/lifecycle/bound.go",
			"free: make(chan struct{}, bounds.Connections)",
			"free: make(chan struct{}, bounds.Connections+1<<16)",
		}},
		Caught: []row{
			{"robustness/f28-abuse", []string{"matrix.events=abuse"}, "B"},
		},
	},
	{
		Name: "scans-without-seats",
		Bug:  "readers that look at every object all work at once, without pauses",
		Edits: []edit{
			{
				"watcher/access/seats.go",
				"free: max(1, runtime.GOMAXPROCS(0)/2)",
				"free: max(1<<16, runtime.GOMAXPROCS(0))",
			},
			{"watcher/access/seats.go", "mostBegun = 16", "mostBegun = 1 << 16"},
			{"internal/lifecycle/work.go", "\tw.Rest()\n\treturn true\n", "\treturn true\n"},
		},
		Caught: []row{
			{"robustness/f28-scans", []string{"matrix.events=scans"}, "X"},
		},
	},
	{
		Name: "restore-refused",
		Bug:  "the list of a restored cluster is refused like one from a lagging cache",
		Edits: []edit{{
			"watcher/collector/history.go",
			"believed = !h.afresh.Load() // else the verifier has said so\n",
			"believed = true\n",
		}},
		Caught: []row{
			{"faults/f29-restored", nil, "C"},
			{"faults/f29-restored-etcd", nil, "C"},
		},
	},
	{
		Name: "lost-deletions-unseen",
		Bug:  "a comparison with the API server does not notice deleted objects",
		Edits: []edit{{
			"watcher/collector/verify.go",
			"range v.store.missing() {",
			"range v.store.missing()[:0] {",
		}},
		Caught: []row{
			{"faults/f30-lost-deleted", nil, "C"},
		},
	},
	{
		Name: "lost-changes-unseen",
		Bug:  "a comparison with the API server ignores versions",
		Edits: []edit{{
			"watcher/collector/verify.go",
			"o.UID == m.UID && o.ResourceVersion == m.Version() {",
			"o.UID == m.UID {",
		}},
		Caught: []row{
			{"faults/f30-lost-modified", nil, "C"},
		},
	},
}
