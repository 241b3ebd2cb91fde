package render

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryFigureIsDefined: the heading over each figure of a run's tables leads to what it
// means, on the same page, and no anchor is there twice.
func TestEveryFigureIsDefined(t *testing.T) {
	section := regexp.MustCompile(`(?s)<section id="(pace|knee|throughput|sweep|growth|costs|flow)">.*?</section>`)
	head := regexp.MustCompile(`(?s)<th scope="col"( class="(?:divide|)")?>(.*?)</th>`)
	figure := regexp.MustCompile(`(?s)<figure.*?</figure>`) // whose data table names its axes
	link := regexp.MustCompile(`href="#(def-[^"]+)"`)
	all := shapes(t)
	looked := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var b bytes.Buffer
		if err := HTML(&b, all[name]); err != nil {
			t.Fatal(err)
		}
		ids := map[string]int{}
		for _, m := range regexp.MustCompile(` id="(def-[^"]+)"`).FindAllStringSubmatch(b.String(), -1) {
			if ids[m[1]]++; ids[m[1]] > 1 {
				t.Errorf("%s: %s is there twice", name, m[1])
			}
		}
		for _, s := range section.FindAllStringSubmatch(b.String(), -1) {
			for _, h := range head.FindAllStringSubmatch(figure.ReplaceAllString(s[0], ""), -1) {
				if h[2] == "" {
					continue
				}
				looked[s[1]] = true
				if s[1] == "growth" && strings.Contains(h[2], "first sync") && !strings.Contains(h[2], storedMeaning) {
					t.Errorf("%s: %q is defined as another first sync", name, h[2])
				}
				if m := link.FindStringSubmatch(h[2]); m == nil || ids[m[1]] == 0 {
					t.Errorf("%s, %s: %q leads to no definition", name, s[1], h[2])
				}
			}
		}
	}
	for _, id := range []string{"pace", "throughput", "costs", "flow", "growth", "sweep"} {
		if !looked[id] {
			t.Errorf("no table of section %s was looked at", id)
		}
	}
}
