package spec

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/watchbench/watchbench/loadgen/watchfault"
	"github.com/watchbench/watchbench/storagemock/behavior"
)

// Columns of the fault matrix: converge, order, loss, bounded, isolation,
// amplification, time to recover, secrecy, exit.
var Columns = []string{"C", "O", "L", "B", "I", "A", "T", "S", "X"}

// Fault makes a scenario a row of the fault matrix.
type Fault struct {
	Row   string `json:"row" jsonschema:"required,example=F2,pattern=^F[0-9]+$" jsonschema_description:"F0 to F30."`
	Title string `json:"title" jsonschema:"required,example=storage refuses connections" jsonschema_description:"What goes wrong, in a few words."`
	// Assert are the columns that must hold, Measure those that are only shown.
	Assert  []string `json:"assert,omitempty" jsonschema:"example=[C\\,O]" jsonschema_description:"Columns that must hold, of C, O, L, B, I, A, T, S, X."`
	Measure []string `json:"measure,omitempty" jsonschema:"example=[T]" jsonschema_description:"Columns that are shown without a verdict."`
	// Legacy are the columns in which the profile legacy is expected to fail.
	Legacy []string `json:"legacy,omitempty" jsonschema:"example=[C]" jsonschema_description:"Columns in which the profile legacy is expected to fail."`
	// Recovery bounds T, Amplification bounds A.
	Recovery      Duration `json:"recovery,omitzero" jsonschema_description:"T: from the fault's end until storage has all earlier changes."`
	Amplification float64  `json:"amplification,omitempty" jsonschema:"minimum=0" jsonschema_description:"A: write attempts per state that reached storage, at most."`
	// Freshness bounds the 99th percentile of the Pods' freshness, for loads that storage can carry.
	Freshness Duration `json:"freshness,omitzero" jsonschema_description:"T: freshness p99 of Pods, at most."`
	// PerStep demands at most one attempt per worker and backoff step while storage is down.
	PerStep bool `json:"perStep,omitempty" jsonschema_description:"A: at most one attempt per worker and backoff step while storage refuses."`
	// Patience demands that an object is left alone after a failure.
	Patience bool `json:"patience,omitempty" jsonschema_description:"A: no write of an object during its backoff after an error; O: none during the fence (5 s or the storage timeout) after a request of unknown outcome. Each must have delayed at least 3 writes where storage.faults cause it."`
	// Lists bounds the LISTs of any kind after the first; custom resources that come and go do not count.
	Lists *int `json:"lists,omitempty" jsonschema:"minimum=0" jsonschema_description:"A: lists of a kind after its first, at most."`
	// Refused says that storage must never be written to: the watcher has to refuse it.
	Refused bool `json:"refused,omitempty" jsonschema_description:"S: the watcher must fail and send nothing."`
	// Paired compares a cell with the same run's undisturbed one, whose axis point is named none.
	Paired float64 `json:"paired,omitempty" jsonschema:"minimum=1" jsonschema_description:"I: max ratio of freshness p99 of Pods to that of the run's cell whose axis point is named none."`
	// Repairs says that something happens to storage that only the synchronizer can repair.
	Repairs bool `json:"repairs,omitempty" jsonschema_description:"C: the synchronizer must repair something (rows refused for good, tampered with, forgotten, or deleted while no watcher ran); without it, a repair is a failure."`
	// FromAnswer takes the apiserver's own slowness out of I: rebuilding what it serves costs it more than any watcher.
	FromAnswer bool `json:"fromAnswer,omitempty" jsonschema_description:"I: the bystander's freshness counts from the API server's answer, for faults that keep that server busy."`
}

// Ceilings bound the watcher (column B). Where B is asserted, what is not given is derived: see docs/faults.md.
type Ceilings struct {
	RSS              Size     `json:"rss,omitzero" jsonschema_description:"Resident memory, at most."`
	Goroutines       int      `json:"goroutines,omitempty" jsonschema:"minimum=0" jsonschema_description:"Goroutines, at most."`
	Sockets          int      `json:"sockets,omitempty" jsonschema:"minimum=0" jsonschema_description:"Open sockets, at most."`
	GoroutinesReturn int      `json:"goroutinesReturn,omitempty" jsonschema:"minimum=0" jsonschema_description:"How far above the baseline they may end."`
	SlopePerMinute   Share    `json:"slopePerMinute,omitzero" jsonschema_description:"Growth of resident memory in the load's last slopeWindow."`
	SlopeWindow      Duration `json:"slopeWindow,omitzero" jsonschema_description:"Window of slopePerMinute."`
}

// Watch is the way from the apiserver to the watcher.
type Watch struct {
	// Faults put a proxy between them; they hold from the start of the load to its
	// end, or from before the watcher's start.
	Faults  []string `json:"faults,omitempty" jsonschema:"example=['close(1s\\,5s)']" jsonschema_description:"Faults, such as close(1s,5s). Each must fire, or the cell is invalid."`
	AtStart bool     `json:"atStart,omitempty" jsonschema_description:"The faults hold from before the watcher starts."`
	Leader  bool     `json:"leader,omitempty" jsonschema_description:"The faults hit only the first replica, the initial leader."`
}

// Extra are objects beside the load, which events change.
type Extra struct {
	Pods       int  `json:"pods,omitempty" jsonschema:"minimum=0,maximum=10000" jsonschema_description:"In each namespace of their own."`
	Namespaces int  `json:"namespaces,omitempty" jsonschema:"minimum=0,maximum=100" jsonschema_description:"Namespaces of the extra pods."`
	Canaries   bool `json:"canaries,omitempty" jsonschema_description:"Secret values in masked fields, which must turn up nowhere."`
}

var rowForm = regexp.MustCompile(`^F([0-9]|1[0-9]|2[0-9]|30)$`)

func (s *Scenario) validateFault() error {
	if s.Extra.Namespaces > 0 && s.Extra.Pods == 0 {
		return bad("extra.pods", "say how many pods each namespace has", "missing")
	}
	if err := s.Watch.validate(); err != nil {
		return err
	}
	if s.Watch.Leader && (len(s.Watch.Faults) == 0 || s.Watcher.Replicas < 2) {
		return bad("watch.leader", "give watch.faults and watcher.replicas: 2",
			"there are no faults, or no leader of several replicas")
	}
	f := s.Fault
	if f == nil {
		return nil
	}
	if len(s.Thresholds) > 0 {
		return bad("thresholds", "use fault.freshness, fault.recovery and ceilings", "a row of the fault matrix has columns")
	}
	if !rowForm.MatchString(f.Row) {
		return bad("fault.row", "use F0 to F30", "the fault matrix has no row %q", f.Row)
	}
	if f.Title == "" {
		return bad("fault.title", "say in a few words what goes wrong", "missing")
	}
	seen := map[string]bool{}
	for _, l := range []struct {
		name string
		cols []string
	}{{"assert", f.Assert}, {"measure", f.Measure}} {
		for i, c := range l.cols {
			at := fmt.Sprintf("fault.%s[%d]", l.name, i)
			if !slices.Contains(Columns, c) {
				return bad(at, oneOf(Columns), "%q is not known", c)
			}
			if seen[c] {
				return bad(at, "keep one", "the column %s is there twice", c)
			}
			seen[c] = true
		}
	}
	for i, c := range f.Legacy {
		if !slices.Contains(f.Assert, c) {
			return bad(fmt.Sprintf("fault.legacy[%d]", i), "name columns of fault.assert", "%q is not asserted", c)
		}
	}
	errors, silence := s.Failures()
	asserts := func(c string) bool { return slices.Contains(f.Assert, c) }
	switch {
	case len(f.Assert) == 0:
		return bad("fault.assert", oneOf(Columns), "nothing is asserted")
	case asserts("A") && f.Amplification == 0 && !f.PerStep && f.Lists == nil:
		return bad("fault.amplification", "give amplification, lists or perStep: true",
			"column A is asserted without a bound")
	case asserts("T") && f.Recovery == 0:
		return bad("fault.recovery", "write for example recovery: 10s", "column T is asserted without a bound")
	case f.Refused && (s.Storage.TLS == "" || s.Storage.TLS == "valid"):
		return bad("fault.refused", "set storage.tls to what is wrong with storage, for example wrong-ca",
			"there is nothing to refuse")
	case f.Patience && !errors && !silence:
		return bad("fault.patience", "add one, for example 503:1%",
			"no fault of storage makes a write fail with 5xx or go unanswered within watcher.storageTimeout")
	case f.FromAnswer && !seen["I"]:
		return bad("fault.fromAnswer", "assert or measure I", "column I is not asked for")
	}
	return nil
}

// Failures reports whether storage's faults answer 5xx, and whether they leave some requests unanswered.
func (s *Scenario) Failures() (errors, silence bool) {
	for _, f := range s.Storage.FaultSpecs() {
		switch f.Effect {
		case behavior.Reset, behavior.BlackHole, behavior.Truncate:
			silence = true
		case behavior.Stall:
			silence = silence || f.Delay > s.Watcher.StorageTimeout.Std()
		case behavior.Status, behavior.HTML, behavior.Late, behavior.Interim:
			errors = errors || f.Status >= http.StatusInternalServerError
			silence = silence || f.Status == 0
		}
	}
	return errors, silence
}

// validateRepairs refuses repairs where nothing leaves work for the synchronizer, and an event that does where repairs
// count as failures.
func (s *Scenario) validateRepairs(left bool) error {
	f := s.Fault
	if f == nil || !f.Repairs {
		if f != nil && left && slices.Contains(f.Assert, "C") && !s.Watcher.Synchronizer.Disabled {
			return bad("fault.repairs", "write repairs: true",
				"an event leaves work for the synchronizer, so its repairs cannot count as failures")
		}
		return nil
	}
	if s.Watcher.Synchronizer.Disabled {
		return bad("fault.repairs", "drop watcher.synchronizer.disabled", "there is no synchronizer")
	}
	refused := slices.ContainsFunc(s.Storage.FaultSpecs(),
		func(x behavior.FaultSpec) bool { return x.Effect == behavior.Status })
	if !left && !refused {
		return bad("fault.repairs", "leave it out", "nothing in this scenario leaves work for the synchronizer")
	}
	return nil
}

// validateSecrecy needs something to look for where secrecy is asserted.
func (s *Scenario) validateSecrecy(secrets bool) error {
	f := s.Fault
	if f == nil || !slices.Contains(f.Assert, "S") || s.Extra.Canaries || f.Refused || s.Storage.TLS != "" || secrets {
		return nil
	}
	return bad("fault.assert", "set extra.canaries: true", "column S is asserted with nothing to look for")
}

func (w Watch) validate() error {
	if err := oneEach("watch.faults", w.Faults, watchfault.Parse, "close(1s,5s)"); err != nil {
		return err
	}
	all := w.FaultSpecs()
	for i, f := range all { // as many events of the kind as it takes may be missing
		again := slices.ContainsFunc(all[:i], func(x watchfault.Spec) bool { return x.Name == f.Name })
		if f.Effect == watchfault.Lost && (again || len(f.Kinds) != 1) {
			return bad("watch.faults", "write for example lost(deleted,kind=Pod,name=pods)",
				"%s is counted by its kind and name: want kind=, and another name= where there are two", f.Name)
		}
	}
	if w.AtStart && len(w.Faults) == 0 {
		return bad("watch.atStart", "give watch.faults", "there are no faults")
	}
	return nil
}

// EndsWatches reports whether watches of all kinds end again and again, up to the end of the load.
func (w Watch) EndsWatches() bool {
	return slices.ContainsFunc(w.FaultSpecs(), func(s watchfault.Spec) bool {
		return s.EndsWatches() && s.Probability == 1 && len(s.Kinds) == 0 && s.For == 0 && s.Max == 0
	})
}

// FaultText is all faults in one line.
func (w Watch) FaultText() string { return strings.Join(w.Faults, ",") }

// FaultSpecs are the watch faults, parsed.
func (w Watch) FaultSpecs() []watchfault.Spec {
	specs, err := watchfault.Parse(w.FaultText())
	if err != nil {
		return nil // Validate reports it
	}
	return specs
}

// FaultSpecs are the storage faults, parsed.
func (s Storage) FaultSpecs() []behavior.FaultSpec {
	specs, err := behavior.ParseFaults(s.FaultText())
	if err != nil {
		return nil // Validate reports it
	}
	return specs
}

// JSONSchemaExtend lists the columns.
func (Fault) JSONSchemaExtend(s *jsonschema.Schema) {
	for _, name := range []string{"assert", "measure", "legacy"} {
		p, _ := s.Properties.Get(name)
		p.UniqueItems = true
		for _, c := range Columns {
			p.Items.Enum = append(p.Items.Enum, c)
		}
	}
}
