package knee

import (
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimeLeft: each line of progress but those before the first cell says how long the whole
// search will likely take, all strategies and the final measurements included.
func TestTimeLeft(t *testing.T) {
	said := regexp.MustCompile(`; about (\S+) left$`)
	synctest.Test(t, func(t *testing.T) {
		type line struct {
			at   time.Time
			left time.Duration
			text string
		}
		var lines []line
		m := &fake{knees: map[string]float64{"keyed": 400, "single": 40}, took: 30 * time.Second}
		find(t, m, func(o *Options) {
			o.Strategies = []string{"keyed", "single"}
			o.Report = func(text string) {
				found := said.FindStringSubmatch(text)
				if found == nil {
					t.Errorf("no time left in %q", text)
					return
				}
				left, err := time.ParseDuration(found[1])
				if err != nil {
					t.Error(err)
				}
				lines = append(lines, line{time.Now(), left, text})
			}
		})
		end := time.Now()
		if len(lines) < 10 {
			t.Fatalf("%d lines", len(lines))
		}
		for _, l := range lines {
			if d := (l.left - end.Sub(l.at)).Abs(); d > 2*time.Minute { // four cells
				t.Errorf("%s: it took %s", l.text, end.Sub(l.at))
			}
		}
		if last := lines[len(lines)-1]; last.left != 90*time.Second {
			t.Errorf("%s: three cells are left", last.text)
		}
	})
}
