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
	"github.com/watchbench/watchbench/watcher/storage"
)

// Source is the cluster of an Audit, read and not cached.
type Source interface {
	// Objects calls each for every object of a kind that storage should hold.
	Objects(ctx context.Context, kind string, whole bool, each func(object.Key, State)) error
	// Object reads one of them; false where storage should hold none of that key.
	Object(ctx context.Context, k object.Key, whole bool) (State, bool, error)
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
	Wait     time.Duration // from one look at a difference to the next
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
	Undecided   int    `json:"undecided"`             // changed from each look to the next
	NotCompared string `json:"notCompared,omitempty"` // why
	Error       string `json:"error,omitempty"`       // why it could not be read whole
}

func (r *KindReport) note(err error) {
	if err != nil {
		r.Error = err.Error()
	}
}

// Problem classifies a row that is wrong.
type Problem string

// The problems of rows.
const (
	Missing   Problem = "missing"   // there is none of the object
	Stale     Problem = "stale"     // of an earlier state of the object, or of one before it
	LeftOver  Problem = "left over" // there is no such object
	Altered   Problem = "altered"   // no state that the object had
	Undecided Problem = "undecided" // it changed from each look to the next
	none      Problem = ""
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

const (
	// looks is how often a difference is looked at that changes from one to the next.
	looks = 6
	// fewDoubts is how many differences are looked at one by one; of a kind with more objects,
	// one in that many. More are found again in a second pass over the kind.
	fewDoubts = 100
)

// Audit compares storage with the cluster once, by the code of the Synchronizer, and repairs
// nothing. A difference is a Finding if the row is still the same after Wait and lacks a state
// that the object had all that time.
type Audit struct {
	comparison
	cfg    AuditConfig
	source Source
	states map[object.Key]State // what storage should hold of a kind, while it is compared
}

// NewAudit starts nothing. Of the settings it takes Storage and Logger.
func NewAudit(cfg AuditConfig, set Settings, source Source) *Audit {
	a := &Audit{cfg: cfg, source: source}
	a.comparison = newComparison(cfg.Config, set, a)
	a.audits = true
	return a
}

// doubt is a difference as it was seen in one look.
type doubt struct {
	object.Key
	uid    string // as in suspect
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
		r := KindReport{Kind: StateKind}
		if err := twice(ctx, func() error { return a.findGone(ctx) }); err != nil {
			r.Error = "storage: " + err.Error()
			reports = append(reports, r)
		}
	}
	for _, kind := range slices.Concat(a.cfg.Kinds, a.cfg.Gone) {
		r := KindReport{Kind: kind, NotCompared: notCompared(kind)}
		if r.NotCompared == "" {
			r.note(a.pass(ctx, &r, nil, func(d doubt) { doubts[kind] = append(doubts[kind], d) }))
		}
		reports = append(reports, r)
	}
	for look := 1; look < looks && len(doubts) > 0 && lifecycle.Pause(ctx, a.cfg.Wait) == nil; look++ {
		for i := range reports {
			r := &reports[i]
			was := doubts[r.Kind]
			delete(doubts, r.Kind)
			if len(was) == 0 {
				continue
			}
			left, err := a.again(ctx, r, was, found)
			if r.note(err); len(left) > 0 {
				doubts[r.Kind] = left
			}
		}
	}
	for i := range reports {
		for _, d := range doubts[reports[i].Kind] {
			d.report(Undecided, &reports[i], found)
		}
	}
	return reports, context.Cause(ctx)
}

// findGone adds the kinds that a watcher of that name collected, and none does now.
func (a *Audit) findGone(ctx context.Context) error {
	theirs := slices.Clone(a.cfg.Kinds)
	var ours []string
	err := a.remembering(ctx, func(name string, s state) {
		if name == a.comparison.cfg.Name {
			ours = slices.Concat(s.Kinds, s.Leaving)
		} else {
			theirs = append(theirs, s.Kinds...)
		}
	})
	for _, kind := range ours {
		if !slices.Contains(theirs, kind) && !slices.Contains(a.cfg.Gone, kind) {
			a.cfg.Gone = append(a.cfg.Gone, kind)
		}
	}
	return err
}

// twice tries once more a second later, in case it was a moment's trouble.
func twice(ctx context.Context, try func() error) error {
	err := try()
	if err != nil && lifecycle.Pause(ctx, time.Second) == nil {
		err = try()
	}
	return err
}

// notCompared says why a kind is not; "": it is.
func notCompared(kind string) string {
	switch {
	case compared(kind):
		return ""
	case kind == bcsapi.KindEvent:
		return "storage keeps Events by age"
	}
	return "storage lists none"
}

// pass reads a kind on both sides and calls each for its differences; with only, for those of
// them.
func (a *Audit) pass(ctx context.Context, r *KindReport, only map[object.Key]int, each func(doubt)) error {
	var whole bool
	var suspects []suspect
	if err := twice(ctx, func() (err error) { whole, err = a.load(ctx, r.Kind); return err }); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	all := a.states
	if err := twice(ctx, func() (err error) { suspects, _, err = a.suspects(ctx, r.Kind, whole, false); return err }); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	objects, rows := len(all), len(all)
	for _, x := range suspects {
		if x.leftover {
			rows++
		} else if !x.row.found {
			rows--
		}
		if _, known := only[x.Key]; only != nil && !known {
			continue
		}
		s, exists := all[x.Key]
		d, differs := doubt{x.Key, x.uid, x.row, s, exists}, true
		if only != nil && exists && !x.row.found && !x.proven { // pages may skip records while they change
			var err error
			if d, differs, err = a.look(ctx, d, whole); err != nil {
				return err
			}
		}
		if differs {
			each(d)
		}
	}
	if a.states = nil; only == nil {
		r.Objects, r.Rows = objects, rows
	}
	return nil
}

// load reads the objects that storage should hold of a kind, with their bodies where versions
// do not show a change: there are none, or they also count the heartbeats of a Node.
func (a *Audit) load(ctx context.Context, kind string) (whole bool, err error) {
	for whole = a.cfg.Content || kind == kindNode; ; whole = true {
		a.states = map[object.Key]State{}
		if slices.Contains(a.cfg.Gone, kind) {
			return whole, nil
		}
		versions := true
		err := a.source.Objects(ctx, kind, whole, func(k object.Key, s State) {
			a.states[k] = s
			versions = versions && s.Version != 0
		})
		if err != nil || versions || whole {
			return whole, err
		}
	}
}

// again looks at differences once more and returns those to be looked at yet again.
func (a *Audit) again(ctx context.Context, r *KindReport, was []doubt, found func(Finding)) (left []doubt, err error) {
	known := make(map[object.Key]int, len(was))
	single := len(was) <= max(fewDoubts, r.Objects/fewDoubts)
	for i, d := range was {
		known[d.Key] = i
		// A single read in the cluster scope may find what a namespace has.
		single = single && (d.Namespace != "" || d.uid != "" || a.ClusterScoped(d.Kind))
	}
	settle := func(d doubt) {
		switch p := was[known[d.Key]].settle(d); p {
		case none:
		case Undecided:
			left = append(left, d)
		default:
			d.report(p, r, found)
		}
	}
	if !single {
		return left, a.pass(ctx, r, known, settle)
	}
	for _, d := range was {
		whole := a.cfg.Content || d.Kind == kindNode || d.exists && d.object.Version == 0
		d, differs, err := a.look(ctx, d, whole)
		if err != nil {
			return nil, err
		}
		if differs {
			settle(d)
		}
	}
	return left, nil
}

// look looks at a difference by reading the object and its record, each by itself.
func (a *Audit) look(ctx context.Context, was doubt, whole bool) (d doubt, differs bool, err error) {
	x := suspect{Key: was.Key, uid: was.uid}
	var s State
	var exists, found bool
	var rec storage.Record
	if err := twice(ctx, func() (err error) { s, exists, err = a.source.Object(ctx, x.Key, whole); return err }); err != nil {
		return d, false, fmt.Errorf("cluster: %w", err)
	}
	if err := twice(ctx, func() (err error) {
		if err := a.limit.Wait(ctx); err != nil {
			return err
		}
		rec, found, err = a.set.Storage.Get(ctx, x.Key, x.uid)
		return err
	}); err != nil {
		return d, false, fmt.Errorf("storage: %w", err)
	}
	a.states = map[object.Key]State{}
	if exists {
		a.states[x.Key] = s
	}
	d = doubt{x.Key, x.uid, was.row, s, exists}
	differs, err = a.differs(x, rec, found, exists, func(record []byte) bool {
		e, _ := a.Expectation(x.Key)
		_, differs := a.judge(x.Key, e, record, whole, 0)
		return !differs
	})
	if errors.Is(err, errOpen) {
		return d, true, nil // another record answered: keep the row of the previous look
	}
	d.row = row{}
	if found {
		d.row = rowOf(&rec)
	}
	return d, differs, err
}

// settle compares two looks at a difference: none if the row has reached the state that the
// object had at the first, Undecided if either changed in another way.
func (was doubt) settle(now doubt) Problem {
	row, o := now.row, now.object
	switch {
	case !row.same(was.row):
		if was.exists && row.found && o.Version > row.version && row.version >= was.object.Version && was.object.Version > 0 {
			return none
		}
		return Undecided
	case now.exists != was.exists, o.UID != was.object.UID:
		return Undecided
	case !now.exists:
		return LeftOver
	case !row.found:
		return Missing
	case row.version != 0 && row.version < was.object.Version:
		return Stale
	case o.Version != was.object.Version, o.Version == 0 && o.Sum != was.object.Sum:
		return Undecided
	}
	return Altered
}

// report counts and reports what a difference turned out to be.
func (d doubt) report(p Problem, r *KindReport, found func(Finding)) {
	f := Finding{Problem: p, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Age: -1}
	since := d.row.updated
	versions := fmt.Sprintf("row at version %d, object at %d", d.row.version, d.object.Version)
	other := d.row.uid != d.object.UID
	switch p {
	case Missing:
		r.Missing++
		since = d.object.Created
		f.Detail = fmt.Sprintf("object at version %d", d.object.Version)
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
			f.Detail = "uid " + strconv.Quote(d.row.uid) + ", of the object " + strconv.Quote(d.object.UID)
		case d.row.version == d.object.Version:
			f.Detail = "same version, other content"
		}
	case Undecided:
		r.Undecided++
		f.Detail = fmt.Sprintf("changed at each of %d looks", looks)
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
	e := Expectation{APIVersion: a.source.APIVersion(k.Kind), UID: s.UID, From: s.Version, To: s.Version, Annotations: s.Annotations}
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
