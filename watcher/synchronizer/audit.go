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
	Objects(ctx context.Context, kind string, each func(object.Key, State)) error
	ClusterScoped(kind string) bool
}

// State identifies one state of an object.
type State struct {
	UID     string
	Version uint64 // 0: none, or no number
	Created int64  // Unix seconds, 0: not known
	Sum     uint64 // of the object as it is sent
}

// AuditConfig configures an Audit.
type AuditConfig struct {
	Config
	Kinds    []string      // in the order in which they are compared
	Complete bool          // storage should hold nothing of the kinds that it remembers and Kinds does not have
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
	gone   []string             // kinds of which storage should hold nothing
	states map[object.Key]State // of the kind that is compared
}

// NewAudit starts nothing. Of the settings it takes Storage and Logger.
func NewAudit(cfg AuditConfig, set Settings, source Source) *Audit {
	a := &Audit{cfg: cfg, source: source}
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

// Run compares all kinds and returns the rows that are wrong. It fails only when ctx ends.
func (a *Audit) Run(ctx context.Context) (reports []KindReport, found []Finding, err error) {
	if a.cfg.Complete {
		if err := a.findGone(ctx); err != nil {
			reports = append(reports, KindReport{Kind: StateKind, Error: "storage: " + err.Error()})
		}
	}
	doubts := map[string]map[object.Key]doubt{}
	for _, kind := range slices.Concat(a.cfg.Kinds, a.gone) {
		r := KindReport{Kind: kind}
		if compared(kind) {
			r.try(ctx, func() (err error) { doubts[kind], err = a.first(ctx, &r); return err })
		} else if r.NotCompared = "storage lists none"; kind == bcsapi.KindEvent {
			r.NotCompared = "storage keeps Events by age"
		}
		reports = append(reports, r)
	}
	paused := false
	for i := range reports {
		if r := &reports[i]; len(doubts[r.Kind]) > 0 {
			if !paused {
				paused = true
				_ = lifecycle.Pause(ctx, a.cfg.Wait) // an end of ctx is seen below
			}
			r.try(ctx, func() error {
				more, err := a.second(ctx, r, doubts[r.Kind])
				found = append(found, more...)
				return err
			})
		}
	}
	return reports, found, context.Cause(ctx)
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
	theirs := slices.Clone(a.cfg.Kinds)
	var ours []string
	err := a.records(ctx, func(name string, s state) {
		if name == a.comparison.cfg.Name {
			ours = slices.Concat(s.Kinds, s.Leaving)
		} else {
			theirs = append(theirs, s.Kinds...)
		}
	})
	a.gone = slices.DeleteFunc(ours, func(kind string) bool { return slices.Contains(theirs, kind) })
	return err
}

// first counts a kind, unless it cannot be read whole, and returns its differences.
func (a *Audit) first(ctx context.Context, r *KindReport) (map[object.Key]doubt, error) {
	suspects, err := a.read(ctx, r.Kind)
	if err != nil {
		return nil, err
	}
	r.Objects, r.Rows = len(a.states), len(a.states)
	doubts := make(map[object.Key]doubt, len(suspects))
	for _, x := range suspects {
		if x.leftover {
			r.Rows++
		} else if !x.row.found {
			r.Rows--
		}
		doubts[x.Key] = a.doubt(x)
	}
	a.states = nil
	return doubts, nil
}

// second returns the differences that are left of the first look.
func (a *Audit) second(ctx context.Context, r *KindReport, doubts map[object.Key]doubt) (found []Finding, err error) {
	suspects, err := a.read(ctx, r.Kind)
	for _, x := range suspects {
		if was, is := doubts[x.Key]; is {
			now := a.doubt(x)
			if p := was.settle(now); p != "" {
				found = append(found, now.finding(p, r))
			}
		}
	}
	a.states = nil
	return found, err
}

// read compares a kind.
func (a *Audit) read(ctx context.Context, kind string) ([]suspect, error) {
	a.states = map[object.Key]State{}
	if !slices.Contains(a.gone, kind) {
		if err := a.source.Objects(ctx, kind, func(k object.Key, s State) { a.states[k] = s }); err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
	}
	switch c := a.suspects(ctx, kind, true, true); {
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

// finding counts and describes what a difference turned out to be.
func (was doubt) finding(p Problem, r *KindReport) Finding {
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
	return f
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
	e := Expectation{UID: s.UID, From: s.Version, To: s.Version}
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
