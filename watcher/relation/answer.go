package relation

import (
	"cmp"
	"maps"
	"slices"
)

// Answer lists what belongs to an object, or what it belongs to.
type Answer struct {
	Direction Direction `json:"direction"`
	Depth     int       `json:"depth"`
	// Nodes are the objects; the first one is the start.
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
	// Types has the types of edges that were looked for.
	Types map[Type]*State `json:"types"`
	// ResourceVersions are the versions of the kinds at which they were read, by group/version/resource.
	ResourceVersions map[string]string `json:"resourceVersions"`
	// Truncated is the bound at which the answer was cut; nil: it is whole.
	Truncated *Limit `json:"truncated,omitempty"`
}

// Node is an object, or the name of one.
type Node struct {
	GVK             string `json:"gvk"` // version/Kind or group/version/Kind
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Exists is nil where only the name is known: it was not looked for, or may not be.
	Exists *bool `json:"exists,omitempty"`
	// Dangling says why what a reference names does not exist.
	Dangling Dangling `json:"dangling,omitempty"`
}

// Dangling says what is wrong with a reference.
type Dangling string

// The ways in which a reference can dangle.
const (
	NotFound    Dangling = "NotFound"    // no object has the name
	OtherUID    Dangling = "OtherUID"    // another object has the name now
	Unconfirmed Dangling = "Unconfirmed" // the object has the name, but does not name the holder in turn
)

// Edge leads from what has or uses to what is had or used.
type Edge struct {
	From int  `json:"from"` // position in Nodes
	To   int  `json:"to"`
	Type Type `json:"type"`
}

// State says whether all edges of a type are in an answer.
type State struct {
	Complete bool  `json:"complete"`
	Gaps     []Gap `json:"gaps,omitempty"` // sorted by reason
}

// Gap names something that was not looked into, or not fully.
type Gap struct {
	Reason Reason   `json:"reason"`
	Kinds  []string `json:"kinds,omitempty"` // group/version/Kind, sorted, at most MaxGapKinds
	More   int      `json:"more,omitempty"`  // kinds beyond those
}

// MaxGapKinds is how many kinds a gap names.
const MaxGapKinds = 20

// Reason is why something may be missing.
type Reason string

// The reasons.
const (
	NotServed     Reason = "NotServed"     // the cluster does not serve the kind, or the configuration withholds it
	Withheld      Reason = "Withheld"      // the configuration withholds the kind
	NotFollowed   Reason = "NotFollowed"   // the kind is not followed, and a query may not start that
	NotLookedInto Reason = "NotLookedInto" // the kind is neither followed nor one of Config.Kinds
	Forbidden     Reason = "Forbidden"     // the user may not list the kind, at least not in all namespaces
	AccessUnknown Reason = "AccessUnknown" // nobody could say whether the user may
	NotSynced     Reason = "NotSynced"     // the kind's first list was not complete in time
	WatchBroken   Reason = "WatchBroken"   // the kind is shown as it was when its watch broke
	LimitReached  Reason = "LimitReached"  // a bound of the answer, or of what may be followed
	Unavailable   Reason = "Unavailable"   // the kind could not be opened
)

// Limit is a bound that an answer reached.
type Limit struct {
	Limit string `json:"limit"` // maxNodes, or edges
	Most  int    `json:"most"`
}

var there, gone = true, false

// gaps collects what is missing.
type gaps map[Type]map[Reason]map[string]struct{}

func (g gaps) look(t Type) {
	if g[t] == nil {
		g[t] = map[Reason]map[string]struct{}{}
	}
}

func (g gaps) add(t Type, r Reason, kinds ...string) {
	g.look(t)
	if g[t][r] == nil {
		g[t][r] = map[string]struct{}{}
	}
	for _, k := range kinds {
		g[t][r][k] = struct{}{}
	}
}

func (g gaps) states() map[Type]*State {
	states := make(map[Type]*State, len(g))
	for t, reasons := range g {
		s := &State{Complete: len(reasons) == 0}
		for r, kinds := range reasons {
			gap := Gap{Reason: r, Kinds: slices.Sorted(maps.Keys(kinds))}
			if over := len(gap.Kinds) - MaxGapKinds; over > 0 {
				gap.Kinds, gap.More = gap.Kinds[:MaxGapKinds], over
			}
			s.Gaps = append(s.Gaps, gap)
		}
		slices.SortFunc(s.Gaps, func(a, b Gap) int { return cmp.Compare(a.Reason, b.Reason) })
		states[t] = s
	}
	return states
}
