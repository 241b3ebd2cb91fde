package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestGrowthTable: every rung of a ladder has its line; the exponents stand below.
func TestGrowthTable(t *testing.T) {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "scale"}, Growth: &result.Growth{
		Rungs: []result.Rung{
			{Point: "a", Objects: 1000, Valid: 1, Rate: new(10.0), QPS: new(10.0), Stored: new(0.25), HeldMiB: new(24.5)},
			{Point: "b", Objects: 10_000, Valid: 1, QPS: new(3553.0), BytesPerObject: new(1738.0)},
		},
		Memory: &result.Slope{Exponent: 0.94, Last: 0.88, Rungs: 3},
	}}
	var md, page bytes.Buffer
	if err := Markdown(&md, res); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### Growth", "| a | 1000 | 10 | 10 | 0.25 | – | 24.5 | – |", "| b | 10000 | unlimited | 3553 |", "| 1738 |",
		`memory grows as objects^0.94 (3 rungs; ^0.88 between the last two); peak memory: too few rungs; sync CPU: too few rungs.`,
	} {
		if !strings.Contains(md.String(), want) {
			t.Errorf("no %q in\n%s", want, md.String())
		}
	}
	if err := HTML(&page, res); err != nil || !strings.Contains(page.String(), `<section id="growth">`) {
		t.Errorf("the page has no growth (%v)", err)
	}
}
