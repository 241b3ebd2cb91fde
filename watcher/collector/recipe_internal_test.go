package collector

import (
	"testing"

	"github.com/watchbench/watchbench/watcher/object"
)

// TestRecipeMasksWhateverTheCapitals: a kind that is defined while the watcher runs is
// masked though the mask's kind has other capitals; another kind is not.
func TestRecipeMasksWhateverTheCapitals(t *testing.T) {
	c := Config{Masks: []object.Mask{{Kind: "widget", Path: []string{"spec"}}, {Kind: "Pod", Path: []string{"spec"}}}}
	if got := c.recipe(Resource{Version: "v1", Name: "widgets", Kind: "Widget"}).Masks; len(got) != 1 || got[0].Kind != "widget" {
		t.Errorf("masks of a Widget: %v", got)
	}
}
