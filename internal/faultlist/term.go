package faultlist

import (
	"fmt"
	"strings"

	"github.com/watchbench/watchbench/internal/expr"
)

// Max bounds the faults in force at once.
const Max = 64

// Term is one fault as it was written.
type Term struct {
	Text        string
	Call        expr.Expr
	Args        *expr.Reader
	Probability float64
	Likely      bool // a probability was written
}

// Parse reads terms with read. positional are the arguments that an effect takes
// without a key; example shows a term with a probability. Empty text is none.
func Parse[S any](text, example string, positional map[string][]string, read func(*Term) (S, error)) ([]S, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var specs []S
	for _, part := range expr.Split(text, ',') {
		t, err := parseTerm(strings.TrimSpace(part), example, positional)
		if err != nil {
			return nil, fmt.Errorf("fault %w", err)
		}
		s, err := read(t)
		if err != nil {
			return nil, fmt.Errorf("fault %w", err)
		}
		specs = append(specs, s)
	}
	if len(specs) > Max {
		return nil, fmt.Errorf("faults: %d; at most %d at once", len(specs), Max)
	}
	return specs, nil
}

func parseTerm(part, example string, positional map[string][]string) (*Term, error) {
	t := &Term{Text: part, Probability: 1}
	pieces := expr.Split(part, ':')
	if len(pieces) > 2 {
		return nil, fmt.Errorf("%q: more than one colon; want effect(arguments):probability, like %s", part, example)
	}
	var err error
	if t.Likely = len(pieces) == 2; t.Likely {
		p := strings.TrimSpace(pieces[1])
		if t.Probability, err = expr.ParseProbability(p); err != nil {
			return nil, fmt.Errorf("%q: %s: %w", part, p, err)
		}
	}
	if t.Call, err = expr.Parse(pieces[0]); err != nil {
		return nil, err
	}
	t.Args = expr.Read(pieces[0], t.Call, positional[t.Call.Name]...)
	return t, nil
}

// Name is the effect with what stands in parentheses without a key.
func (t *Term) Name() string {
	var args []string
	for _, a := range t.Call.Args {
		if a.Key == "" {
			args = append(args, a.Value.Name)
		}
	}
	if len(args) == 0 {
		return t.Call.Name
	}
	return t.Call.Name + "(" + strings.Join(args, ",") + ")"
}
