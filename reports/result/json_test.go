package result

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// TestEncodeJSON: of a number that JSON cannot carry the place is named, and nothing is written.
func TestEncodeJSON(t *testing.T) {
	type inner struct {
		Points [][2]float64 `json:"points"`
		Value  *float64     `json:"value,omitempty"`
	}
	type document struct {
		Lines []inner        `json:"lines"`
		More  map[string]any `json:"more,omitempty"`
		Own   float64        `json:"-"` // not in the document
	}
	for want, d := range map[string]*document{
		"lines[1].value is NaN":         {Lines: []inner{{}, {Value: new(math.NaN())}}},
		"lines[0].points[0][1] is +Inf": {Lines: []inner{{Points: [][2]float64{{1, math.Inf(1)}}}}},
		`more["a"][0] is -Inf`:          {More: map[string]any{"a": []float64{math.Inf(-1)}}},
	} {
		var b bytes.Buffer
		if err := EncodeJSON(&b, d); err == nil || !strings.Contains(err.Error(), want) || b.Len() > 0 {
			t.Errorf("%v, want %s; wrote %q", err, want, &b)
		}
	}
	var b bytes.Buffer
	if err := EncodeJSON(&b, &document{Lines: []inner{{Points: [][2]float64{{1, 2}}}}, Own: math.NaN()}); err != nil || !strings.HasSuffix(b.String(), "}\n") {
		t.Errorf("%v: %q", err, &b)
	}
}
