package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// DocumentMarkdown writes a document in GitHub's dialect, for a pull request's comment or a README.
func DocumentMarkdown(w io.Writer, d *Document) error {
	d = d.cleaned()
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "## watchbench: %s\n\n", md(d.Title))
	for _, f := range append([]string{d.Subtitle}, d.Findings...) {
		if f != "" {
			fmt.Fprintf(b, "%s\n\n", md(f))
		}
	}
	for _, v := range d.Verdicts {
		fmt.Fprintf(b, "**%s**\n\n", signed(v.Tone, md(v.Text)))
	}
	for place, around := range [][2]string{
		{"### %s\n\n", ""}, {"<details><summary>%s</summary>\n\n", "</details>\n\n"},
	} {
		for i := range d.Sections {
			if s := &d.Sections[i]; s.Place == Place(place) {
				fmt.Fprintf(b, around[0], md(s.Title))
				markdownSection(b, s)
				fmt.Fprint(b, around[1])
			}
		}
	}
	return b.Flush()
}

func markdownSection(b io.Writer, s *Section) {
	for _, t := range s.Text {
		fmt.Fprintf(b, "%s\n\n", md(t))
	}
	for _, c := range s.Code {
		fmt.Fprintf(b, "%s:\n\n```\n%s\n```\n\n", md(c.Caption), codeEscapes.Replace(c.Text))
	}
	if len(s.Table.Rows) > 0 {
		markdownTable(b, s.Table)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(b, "- %s\n", md(n))
	}
	if len(s.Notes) > 0 {
		fmt.Fprintln(b)
	}
}

func markdownTable(b io.Writer, t Table) {
	heads, rule := "|", "|"
	for _, h := range t.Heads {
		heads += " " + md(h.Title)
		if h.Unit != "" {
			heads += "<br>" + md(h.Unit)
		}
		heads += " |"
		rule += map[bool]string{true: " :-- |", false: " --: |"}[h.Words]
	}
	fmt.Fprintf(b, "%s\n%s\n", heads, rule)
	for _, r := range t.Rows {
		fmt.Fprint(b, "|")
		for i, c := range r {
			fmt.Fprintf(b, " %s |", c.markdown(t.Heads[i]))
		}
		fmt.Fprintln(b)
	}
	fmt.Fprintln(b)
}

// markdown is the cell's text; a sign is added to a word in its tone, for those who skim.
func (c Cell) markdown(h Head) string {
	switch text := figureEscapes.Replace(c.Text); {
	case h.Words:
		return signed(c.Tone, md(c.Text))
	case c.Tone == Best, c.Tone == Bad && text != "":
		return "**" + text + "**"
	default:
		return text
	}
}

func signed(t Tone, text string) string {
	if sign := map[Tone]string{Good: "✅", Best: "✅", Bad: "❌", Warn: "⚠️"}[t]; sign != "" {
		return sign + " " + text
	}
	return text
}

// mdEscapes are the runes with a meaning inside a line or a table cell. An @ gets
// an invisible neighbour, because no escape keeps GitHub from notifying a user.
var mdEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "@", "@\u200b", "://", ":\u200b//",
)

// figureEscapes suffice for a figure: only its unit may be foreign.
var figureEscapes = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;")

// codeEscapes keep a block of code closed; JSON has none of these.
var codeEscapes = strings.NewReplacer("`", "'", "<", "&lt;", ">", "&gt;")

func md(s string) string { return mdEscapes.Replace(clean(s)) }
