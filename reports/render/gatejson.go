package render

import (
	"io"

	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/result"
)

// gateSchema names the format of gate.json; a change that breaks readers changes it.
const gateSchema = "watchbench/gate/v1"

type gateRecord struct {
	Schema     string        `json:"schema"`
	Outcome    gate.Outcome  `json:"outcome"`
	Sentence   string        `json:"sentence"`
	Base       string        `json:"base"`
	New        string        `json:"new"`
	Blocked    bool          `json:"blocked"` // side by side in one run
	Reasons    []string      `json:"reasons"` // why the whole cannot be judged
	Figures    []gateFinding `json:"figures"`
	Invariants []gateFinding `json:"invariants"`
	Control    gateControl   `json:"control"`
}

type gateControl struct {
	What    string        `json:"what"`
	Outcome gate.Outcome  `json:"outcome"`
	Figures []gateFinding `json:"figures"`
}

// gateFinding has no field for what is not known.
type gateFinding struct {
	Name    string       `json:"name"`
	Point   string       `json:"point"`
	Unit    string       `json:"unit,omitempty"`
	Kind    string       `json:"kind,omitempty"`
	Outcome gate.Outcome `json:"outcome"`
	Why     string       `json:"why,omitempty"`
	Base    *float64     `json:"base,omitempty"`
	New     *float64     `json:"new,omitempty"`
	Ratio   *float64     `json:"ratio,omitempty"` // new ÷ base
	Low     *float64     `json:"ratioLow,omitempty"`
	High    *float64     `json:"ratioHigh,omitempty"`
	Allow   *float64     `json:"allow,omitempty"` // change that the rule allows, as a share
	N       int          `json:"n,omitempty"`
}

// GateJSON writes a verdict for programs. Its texts are as they are in the record.
func GateJSON(w io.Writer, v *gate.Verdict) error {
	return result.EncodeJSON(w, gateRecord{
		Schema: gateSchema, Outcome: v.Outcome, Sentence: v.Sentence(), Base: v.Base, New: v.New, Blocked: v.Blocked,
		Reasons: append([]string{}, v.Reasons...),
		Figures: gateFindings(v.Metrics), Invariants: gateFindings(v.Invariants),
		Control: gateControl{v.Control.What, v.Control.Outcome, gateFindings(v.Control.Findings)},
	})
}

// NothingToGate writes the same where both sides are one program.
func NothingToGate(w io.Writer, why string) error {
	return result.EncodeJSON(w, gateRecord{
		Schema: gateSchema, Outcome: gate.NotJudged, Sentence: why, Reasons: []string{why}, Figures: gateFindings(nil),
		Invariants: gateFindings(nil),
		Control:    gateControl{Outcome: gate.NotJudged, Figures: gateFindings(nil)},
	})
}

func gateFindings(all []gate.Finding) []gateFinding {
	found := []gateFinding{}
	for i := range all {
		f := &all[i]
		g := gateFinding{Name: f.Name, Point: f.Point, Unit: f.Unit, Kind: f.Kind, Outcome: f.Outcome, Why: f.Why,
			Base: f.Base, New: f.New, N: f.N}
		if f.Kind != "" {
			g.Allow = &f.Allow
		}
		if f.Ratio != nil {
			g.Ratio, g.Low, g.High = &f.Ratio.Median, &f.Interval.Low, &f.Interval.High
		}
		found = append(found, g)
	}
	return found
}
