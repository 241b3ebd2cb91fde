package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOtherWatcherHasNoStrategies: a scenario that sweeps our strategies is run once with
// another watcher, unless they are asked for.
func TestOtherWatcherHasNoStrategies(t *testing.T) {
	for _, tc := range []struct {
		sets []string
		ids  string
	}{
		{nil, "single-light single-heavy keyed-light keyed-heavy"},
		{[]string{"watcher.command=x {config}"}, "light heavy"},
		{[]string{"watcher.command=''"}, "single-light single-heavy keyed-light keyed-heavy"},
		{[]string{"watcher.command=x {config}", "matrix.watcher.strategy=dedup,keyed", "matrix.load=light"}, "dedup-light keyed-light"},
	} {
		f, err := Format{}.Parse("s.yaml", []byte(swept), tc.sets...)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, c := range f.Cells() {
			ids = append(ids, c.ID)
		}
		if got := strings.Join(ids, " "); got != tc.ids {
			t.Errorf("%q: %s, want %s", tc.sets, got, tc.ids)
		}
	}
}

// TestOpenCommand: a command goes to the points that leave theirs open, and to all if none does.
func TestOpenCommand(t *testing.T) {
	const name = "watcher.command=x {config}"
	for _, tc := range []struct {
		sets []string
		want string // by point
	}{
		{nil, "a={command} b="},
		{[]string{name}, "a=x {config} b="},
		{[]string{"matrix.watcher.b.command='{command}'", name}, "a=x {config} b=x {config}"},
		{[]string{"matrix.watcher.a.command=y {config}", name}, "a=x {config} b=x {config}"},
		{[]string{name, "watcher.command=y {config}"}, "a=y {config} b=y {config}"}, // nothing is open any more
	} {
		f, err := Format{}.Parse("s.yaml", []byte("apiVersion: watchbench/v1\nkind: Scenario\nmetadata: {name: s}\n"+
			"load: {model: closed, threads: 1, operations: 1}\nmatrix: {watcher: {a: {command: '{command}'}, b: {strategy: keyed}}}\n"), tc.sets...)
		if err != nil {
			t.Fatalf("%q: %v", tc.sets, err)
		}
		var got []string
		for _, c := range f.Cells() {
			got = append(got, c.ID+"="+c.Scenario.Watcher.Command)
		}
		if got := strings.Join(got, " "); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.sets, got, tc.want)
		}
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[string][]string{
		"a -f {config}":           {"a", "-f", "{config}"},
		`  "a b"  'c "d"' e"f g"`: {"a b", `c "d"`, "ef g"},
		`a ""`:                    {"a", ""},
		`a "b c`:                  {"a", "b c"},
		"":                        nil,
	} {
		if d := cmp.Diff(want, (Watcher{Command: in}).Words()); d != "" {
			t.Errorf("%q:\n%s", in, d)
		}
	}
}

func TestLabel(t *testing.T) {
	for _, tc := range []struct{ name, command, want string }{
		{"", "", ""}, {"mine", "", "mine"}, {"mine", "x {config}", "mine"},
		{"", "python3 scenarios/examples/watcher.py {config}", "python3 watcher.py"},
		{"", "{bin}/watchfloor -f {config}", "watchfloor"},
		{"", "'/opt/mine' --config={config}", "mine"}, {"", "sh -c 'sleep 1; exec mine $0' {config}", "sh"},
		{"", "{config}", "external"},
		{"", strings.Repeat("x", 70) + " {config}", strings.Repeat("x", 60)},
	} {
		if got := (Watcher{Name: tc.name, Command: tc.command}).Label(); got != tc.want {
			t.Errorf("%q %q: %q, want %q", tc.name, tc.command, got, tc.want)
		}
	}
	for _, name := range []string{"a\nb", strings.Repeat("x", 61)} {
		s := Default()
		s.Watcher.Name = name
		if err := s.validateWatcher(); err == nil || !strings.Contains(err.Error(), "watcher.name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
