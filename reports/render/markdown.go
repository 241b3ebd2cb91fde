package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Markdown writes the report for a pull request comment or a README, in GitHub's
// dialect.
func Markdown(w io.Writer, res *result.Results) error {
	if err := res.Validate(); err != nil {
		return err
	}
	t := arrange(res)
	m := &markdown{w: bufio.NewWriter(w)}
	m.printf("## watchbench: %s\n\n", md(orUnknown(res.Run.Scenario)))
	if res.Run.Description != "" {
		m.printf("%s\n\n", md(res.Run.Description))
	}
	if res.Run.Interrupted {
		m.printf("**Interrupted:** these are the cells it finished.\n\n")
	}
	m.printf("**%s**\n\n", summary(t))
	for _, h := range headlines(t) {
		m.printf("- %s\n", md(h.text()))
	}
	m.printf("\n### Throughput\n\n")
	m.throughput(t)
	m.printf("\n### Verdict per check\n\n")
	m.verdicts(t)
	m.counterexamples(t)
	m.facts("Run and environment", append(provenance(res), environment(res)...))
	m.printf("\n<details><summary>Method and definitions</summary>\n\n")
	for _, n := range method(t) {
		m.printf("- %s\n", md(n))
	}
	m.printf("\n| column | unit | meaning |\n|---|---|---|\n")
	for _, h := range definitions() {
		m.printf("| %s | %s | %s |\n", h.Title, h.Unit, md(h.Meaning))
	}
	m.printf("\n</details>\n")
	return m.w.Flush()
}

type markdown struct{ w *bufio.Writer }

func (m *markdown) printf(format string, args ...any) { fmt.Fprintf(m.w, format, args...) }

func (m *markdown) throughput(t *table) {
	m.sheet(t.throughput(published, ours))
	for i, n := range t.notes() {
		if i == 0 {
			m.printf("\n")
		}
		m.printf("- %s: %s\n", md(n.Name), md(n.Text))
	}
}

// sheet writes a table.
func (m *markdown) sheet(s sheet) {
	var heads, rules []string
	for _, k := range s.Keys {
		heads, rules = append(heads, md(k.Title)), append(rules, ":--")
	}
	for _, h := range s.Heads {
		rule := "--:"
		if h.left {
			rule = ":--"
		}
		heads, rules = append(heads, strings.TrimSuffix(md(h.Title)+"<br>"+h.Unit, "<br>")), append(rules, rule)
	}
	m.row(heads)
	m.row(rules)
	for _, r := range s.Rows {
		var cells []string
		for _, k := range r.Keys {
			cells = append(cells, md(k))
		}
		for i, c := range r.Cells {
			cells = append(cells, c.markdown(s.Heads[i]))
		}
		m.row(cells)
	}
}

// markdown is the cell's text. Where the heading wants it, a sign is added to the word,
// for those who skim.
func (c cell) markdown(h heading) string {
	text := c.Text // of figures it is our own
	if h.left {
		text = md(text)
	}
	switch {
	case h.marked && c.tone == good:
		return "✅ " + text
	case h.marked && c.tone == bad:
		return "❌ " + text
	case h.marked:
		return "⚠️ " + text
	case c.tone == best, c.tone == bad:
		return "**" + text + "**"
	case c.tone == void:
		return "*" + text + "*"
	}
	return text
}

func (m *markdown) verdicts(t *table) {
	if len(t.checks) == 0 {
		m.printf("Nothing was judged.\n")
		return
	}
	m.sheet(t.verdicts())
	if note := t.unaskedNote(); note != "" {
		m.printf("\n%s\n", md(note))
	}
}

func (m *markdown) counterexamples(t *table) {
	for _, e := range examples(t) {
		fence := strings.Repeat("`", max(3, 1+longestRun(e.Text, '`')))
		m.printf("\n%s: %s\n\n%s\n%s\n%s\n", md(e.Name), md(e.Failure), fence, e.Text, fence)
	}
}

func (m *markdown) facts(title string, facts []fact) {
	m.printf("\n<details><summary>%s</summary>\n\n| | |\n|---|---|\n", title)
	for _, f := range facts {
		m.row([]string{md(f.Name), md(f.Value)})
	}
	m.printf("\n</details>\n")
}

func (m *markdown) row(cells []string) { m.printf("| %s |\n", strings.Join(cells, " | ")) }

// mdEscapes are the runes with a meaning inside a line or a table cell. An @ gets
// an invisible neighbour, because no escape keeps GitHub from notifying a user.
var mdEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "@", "@\u200b", "://", ":\u200b//",
)

// md escapes text for one line of Markdown.
func md(s string) string { return mdEscapes.Replace(clean(s)) }

func longestRun(s string, b byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != b {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
