package render

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func document() *Document {
	return &Document{
		Title: "knees of strategies", Subtitle: "run of a day",
		Findings: []string{"keyed carries 210 writes/s.", "single carries 11 writes/s."},
		Sections: []Section{
			{
				Title: "knees", Text: []string{"Open loop."},
				Table: Table{Heads: []Head{{Title: "strategy", Words: true}, {Title: "knee", Unit: "writes/s"}, {Title: "why", Words: true}}, Rows: [][]Cell{
					append([]Cell{{Text: "keyed"}, {Text: "210", Tone: Good}}, Cells("2 lost")...), {{Text: "single"}, {Text: "11", Tone: Bad}, {Text: "backlog", Tone: Warn}},
				}},
				Plots: []Plot{{Title: "Freshness", Caption: "p99.", X: "writes/s", Unit: "s", Lines: []PlotLine{
					{Name: "keyed", Points: [][2]float64{{100, 0.2}, {200, 1.9}, {0, 1}, {math.NaN(), 1}}}, {Name: "by Little", Model: true, Points: [][2]float64{{100, 0.1}, {200, 0.2}}}, {Name: "nothing"},
				}}, {Title: "Empty"}},
				Notes: []string{"one probe was invalid"},
			},
			{Title: "method"},
		},
	}
}

func TestDocument(t *testing.T) {
	for name, tc := range map[string]struct {
		write func(*bytes.Buffer) error
		want  []string
	}{
		"terminal": {func(b *bytes.Buffer) error { return DocumentTerminal(b, document(), TerminalOptions{}) },
			[]string{"knees of strategies\nrun of a day\nkeyed carries 210 writes/s.\n", "keyed          210  2 lost\n", "  one probe was invalid\n"}},
		"narrow": {func(b *bytes.Buffer) error {
			return DocumentTerminal(b, document(), TerminalOptions{Width: 40, Color: true})
		},
			[]string{ansiBold + "knees" + ansiReset, ansiGreen + "210" + ansiReset}},
		"md": {func(b *bytes.Buffer) error { return DocumentMarkdown(b, document()) },
			[]string{"## watchbench: knees of strategies\n", "### knees\n\nOpen loop.\n\n| strategy | knee<br>writes/s | why |\n| :-- | --: | :-- |\n| keyed | 210 | 2 lost |\n| single | **11** | ⚠️ backlog |\n\n- one probe"}},
	} {
		var b bytes.Buffer
		if err := tc.write(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, b.String())
			}
		}
	}
}

func TestDocumentPage(t *testing.T) {
	var b bytes.Buffer
	if err := DocumentHTML(&b, document()); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{`<section id="section1" aria-label="knees">`, `data-chart="section1-plot1"`, `"data":[[100,0.2],[200,1.9],[0,1]]`, "one probe was invalid", `<td class="good" data-head="knee writes/s">210</td>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(page, "section1-plot2") {
		t.Error("the page has an empty chart")
	}
}
