package calibration

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Tolerance is how far an imitation may be from what was recorded.
type Tolerance struct {
	Count float64 // of events per object, by kind; 0.2 is a fifth
	Size  float64 // of a stage's share of Ready, of pods; absolute: 0.1 is ten points
	Sizes bool    // whether sizes are compared at all
}

// Compare says how the imitated lives differ from recorded ones: pods that go through
// other stages, kinds that are written more or less often for each pod, and stages whose
// objects grow otherwise. Both must have pods. An empty answer is none.
func Compare(recorded, imitated []Step, t Tolerance) (differences []string) {
	say := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	pods, ours := objects(recorded, "Pod"), objects(imitated, "Pod")
	if pods == 0 || ours == 0 {
		say("%d pods were recorded, %d imitated: nothing to compare", pods, ours)
		return differences
	}
	lives := map[string]bool{}
	for i := range pods {
		lives[life(recorded, i)] = true
	}
	for i := range ours {
		if l := life(imitated, i); !lives[l] {
			say("pod %d goes through %s; recorded pods go through %s", i, l, strings.Join(sortedKeys(lives), " or "))
			break
		}
	}
	want, have := Counts(recorded), Counts(imitated)
	for _, k := range sortedKeys(union(want, have)) {
		w, h := float64(want[k])/float64(pods), float64(have[k])/float64(ours)
		if math.Abs(w-h) > t.Count*max(w, 1) {
			say("%s: %.2f for each pod, %.2f in the recording", k, h, w)
		}
	}
	if !t.Sizes {
		return differences
	}
	for _, stage := range []string{Created, Bound, Creating, Sandbox, Running, Stopped, BackOff, Ended, Terminating, Terminated} {
		w, h := Share(recorded, "Pod", stage, Ready), Share(imitated, "Pod", stage, Ready)
		if w != 0 && h != 0 && math.Abs(w-h) > t.Size {
			say("a pod that is %s has %.0f %% of the size of a ready one, %.0f %% in the recording", stage, 100*h, 100*w)
		}
	}
	return differences
}

func objects(steps []Step, kind string) (n int) {
	for _, s := range steps {
		if s.Kind == kind {
			n = max(n, s.Object+1)
		}
	}
	return n
}

// life is the stages of a pod with what repeats of them once.
func life(steps []Step, pod int) string {
	return strings.Join(slices.Compact(Stages(steps, "Pod", pod)), " ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func union(a, b map[string]int) map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string]int{a, b} {
		for k := range m {
			all[k] = true
		}
	}
	return all
}
