package jsondiff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOf(t *testing.T) {
	type object = map[string]any
	for _, tt := range []struct {
		name     string
		old, now any
		want     []Difference
	}{
		{"the same", object{"a": 1, "b": []int{1}}, object{"b": []int{1}, "a": 1.0}, nil},
		{"a field", object{"load": object{"threads": 4, "model": "closed"}}, object{"load": object{"threads": 8, "model": "closed"}}, []Difference{{"load.threads", 4.0, 8.0}}},
		{"a field of one side", object{"a": 1}, object{"b": 2}, []Difference{{"a", 1.0, nil}, {"b", nil, 2.0}}},
		{"cells by id", object{"cells": []any{object{"id": "x", "v": 1}}}, object{"cells": []any{object{"id": "x", "v": 2}}}, []Difference{{"cells[x].v", 1.0, 2.0}}},
		{"the first number of a list", []int{1, 2, 3}, []int{1, 5, 6}, []Difference{{"[1]", 2.0, 5.0}}},
		{"a longer list", []int{1}, []int{1, 2}, []Difference{{"[1]", nil, 2.0}}},
		{"another type", object{"a": 1}, object{"a": "1"}, []Difference{{"a", 1.0, "1"}}},
	} {
		got, err := Of(tt.old, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if _, err := Of(func() {}, 1); err == nil {
		t.Error("a function is JSON")
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
	}{{nil, "nothing"}, {"word", "word"}, {4.0, "4"}, {map[string]any{"a": 1.0}, `{"a":1}`}} {
		if got := Text(tt.v); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.v, got, tt.want)
		}
	}
	if got := Text([]string{strings.Repeat("ü", 500)}); got != `["`+strings.Repeat("ü", mostShown-2)+"…" {
		t.Errorf("cut within a character: %q", got)
	}
	if got := Text(strings.Repeat("x", 500)); len(got) > 130 || !strings.HasSuffix(got, "…") {
		t.Errorf("a long text: %q", got)
	}
}
