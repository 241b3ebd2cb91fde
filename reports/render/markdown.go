package render

import (
	"io"
	"strings"
	"text/template"

	"github.com/watchbench/watchbench/reports/result"
)

// Markdown writes the report for a pull request comment or a README, in GitHub's
// dialect.
func Markdown(w io.Writer, res *result.Results) error {
	return fill(w, markdownTemplates.Lookup("report.md"), arrange(res))
}

var markdownTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"md": md, "cell": cell.markdown, "fence": fence,
}).ParseFS(pageFiles, "page/*.md"))

// markdown is the cell's text. Where the heading wants it, a sign is added to the word,
// for those who skim.
func (c cell) markdown(h heading) string {
	text := figureEscapes.Replace(c.Text)
	if h.Left {
		text = md(c.Text)
	}
	switch {
	case h.marked && c.tone == good:
		return "✅ " + text
	case h.marked && c.tone == bad:
		return "❌ " + text
	case h.marked:
		return "⚠️ " + text
	case c.tone == best, c.tone == bad:
		text = "**" + text + "**"
	case c.tone == void:
		text = "*" + text + "*"
	}
	if c.Spread != "" {
		text += "<br>" + c.Spread
	}
	return text
}

// mdEscapes are the runes with a meaning inside a line or a table cell. An @ gets
// an invisible neighbour, because no escape keeps GitHub from notifying a user.
var mdEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "@", "@\u200b", "://", ":\u200b//",
)

// figureEscapes are those of a figure, which is our own but for its unit.
var figureEscapes = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;")

// md escapes text for one line of Markdown.
func md(s string) string { return mdEscapes.Replace(clean(s)) }

// fence is a line of backquotes that does not occur in text.
func fence(text string) string {
	f := "```"
	for strings.Contains(text, f) {
		f += "`"
	}
	return f
}
