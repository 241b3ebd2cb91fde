package spec

import "strings"

// Words splits the command of another watcher at spaces; single and double quotes keep words together.
func (w Watcher) Words() []string {
	var words []string
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range w.Command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\t':
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}
