package result

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferences(t *testing.T) {
	type object = map[string]any
	for _, tt := range []struct {
		name     string
		old, now any
		want     []string
	}{
		{"the same", object{"a": 1, "b": []int{1}}, object{"b": []int{1}, "a": 1.0}, nil},
		{"a field", object{"load": object{"threads": 4, "model": "closed"}}, object{"load": object{"threads": 8, "model": "closed"}}, []string{"load.threads: has 4, gives 8"}},
		{"a field of one side", object{"a": 1}, object{"b": 2}, []string{"a: has 1, gives nothing", "b: has nothing, gives 2"}},
		{"cells by id", object{"cells": []any{object{"id": "x", "v": 1}}}, object{"cells": []any{object{"id": "x", "v": 2}}}, []string{"cells[x].v: has 1, gives 2"}},
		{"the first number of a list", []int{1, 2, 3}, []int{1, 5, 6}, []string{"[1]: has 2, gives 5"}},
		{"a longer list", []int{1}, []int{1, 2}, []string{"[1]: has nothing, gives 2"}},
		{"another type", object{"a": 1}, object{"a": "1"}, []string{"a: has 1, gives 1"}},
	} {
		got, err := Differences("has", "gives", tt.old, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if _, err := Differences("has", "gives", func() {}, 1); err == nil {
		t.Error("a function is JSON")
	}
}

func TestDifferenceText(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
	}{{nil, "nothing"}, {"word", "word"}, {4.0, "4"}, {map[string]any{"a": 1.0}, `{"a":1}`}} {
		if got := differenceText(tt.v); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.v, got, tt.want)
		}
	}
	if got := differenceText([]string{strings.Repeat("ü", 500)}); got != `["`+strings.Repeat("ü", mostShown-2)+"…" {
		t.Errorf("cut within a character: %q", got)
	}
	if got := differenceText(strings.Repeat("x", 500)); len(got) > 130 || !strings.HasSuffix(got, "…") {
		t.Errorf("a long text: %q", got)
	}
}
