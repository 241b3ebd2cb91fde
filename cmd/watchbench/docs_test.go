package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/pflag"
)

const repository = "../.."

// page is a page of the docs, and what became of the commands that it shows.
type page struct {
	*testing.T
	root, bin  string          // the repository, and a folder with its programs
	tests      map[string]bool // the names of all tests
	tried      int
	ran, wrong []string
}

// shown is a simple command, as a page shows it.
type shown struct {
	line  int
	words []string
	mark  string // of <!-- not run: … -->: the reason why it is only parsed
	block bool   // to be typed as it stands; in a text a name such as watchbench check may lack its arguments
}

func (p *page) bad(c shown, format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf("%d: %s: %s", c.line, strings.Join(c.words, " "), fmt.Sprintf(format, args...)))
}

// commandsOf returns what tries the commands of a page, in a folder of its own.
func commandsOf(t *testing.T) (root string, try func(text string) *page) {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	bin, tests := t.TempDir(), testNames(t, root)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "../k8s-watch", "../storagemock").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Chdir(t.TempDir())
	write0600(t, "results.json", string(unpacked(t, filepath.Join(root, "reports/gate/testdata/pairs/request-01-01.json.zst"))))
	return root, func(text string) *page {
		for _, f := range shownFiles(text) {
			write0600(t, f.name, f.text)
		}
		p := &page{T: t, root: root, bin: bin, tests: tests}
		for _, c := range shownCommands(text) {
			p.tried++
			p.try(c)
		}
		p.paths(text)
		return p
	}
}

// TestCommandsInDocs: each command that README.md, CONTRIBUTING.md or a page of docs shows exists, with these flags,
// arguments, scenarios and files. What starts no process is run, a run as --dry-run.
func TestCommandsInDocs(t *testing.T) {
	root, try := commandsOf(t)
	for _, text := range wrongCommands {
		if p := try(text); len(p.wrong) == 0 {
			t.Errorf("nothing is found to be wrong with %s", text)
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	tried, ran := 0, 0
	for _, path := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		p := try(read(t, path))
		for _, w := range p.wrong {
			t.Errorf("%s:%s", path, w)
		}
		tried, ran = tried+p.tried, ran+len(p.ran)
		t.Logf("%s runs %q", filepath.Base(path), p.ran)
	}
	t.Logf("%d commands, %d of them run", tried, ran)
	if tried < 100 || ran < 20 {
		t.Error("too few: does the test still find them?")
	}
}

// wrongCommands are pages with one mistake each.
var wrongCommands = []string{
	"`watchbench run smoke --repaet 3`",
	"`bin/watchbench runs smoke`",
	"`watchbench run smokes`",
	"`gate --base-revision HEAD~1`",
	"```\nbin/watchbench run strategies \\\n  --set watcher.podQueueNumber=3\n```",
	"```\nzstd -dc x.zst | watchbench check\n```",
	"```\nKUBECONFIG=$(bin/watchbench cluster upp)\n```",
	"```\nwatchbench tune no/such --find rate   # a comment\n```",
	"`watchbench simulate strategies --set thresholds.freshness.p98='< 2s'`",
	"`k8s-watch check -f config.json --filterConfig filter.json`",
	"`k8s-watch -f config.json more`",
	"`bin/storagemock --latncy 20ms`",
	"`make bencj`",
	"`make bench SCENARIOS=smoke`",
	"`make bench ARGS='--repaet 3'`",
	"`go test ./scenarios/no -run TestX`",
	"`go test ./scenarios/spec -run TestNoSuchThing`",
	"`go test ./dashboards -run TestFaults -fault`",
	"see `deploy/no/such.yaml`",
	"see `TestNoSuchThing`",
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write0600(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	data, err := d.DecodeAll([]byte(read(t, path)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

type shownFile struct{ name, text string }

// shownFiles are the files that a page asks its reader to write.
func shownFiles(text string) (all []shownFile) {
	for _, m := range regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```yaml\n(.*?)```").FindAllStringSubmatch(text, -1) {
		all = append(all, shownFile{m[1], m[2]})
	}
	return all
}

var (
	fence      = regexp.MustCompile("(?ms)^(?:<!-- not run: ([^>]*) -->\n)?```(\\w*)\n(.*?)^```")
	inline     = regexp.MustCompile("`([^`]+)`(?: <!-- not run: ([^>]*) -->)?")
	documented = regexp.MustCompile(`^(bin/)?(watchbench|k8s-watch|storagemock|k6)$|^(make|go)$`)
)

// shownCommands are the commands of ours in a page's blocks of a shell, and in its text.
func shownCommands(text string) (all []shown) {
	at := func(offset int) int { return 1 + strings.Count(text[:offset], "\n") }
	prose := []byte(text)
	for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
		for i := m[0]; i < m[1]; i++ {
			if prose[i] != '\n' {
				prose[i] = ' '
			}
		}
		if lang := text[m[4]:m[5]]; lang != "" && lang != "sh" {
			continue
		}
		mark, offset := submatch(text, m, 1), m[6]
		for line := range strings.SplitAfterSeq(strings.ReplaceAll(text[m[6]:m[7]], "\\\n", " \x00"), "\n") {
			for _, words := range simpleCommands(strings.ReplaceAll(line, "\x00", "")) {
				if documented.MatchString(words[0]) {
					all = append(all, shown{at(offset), words, mark, true})
				}
			}
			offset += len(line)
		}
	}
	for _, m := range inline.FindAllSubmatchIndex(prose, -1) {
		code := strings.ReplaceAll(strings.Join(strings.Fields(string(prose[m[2]:m[3]])), " "), `\|`, "|")
		if !strings.Contains(code, " ") {
			continue
		}
		for _, words := range simpleCommands(code) {
			if subcommands()[words[0]] {
				words = append([]string{"watchbench"}, words...)
			}
			if documented.MatchString(words[0]) {
				all = append(all, shown{at(m[0]), words, submatch(string(prose), m, 2), false})
			}
		}
	}
	return all
}

var subcommands = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, c := range command().Commands() {
		all[c.Name()] = true
	}
	return all
})

func submatch(text string, m []int, n int) string {
	if m[2*n] < 0 {
		return ""
	}
	return text[m[2*n]:m[2*n+1]]
}

// simpleCommands splits a line of a shell at its operators, into words without quotes; redirections and assignments
// are left out, and what $(…) runs comes before the command that it is in.
func simpleCommands(line string) (all [][]string) {
	var words []string
	var word strings.Builder
	started, redirect := false, false
	endWord := func() {
		if started && !redirect {
			words = append(words, word.String())
		}
		redirect = redirect && !started
		started = false
		word.Reset()
	}
	end := func() {
		endWord()
		for len(words) > 0 && regexp.MustCompile(`^\w+=`).MatchString(words[0]) && words[0] != "" {
			words = words[1:]
		}
		if len(words) > 0 {
			all = append(all, words)
		}
		words, redirect = nil, false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case strings.HasPrefix(line[i:], "$("):
			n := strings.IndexByte(line[i:]+")", ')')
			all = append(all, simpleCommands(line[i+2:min(i+n, len(line))])...)
			word.WriteString("…")
			started = true
			i += n
		case c == '\'' || c == '"':
			n := strings.IndexByte(line[i+1:]+string(c), c)
			word.WriteString(line[i+1 : min(i+1+n, len(line))])
			started = true
			i += n + 1
		case c == '#' && !started:
			i = len(line)
		case (c == '<' || c == '>') && (!started || regexp.MustCompile(`^\d$`).MatchString(word.String())):
			word.Reset()
			started, redirect = false, true
		case strings.IndexByte("|&;()", c) >= 0:
			end()
		case c == ' ' || c == '\n':
			endWord()
		default:
			word.WriteByte(c)
			started = true
		}
	}
	end()
	return all
}

// placeholder is what a reader puts something else for.
var placeholder = regexp.MustCompile(`…|<\w+>|^[A-Z][A-Z-]+$|^/path/`)

func (p *page) try(c shown) {
	switch filepath.Base(c.words[0]) {
	case "watchbench":
		p.watchbench(c)
	case "make":
		p.make(c)
	case "go":
		p.goTest(c)
	default:
		p.other(c)
	}
	for _, w := range c.words[1:] {
		p.path(c, w)
	}
}

// watchbench parses a command by the program's own commands, and runs it if that starts nothing.
func (p *page) watchbench(c shown) {
	args := c.words[1:]
	if slices.Equal(args, []string{"completion", "bash", "--help"}) {
		return // cobra adds it when it runs
	}
	cmd, rest, err := command().Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	help := errors.Is(err, pflag.ErrHelp)
	if help {
		err = nil
	} else if err == nil && cmd.Args != nil && (c.block || len(rest) > 0) {
		err = cmd.Args(cmd, cmd.Flags().Args())
	}
	if err != nil {
		p.bad(c, "%v", err)
		return
	}
	for _, ref := range cmd.Flags().Args() {
		if slices.Contains([]string{"tune", "matrix", "reference"}, cmd.Name()) && !placeholder.MatchString(ref) &&
			!regexp.MustCompile(`^F\d+$`).MatchString(ref) {
			if _, _, err := parse(ref); err != nil {
				p.bad(c, "%v", err)
			}
		}
	}
	if c.mark != "" || slices.ContainsFunc(args, placeholder.MatchString) || cmd.Flags().Changed("resume") {
		return
	}
	want := exitOK
	switch path := cmd.CommandPath(); {
	case help || cmd.Name() == "exit-codes" || strings.HasPrefix(path, "watchbench scenarios ") && len(args) > 1 || path == "watchbench gate rules":
	case path == "watchbench simulate" && len(rest) > 0:
		args = append(args, "--quiet")
	case path == "watchbench run" && len(rest) > 0:
		args = append(args, "--dry-run")
	case path == "watchbench gate" && slices.Contains(rest, "results.json"):
		want = exitRegression // of a watcher that sends each object twice
	default:
		return
	}
	if _, _, code, err := invoke(p.T, args...); code != want {
		p.bad(c, "exit code %d, want %d: %v", code, want, err)
	}
	p.ran = append(p.ran, strings.Join(args, " "))
}

// make has make print what it would do, and tries the commands of ours among that.
func (p *page) make(c shown) {
	if _, err := exec.LookPath("make"); err != nil {
		p.Logf("make is not installed: %q is NOT tested", c.words)
		return
	}
	makefile := read(p.T, filepath.Join(p.root, "Makefile"))
	for _, w := range c.words[1:] {
		if name, _, ok := strings.Cut(w, "="); ok && !regexp.MustCompile(`\$[({](if \$\()?`+name+`\)|(?m)^`+name+` *\?=`).MatchString(makefile) {
			p.bad(c, "the Makefile has no variable %s", name)
		}
	}
	out, err := exec.CommandContext(p.Context(), "make", append([]string{"-n", "-s", "-C", p.root}, c.words[1:]...)...).CombinedOutput()
	if err != nil {
		p.bad(c, "%v: %s", err, out)
		return
	}
	for line := range strings.Lines(string(out)) {
		for _, words := range simpleCommands(line) {
			if documented.MatchString(words[0]) && strings.HasSuffix(words[0], "watchbench") && strings.Contains(strings.Join(c.words, " "), "ARGS=") {
				p.watchbench(shown{c.line, words, "make", false})
			}
		}
	}
}

// goTest looks for a package, its tests and their flags.
func (p *page) goTest(c shown) {
	if len(c.words) < 3 || c.words[1] != "test" {
		return
	}
	var code strings.Builder
	for i, w := range c.words {
		name, isFlag := strings.CutPrefix(w, "-")
		switch {
		case strings.HasPrefix(w, "./") && !strings.HasSuffix(w, "..."):
			files, err := filepath.Glob(filepath.Join(p.root, w, "*_test.go"))
			if err != nil || len(files) == 0 {
				p.bad(c, "%s has no tests", w)
			}
			for _, f := range files {
				code.WriteString(read(p.T, f))
			}
		case (name == "run" || name == "bench") && isFlag && c.words[i+1] != "^$":
			pattern, _, _ := strings.Cut(strings.TrimPrefix(c.words[i+1], "^"), "/")
			pattern, end := strings.CutSuffix(pattern, "$")
			if !regexp.MustCompile(`func (Test|Benchmark)\w*`+map[bool]string{false: `(` + pattern + `)`, true: pattern + `\(`}[end]).MatchString(code.String()) &&
				!regexp.MustCompile(`func \w*(`+pattern+`)`).MatchString(code.String()) {
				p.bad(c, "no test or benchmark %s", pattern)
			}
		case isFlag && !slices.Contains([]string{"v", "count", "timeout", "run", "bench", "cpu", "benchtime", "race", "args"}, name):
			if !regexp.MustCompile(`flag\.\w+\((&\w+, )?"` + name + `"`).MatchString(code.String()) {
				p.bad(c, "no flag -%s", name)
			}
		}
	}
}

// other parses a command of another program of ours by the flags of its help.
func (p *page) other(c shown) {
	name, args := filepath.Base(c.words[0]), c.words[1:]
	if name == "k6" {
		return // its files are looked for
	}
	ask := []string{"--help"}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		ask, args = []string{args[0], "--help"}, args[1:]
	}
	out, err := exec.CommandContext(p.Context(), filepath.Join(p.bin, name), ask...).CombinedOutput()
	if err != nil {
		p.bad(c, "%v: %s", err, out)
		return
	}
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([\w-]+)( [a-z]\w*)?  `).FindAllStringSubmatch(string(out), -1) {
		if m[3] == "" {
			flags.BoolP(m[2], m[1], false, "")
		} else {
			flags.StringP(m[2], m[1], "", "")
		}
	}
	if err := flags.Parse(args); err != nil && !errors.Is(err, pflag.ErrHelp) {
		p.bad(c, "%v", err)
	} else if flags.NArg() > 0 {
		p.bad(c, "takes no argument %q", flags.Args())
	}
}

// path requires a path below one of the repository's folders to exist.
func (p *page) path(c shown, word string) {
	word = strings.TrimPrefix(word, "./")
	top, _, below := strings.Cut(word, "/")
	if !below || placeholder.MatchString(word) || strings.Contains(word, "/mine") || strings.HasSuffix(word, "...") ||
		!slices.Contains([]string{"cmd", "dashboards", "deploy", "docs", "internal", "loadgen", "reports", "scenarios", "storagemock", "watcher"}, top) {
		return
	}
	if found, err := filepath.Glob(filepath.Join(p.root, word)); err != nil || len(found) == 0 {
		p.bad(c, "%s does not exist", word)
	}
}

// paths does so for the paths, and for the tests, that a page's text names.
func (p *page) paths(text string) {
	for _, m := range regexp.MustCompile("`([\\w./*-]+)`").FindAllStringSubmatchIndex(text, -1) {
		word := text[m[2]:m[3]]
		c := shown{line: 1 + strings.Count(text[:m[0]], "\n"), words: []string{word}}
		if strings.Contains(word, "/") {
			p.path(c, word)
		} else if regexp.MustCompile(`^Test[A-Z]\w+$`).MatchString(word) && !p.tests[word] {
			p.bad(c, "there is no such test")
		}
	}
}

// testNames are those of all tests of the repository.
func testNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "out"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllStringSubmatch(read(t, path), -1) {
				all[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
