package render

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestPictures takes the pictures of docs/images from a real run, and writes the README's table and answer, when make
// pictures RUN=out/strategies-… asks for it.
func TestPictures(t *testing.T) {
	dir := os.Getenv("WATCHBENCH_RUN")
	if dir == "" {
		t.Skip("WATCHBENCH_RUN names no run")
	}
	res, err := result.LoadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := res.Run.Decision; d == nil || d.End != result.EndDecided {
		t.Fatalf("%s is not a decided run", dir)
	}
	if path := os.Getenv("WATCHBENCH_README"); path != "" {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(withTable(t, string(text), res)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b := startBrowser(t)
	path := savedPage(t, res)
	b.media("screen", "light")
	b.open(path, 1280, 900)
	shoot(b, "report.png", "", 1280, 900)
	b.media("screen", "dark")
	shoot(b, "report-dark.png", "", 1280, 900)
	b.media("screen", "light")
	b.open(path, 390, 900)
	shoot(b, "report-phone.png", "", 390, 1400)
	b.quiet(path)
}

// withTable is a README with the first table and the answer of a run between its marks; the prose there is kept.
func withTable(t *testing.T, readme string, res *result.Results) string {
	t.Helper()
	const from, to = "<!-- table:begin -->\n", "<!-- table:end -->"
	before, rest, ok := strings.Cut(readme, from)
	old, after, ended := strings.Cut(rest, to)
	if !ok || !ended {
		t.Fatal("the README has no marks around its table")
	}
	d := Run(res)
	all := d.Sections[0].Table
	var table Table
	for i, h := range all.Heads {
		if i == 0 || slices.Contains([]string{"drain", "freshness p99", "storage", "lost /", "verdict"}, h.Title) {
			table.Heads = append(table.Heads, h)
			for k, r := range all.Rows {
				if len(table.Rows) <= k {
					table.Rows = append(table.Rows, nil)
				}
				table.Rows[k] = append(table.Rows[k], r[i])
			}
		}
	}
	var b bytes.Buffer
	markdownTable(&b, table.cleaned())
	prose := ""
	for line := range strings.Lines(old) {
		if !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, ">") {
			prose += line
		}
	}
	text := b.String() + strings.TrimSpace(prose) + "\n\n"
	for _, line := range wrap(strings.Join(d.Findings, " "), 140) {
		text += "> " + strings.TrimSpace(line) + "\n"
	}
	return before + from + text + to + after
}

// TestReadmeTable: six columns and the answer replace the former ones; the prose between them stays.
func TestReadmeTable(t *testing.T) {
	const readme = "# a\n<!-- table:begin -->\n| old |\n\nTwo cores.\n\n> old\n<!-- table:end -->\nb\n"
	got := withTable(t, readme, fixture(t))
	for _, want := range []string{"# a\n<!-- table:begin -->\n| ", "\n\nTwo cores.\n\n> partitioned is not correct: it fails G4. ", "\n<!-- table:end -->\nb\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") || got != withTable(t, got, fixture(t)) {
		t.Errorf("not replaced, or not the same a second time:\n%s", got)
	}
}
