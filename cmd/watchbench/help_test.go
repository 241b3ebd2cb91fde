package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestHelpGroupsTheCommands holds each command to a group of the help and to one grammar.
func TestHelpGroupsTheCommands(t *testing.T) {
	root := command()
	for _, cmd := range root.Commands() {
		if cmd.Hidden || !cmd.Runnable() || cmd.Name() == "version" {
			continue
		}
		if cmd.GroupID == "" {
			t.Errorf("%s is in no group of watchbench --help", cmd.Name())
		}
		if word, _, _ := strings.Cut(cmd.Short, " "); strings.HasSuffix(word, "s") || strings.ToUpper(word[:1]) != word[:1] || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: %q: want an imperative, with a capital and no full stop", cmd.Name(), cmd.Short)
		}
		if len(cmd.Short) > 67 { // behind two spaces and the name, 80 columns in all
			t.Errorf("%s: %q is wider than the terminal", cmd.Name(), cmd.Short)
		}
	}
	help, _, _, err := invoke(t, "--help")
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, title := range []string{"Measure:", "Which settings?", "Did it get worse?", "What if something fails?", "Other clusters, watchers, loads:"} {
		next := strings.Index(help[at:], "\n"+title+"\n")
		if next < 0 {
			t.Fatalf("%q is missing or out of order in\n%s", title, help)
		}
		at += next
	}
}

// TestHelpGroupsTheClusterFlags: the flags that choose a cluster stand together, in each command that runs scenarios.
func TestHelpGroupsTheClusterFlags(t *testing.T) {
	for _, cmd := range []string{"run", "matrix", "tune"} {
		help, _, _, err := invoke(t, cmd, "--help")
		if err != nil {
			t.Fatal(err)
		}
		_, flags, _ := strings.Cut(help, "\nFlags:\n")
		before, ours, _ := strings.Cut(flags, "\n"+clusterGroup+":\n")
		for _, flag := range []string{"cluster", "context", "kubeconfig", "kind-name", "kind-image", "fsync"} {
			if strings.Contains(before, " --"+flag+" ") || !strings.Contains(ours, " --"+flag+" ") {
				t.Errorf("%s: --%s is not below %s:\n%s", cmd, flag, clusterGroup, help)
			}
		}
	}
}

// TestFlagsSayOneDefault looks for a usage that names a default beside the one that is
// printed anyway, and for a duration or number of which neither names any.
func TestFlagsSayOneDefault(t *testing.T) {
	for _, cmd := range command().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			zero := f.DefValue == "" || f.DefValue == "0" || f.DefValue == "0s" || f.DefValue == "false" || f.DefValue == "[]"
			said := strings.Contains(f.Usage, "(default")
			if said && !zero {
				t.Errorf("%s --%s names two defaults: %q and %s", cmd.Name(), f.Name, f.Usage, f.DefValue)
			}
			if kind := f.Value.Type(); zero && !said && (kind == "duration" || kind == "int" || strings.HasPrefix(kind, "uint")) {
				t.Errorf("%s --%s names no default: %q", cmd.Name(), f.Name, f.Usage)
			}
		})
	}
}
