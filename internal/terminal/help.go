package terminal

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// HelpColumns is the width that help keeps to.
const HelpColumns = 80

const groupKey = "group"

// Group puts flags below a title of their own in help.
func Group(flags *pflag.FlagSet, title string) {
	flags.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{groupKey: {title}} })
}

// flagUsages shows the flags, those of groups at the end.
func flagUsages(flags *pflag.FlagSet) string {
	const none = ""
	titles, sets := []string{none}, map[string]*pflag.FlagSet{none: pflag.NewFlagSet(none, pflag.ContinueOnError)}
	flags.VisitAll(func(f *pflag.Flag) {
		title := none
		if own := f.Annotations[groupKey]; len(own) > 0 {
			title = own[0]
		}
		if sets[title] == nil {
			titles, sets[title] = append(titles, title), pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		sets[title].AddFlag(f)
	})
	var b strings.Builder
	for _, title := range titles {
		if title != none {
			fmt.Fprintf(&b, "\n%s:\n", title)
		}
		b.WriteString(sets[title].FlagUsagesWrapped(HelpColumns))
	}
	return b.String()
}

// Wrap has the help of cmd and its subcommands keep to HelpColumns: flags, and the paragraphs of Long that are wider.
func Wrap(cmd *cobra.Command) {
	cobra.AddTemplateFunc("flagUsages", flagUsages)
	cmd.SetUsageTemplate(strings.NewReplacer(
		".LocalFlags.FlagUsages ", "flagUsages .LocalFlags ",
		".InheritedFlags.FlagUsages ", "flagUsages .InheritedFlags ",
		`for more information about a command.`, `for more.`,
	).Replace(cmd.UsageTemplate()))
	wrapLong(cmd)
}

func wrapLong(cmd *cobra.Command) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, p := range paragraphs {
		for line := range strings.Lines(p) {
			if len([]rune(line)) > HelpColumns {
				paragraphs[i] = wrapped(p)
			}
		}
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, sub := range cmd.Commands() {
		wrapLong(sub)
	}
}

func wrapped(paragraph string) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(paragraph) {
		width := len([]rune(word))
		switch {
		case column == 0:
		case column+1+width > HelpColumns:
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
