package commandline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Columns is the width that help keeps to.
const Columns = 80

// Wrap has the help of cmd and its subcommands keep to Columns: flags, and the paragraphs
// of Long that are wider.
func Wrap(cmd *cobra.Command) {
	cmd.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", Columns),
		`for more information about a command.`, `for more.`,
	).Replace(cmd.UsageTemplate()))
	wrapLong(cmd)
}

func wrapLong(cmd *cobra.Command) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, p := range paragraphs {
		for line := range strings.Lines(p) {
			if len([]rune(line)) > Columns {
				paragraphs[i] = wrapped(p)
			}
		}
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, sub := range cmd.Commands() {
		wrapLong(sub)
	}
}

// wrapped breaks a paragraph anew.
func wrapped(paragraph string) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(paragraph) {
		width := len([]rune(word))
		switch {
		case column == 0:
		case column+1+width > Columns:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	return b.String()
}
