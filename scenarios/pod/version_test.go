package pod

import (
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
)

func TestSameVersion(t *testing.T) {
	for _, tc := range []struct {
		name, image, own string
		refused          bool
	}{
		{"equal", "0123456789ab", "0123456789ab", false},
		{"equal, with changes", "0123456789ab-dirty", "0123456789ab-dirty", false},
		{"another commit", "ba9876543210", "0123456789ab", true},
		{"changed since", "0123456789ab", "0123456789ab-dirty", true},
		{"an image that says none", "", "0123456789ab", true},
		{"an image of go build", "unknown", "0123456789ab", false},
		{"a program of go build", "0123456789ab", "unknown", false},
	} {
		if err := sameVersion("storagemock:dev", tc.image, tc.own); badinput.Is(err) != tc.refused || err != nil && !tc.refused {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
