package synchronizer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
)

// Source is the cluster of an Audit, read and not cached.
type Source interface {
	// Objects calls each for every object of a kind that storage should hold.
	Objects(ctx context.Context, kind string, whole bool, each func(object.Key, State)) error
	ClusterScoped(kind string) bool
	APIVersion(kind string) string // with which objects of a kind are sent
}

// State identifies one state of an object.
type State struct {
	UID         string
	Version     uint64        // 0: none, or no number
	Created     int64         // Unix seconds, 0: not known
	Sum         uint64        // of the object as it is sent, if it was asked for whole
	Annotations []object.Pair // as in Expectation
}

// AuditConfig configures an Audit.
type AuditConfig struct {
	Config
	Kinds    []string      // in the order in which they are compared
	Gone     []string      // kinds of which storage should hold nothing
	Complete bool          // so it is with those that storage remembers and Kinds does not have
	Content  bool          // compare bodies, too
	Wait     time.Duration // between the two looks at a difference
}

// KindReport counts what was found of one kind.
type KindReport struct {
	Kind        string `json:"kind"`
	Objects     int    `json:"objects"`
	Rows        int    `json:"rows"`
	Missing     int    `json:"missing"`
	Stale       int    `json:"stale"`
	LeftOver    int    `json:"leftOver"`
	Altered     int    `json:"altered"`
	NotCompared string `json:"notCompared,omitempty"` // why
	Error       string `json:"error,omitempty"`       // why it could not be read whole
}

// Problem classifies a row that is wrong.
type Problem string

// The problems of rows.
const (
	Missing  Problem = "missing"   // there is none of the object
	Stale    Problem = "stale"     // of an earlier state of the object, or of one before it
	LeftOver Problem = "left over" // there is no such object
	Altered  Problem = "altered"   // no state that the object had
)

// Finding is a row that is wrong.
type Finding struct {
	Problem   Problem `json:"problem"`
	Kind      string  `json:"kind"`
	Namespace string  `json:"namespace,omitempty"`
	Name      string  `json:"name"`
	// Age is the time since the row was written or, where it is missing, since the object was
	// created, in seconds; -1 if that is not known.
	Age    int64  `json:"ageSeconds"`
	Detail string `json:"detail"`
}

// Audit compares storage with the cluster by the code of the Synchronizer and repairs nothing.
// It looks twice: a difference is a Finding if the row is still the same after Wait and lacks a
// state that the object had all that time.
type Audit struct {
	comparison
	cfg    AuditConfig
	source Source
	states map[object.Key]State // of the kind that is compared
	most   int                  // differences that are kept before they are looked at again
}

// mostDoubts is that, but for those of one kind: they take 160 bytes each.
const mostDoubts = 50_000

// NewAudit starts nothing. Of the settings it takes Storage and Logger.
func NewAudit(cfg AuditConfig, set Settings, source Source) *Audit {
	a := &Audit{cfg: cfg, source: source, most: mostDoubts}
	a.comparison = newComparison(cfg.Config, set, a)
	a.audits = true
	return a
}

// doubt is a difference as one look shows it.
type doubt struct {
	object.Key
	row    row
	object State
	exists bool // the object does
}

// Run compares all kinds and calls found for each row that is wrong. It fails only when ctx
// ends.
func (a *Audit) Run(ctx context.Context, found func(Finding)) ([]KindReport, error) {
	var reports []KindReport
	doubts := map[string][]doubt{}
	if a.cfg.Complete {
		if err := a.findGone(ctx); err != nil {
			reports = append(reports, KindReport{Kind: StateKind, Error: "storage: " + err.Error()})
		}
	}
	kept := 0
	again := func() {
		if kept > 0 {
			_ = lifecycle.Pause(ctx, a.cfg.Wait) // an end of ctx is seen below
		}
		for i := range reports {
			if r := &reports[i]; len(doubts[r.Kind]) > 0 {
				r.try(ctx, func() error { return a.second(ctx, r, doubts[r.Kind], found) })
				delete(doubts, r.Kind)
			}
		}
		kept = 0
	}
	for _, kind := range slices.Concat(a.cfg.Kinds, a.cfg.Gone) {
		r := KindReport{Kind: kind}
		if compared(kind) {
			r.try(ctx, func() error { return a.first(ctx, &r, doubts) })
		} else if r.NotCompared = "storage lists none"; kind == bcsapi.KindEvent {
			r.NotCompared = "storage keeps Events by age"
		}
		reports = append(reports, r)
		if kept += len(doubts[kind]); kept >= a.most {
			again()
		}
	}
	again()
	return reports, context.Cause(ctx)
}

// try reads a kind, once more if there was a moment's trouble, and notes what failed.
func (r *KindReport) try(ctx context.Context, read func() error) {
	err := read()
	if err != nil && lifecycle.Pause(ctx, time.Second) == nil {
		err = read()
	}
	if err != nil {
		r.Error = err.Error()
	}
}

// findGone adds the kinds that a watcher of that name collected, and none does now.
func (a *Audit) findGone(ctx context.Context) error {
	theirs := slices.Concat(a.cfg.Kinds, a.cfg.Gone)
	var ours []string
	err := a.records(ctx, func(name string, s state) {
		if name == a.comparison.cfg.Name {
			ours = slices.Concat(s.Kinds, s.Leaving)
		} else {
			theirs = append(theirs, s.Kinds...)
		}
	})
	a.cfg.Gone = append(a.cfg.Gone, slices.DeleteFunc(ours, func(kind string) bool {
		return slices.Contains(theirs, kind)
	})...)
	return err
}

// first counts a kind, unless it cannot be read whole, and keeps its differences.
func (a *Audit) first(ctx context.Context, r *KindReport, doubts map[string][]doubt) error {
	suspects, err := a.read(ctx, r.Kind)
	r.Objects, r.Rows = len(a.states), len(a.states)
	doubts[r.Kind] = make([]doubt, 0, len(suspects))
	for _, x := range suspects {
		if x.leftover {
			r.Rows++
		} else if !x.row.found {
			r.Rows--
		}
		doubts[r.Kind] = append(doubts[r.Kind], a.doubt(x))
	}
	a.states = nil
	if err != nil { // these are of a part
		r.Objects, r.Rows = 0, 0
	}
	return err
}

// second reports the differences that are left of the first look.
func (a *Audit) second(ctx context.Context, r *KindReport, was []doubt, found func(Finding)) error {
	known := make(map[object.Key]int, len(was))
	for i, d := range was {
		known[d.Key] = i
	}
	suspects, err := a.read(ctx, r.Kind)
	if err != nil {
		return err
	}
	for _, x := range suspects {
		i, is := known[x.Key]
		if !is {
			continue
		}
		now := a.doubt(x)
		if p := was[i].settle(now); p != "" {
			now.report(p, r, found)
		}
	}
	a.states = nil
	return nil
}

// read compares a kind. Bodies are read where versions do not show a change: there are none,
// or they also count the heartbeats of a Node.
func (a *Audit) read(ctx context.Context, kind string) (suspects []suspect, err error) {
	whole := a.cfg.Content || kind == kindNode
	for again := true; again; {
		a.states, again = map[object.Key]State{}, false
		if slices.Contains(a.cfg.Gone, kind) {
			break
		}
		if err := a.source.Objects(ctx, kind, whole, func(k object.Key, s State) {
			a.states[k] = s
			again = again || s.Version == 0 && !whole
		}); err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		whole = whole || again
	}
	switch c := a.suspects(ctx, kind, whole, true); {
	case c.err != nil:
		return nil, fmt.Errorf("storage: %w", c.err)
	case !c.sound:
		return nil, errors.New("storage: its pages changed while they were read, and may have left out rows: run the audit " +
			"again")
	default:
		return c.suspects, nil
	}
}

func (a *Audit) doubt(x suspect) doubt {
	s, exists := a.states[x.Key]
	return doubt{x.Key, x.row, s, exists}
}

// settle compares two looks at a difference; "" if it did not last.
func (was doubt) settle(now doubt) Problem {
	row, o := now.row, now.object
	switch {
	case !row.same(was.row), now.exists != was.exists:
		return ""
	case !now.exists:
		return LeftOver
	case row.version != 0 && row.version < was.object.Version:
		return Stale
	case row.version > max(was.object.Version, o.Version),
		row.found && row.version == 0 && min(was.object.Version, o.Version) > 0:
		return Altered // whatever the object does meanwhile
	case o.UID != was.object.UID:
		return ""
	case !row.found:
		return Missing
	case o.Version != was.object.Version, o.Version == 0 && o.Sum != was.object.Sum:
		return ""
	}
	return Altered
}

// report counts and reports what a difference turned out to be.
func (was doubt) report(p Problem, r *KindReport, found func(Finding)) {
	f := Finding{Problem: p, Kind: was.Kind, Namespace: was.Namespace, Name: was.Name, Age: -1}
	since := was.row.updated
	versions := fmt.Sprintf("row at version %d, object at %d", was.row.version, was.object.Version)
	other := was.row.uid != was.object.UID
	switch p {
	case Missing:
		r.Missing++
		since = was.object.Created
		f.Detail = fmt.Sprintf("object at version %d", was.object.Version)
	case LeftOver:
		r.LeftOver++
		f.Detail = "no such object"
	case Stale:
		r.Stale++
		if f.Detail = versions; other {
			f.Detail += ", of an earlier object of that name"
		}
	case Altered:
		r.Altered++
		switch f.Detail = versions; {
		case other:
			f.Detail = "uid " + strconv.Quote(was.row.uid) + ", of the object " + strconv.Quote(was.object.UID)
		case was.row.version == was.object.Version:
			f.Detail = "same version, other content"
		}
	}
	if since > 0 {
		f.Age = max(0, time.Now().Unix()-since)
	}
	found(f)
}

// ExpectedKeys implements cluster, in the order in which they are reported.
func (a *Audit) ExpectedKeys(string) []object.Key {
	return slices.SortedFunc(maps.Keys(a.states), func(a, b object.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// Expectation implements cluster.
func (a *Audit) Expectation(k object.Key) (Expectation, bool) {
	s, expected := a.states[k]
	e := Expectation{APIVersion: a.source.APIVersion(k.Kind), UID: s.UID, From: s.Version, To: s.Version,
		Annotations: s.Annotations}
	if k.Kind == kindNode {
		e.From = 0 // an older record may hold the same but for heartbeats
	}
	return e, expected
}

// ClusterScoped implements cluster.
func (a *Audit) ClusterScoped(kind string) bool { return a.source.ClusterScoped(kind) }

// Trace implements cluster. An Audit cannot see what is in flight: settle accounts for it.
func (a *Audit) Trace(string) (touched func(object.Key) bool, end func()) {
	return func(object.Key) bool { return false }, func() {}
}

// Holds implements cluster.
func (a *Audit) Holds(k object.Key, record []byte) bool {
	s, expected := a.states[k]
	return !expected || Sum(k.Kind, record) == s.Sum
}
