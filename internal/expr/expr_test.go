package expr_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/expr"
)

func TestReader(t *testing.T) {
	const in = `stall( 5s , p=0.5%, kind = "a, b", inner=f(1,x=2), n=3, r=1.5)`
	e, err := expr.Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	r := expr.Read(in, e, "for")
	if got := r.Duration("for", 0); got != 5*time.Second {
		t.Errorf("for = %s", got)
	}
	if got := r.Probability("p", 1); got != 0.005 {
		t.Errorf("p = %g", got)
	}
	if got := r.Text("kind", ""); got != "a, b" {
		t.Errorf("kind = %q", got)
	}
	if got, _ := r.Expr("inner"); got.Name != "f" || len(got.Args) != 2 || got.Args[1].Key != "x" {
		t.Errorf("inner = %+v", got)
	}
	if got := r.Int("n", 1, 0); got != 3 {
		t.Errorf("n = %d", got)
	}
	if r.Err() == nil {
		t.Error("r was never asked for and not reported")
	}
	if got := r.Float("r", 0); got != 1.5 || r.Text("absent", "def") != "def" {
		t.Errorf("r = %g", got)
	}
}

func TestErrorsNamePlaceAndRemedy(t *testing.T) {
	for in, want := range map[string]string{
		``:           "want a name",
		`f(`:         "column 3",
		`f(a`:        "not closed",
		`f(a) b`:     "unexpected",
		`f(a=)`:      "want a name or a value",
		`f("a)`:      "quote is not closed",
		`f(g(1)=2)`:  "cannot be a key",
		`f(a b,,)`:   "want a name",
		`f("a" "b")`: "want a comma",
		strings.Repeat("f(", 40) + strings.Repeat(")", 40): "nest deeper",
	} {
		_, err := expr.Parse(in)
		var e *expr.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want %q", in, err, want)
		}
	}
	for in, want := range map[string]string{
		`f(1,2)`:     "too many",
		`f(1,d=2s)`:  "given twice",
		`f(d=5)`:     "87ms",
		`f(d=-5s)`:   "not negative",
		`f(d=g(1))`:  "plain value",
		`f(p=101%)`:  "probability",
		`f(p=nan)`:   "probability",
		`f(n=0)`:     "at least 1",
		`f(x=1e999)`: "not a number",
		`f(z=1)`:     "does not take z",
	} {
		e, err := expr.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		r := expr.Read(in, e, "d")
		r.Duration("d", 0)
		r.Probability("p", 0)
		r.Int("n", 1, 0)
		r.Float("x", 0)
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func TestSplit(t *testing.T) {
	got := expr.Split(`a(1,2),b,"c,d",e`, ',')
	if want := []string{`a(1,2)`, `b`, `"c,d"`, `e`}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`lognormal(mean=87ms,p99=110ms)`)
	f.Add(`slow(mix(0.95=1ms,0.05="2ms"), x=10)`)
	f.Fuzz(func(t *testing.T, in string) {
		e, err := expr.Parse(in)
		if err == nil && e.Name == "" && !strings.ContainsAny(in, `"'`) {
			t.Fatalf("Parse(%q) gave an empty name", in)
		}
	})
}
