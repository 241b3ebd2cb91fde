package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/version"
)

// item is an entry of a man page's list.
type item struct{ name, text string }

// environment and files are those of watchbench.
var (
	environment = []item{
		{"WATCHBENCH_CACHE", "Folder of the control plane's binaries; the user's cache folder unless it is set."},
		{"KUBEBUILDER_ASSETS", "Folder with etcd and kube-apiserver to use instead of building them."},
		{"KUBECONFIG", "Kubeconfig of commands that take one, unless a flag names it."},
		{"NO_COLOR", "If it is not empty, no colours."},
		{"CLICOLOR_FORCE", "If it is neither empty nor 0, colours even where the output is no terminal."},
		{"TERM", "On a dumb terminal: no colours, and progress as lines, one in ten seconds at most."},
		{"CI", "If it is neither empty nor false: progress as lines, one in ten seconds at most."},
	}
	files = []item{
		{"out/RUN/results.json", "Figures and verdicts of a run."},
		{"out/RUN/index.html, report.md", "Its report."},
		{"out/RUN/run.json, cells/", "Its record, from which watchbench check computes results.json again."},
	}
)

// siblings are the programs that are built beside watchbench, with the subcommands that have a
// help of their own. Their pages are their help.
var siblings = []struct {
	command []string
	short   string
}{
	{[]string{"k8s-watch"}, "copy the objects of a Kubernetes cluster into bcs-storage"},
	{[]string{"k8s-watch", "check"}, "say what k8s-watch would do with a configuration"},
	{[]string{"k8s-watch", "rbac"}, "print the rights that k8s-watch needs"},
	{[]string{"storagemock"}, "serve a bcs-storage with latency, capacity and faults"},
	{[]string{"watchfloor"}, "relay watches to bcs-storage, as the floor of a watcher's cost"},
	{[]string{"watchlegacy"}, "imitate bcs-k8s-watch, for comparison"},
}

// manCommand is for make man.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the man pages into a folder", Hidden: true, Args: needArgs(1, 1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return &badinput.Error{What: "man " + args[0], Remedy: "name a folder that can be written", Err: err}
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find the other programs: %w", err)
			}
			if err := errors.Join(manPages(cmd.Root(), args[0]), programPages(cmd.Context(), filepath.Dir(self), args[0])); err != nil {
				return fmt.Errorf("write the man pages: %w", err)
			}
			return nil
		},
	}
}

// manPages writes the page of a command and of those below it.
func manPages(cmd *cobra.Command, dir string) error {
	cmd.InitDefaultHelpFlag()
	cmd.DisableAutoGenTag = true
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			if err := manPages(sub, dir); err != nil {
				return err
			}
		}
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	var page bytes.Buffer
	if err := doc.GenMan(cmd, &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Source: "watchbench " + version.Version, Manual: "watchbench"}, &page); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	text, also, has := strings.Cut(page.String(), "\n.SH SEE ALSO")
	text = strings.TrimRight(text, "\n") + "\n" + list("EXIT STATUS", codes()) + list("ENVIRONMENT", environment) + list("FILES", files)
	if has {
		text += ".SH SEE ALSO" + also
	}
	return os.WriteFile(filepath.Join(dir, name+".1"), []byte(text), 0o644)
}

// codes are the exit codes of the help.
func codes() (all []item) {
	for line := range strings.Lines(exitCodes) {
		if code, text, ok := strings.Cut(strings.TrimSpace(line), " "); ok && code[0] >= '0' && code[0] <= '9' {
			all = append(all, item{code, strings.TrimSpace(text)})
		}
	}
	return all
}

// programPages writes a page of each other program that is there.
func programPages(ctx context.Context, bin, dir string) error {
	for _, p := range siblings {
		path := filepath.Join(bin, p.command[0])
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		help, err := exec.CommandContext(ctx, path, append(p.command[1:len(p.command):len(p.command)], "--help")...).Output()
		if err != nil {
			return fmt.Errorf("ask %s for its help: %w", strings.Join(p.command, " "), err)
		}
		name := strings.Join(p.command, "-")
		page := fmt.Sprintf(".TH \"%s\" \"1\" \"\" \"%s\" \"watchbench\"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n", strings.ToUpper(roff(name)), roff("watchbench "+version.Version), roff(name), roff(p.short))
		for line := range strings.Lines(string(help)) {
			page += roff(strings.TrimRight(line, " \n")) + "\n"
		}
		page += ".fi\n" + list("EXIT STATUS", []item{{"0", "Clean end."}, {"1", "Error."}, {"2", "Usage or bad input."}, {"130", "Interrupted, where that is no clean end."}})
		if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(page+".SH SEE ALSO\n\\fBwatchbench\\fP(1)\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// list is a section of a man page.
func list(title string, items []item) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".SH %s\n", title)
	for _, i := range items {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fP\n%s\n", roff(i.name), roff(i.text))
	}
	return b.String()
}

// roff is a line of text that no request of roff is made of.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
