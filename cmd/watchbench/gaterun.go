package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// sideBySide runs two watchers side by side, each by its command, or k8s-watch as it is at a revision.
type sideBySide struct {
	runFlags
	base, new side
	blocks    int
	scenario  string
}

type side struct{ command, rev string }

// Bounds on the blocks of a run that gate starts; by fewer than the least nothing is decided.
const (
	leastBlocks   = 6
	defaultBlocks = 16
	mostBlocks    = 50
)

const gateScenario = "gate"

func (g *sideBySide) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&g.base.command, "base-command", "", "command of the base; {config} is the path of its config file")
	fl.StringVar(&g.new.command, "new-command", "", "command of the watcher to judge, likewise")
	fl.StringVar(&g.base.rev, "base-rev", "", "revision of this repository to build k8s-watch from, as the base")
	fl.StringVar(&g.new.rev, "new-rev", "",
		"revision to judge (default with --base-rev: worktree, with uncommitted changes)")
	fl.IntVar(&g.blocks, "blocks", defaultBlocks,
		fmt.Sprintf("blocks of four cells, base new new base, to run at each point (%d to %d)", leastBlocks, mostBlocks))
	fl.StringVar(&g.scenario, "scenario", gateScenario, "a scenario with pair: watcher, and the points base and new")
	fl.StringVar(&g.out, "runs", "out", "folder for the run's own folder, and for the verdict if there is no --out")
	fl.StringArrayVar(&g.sets, "set", nil, setUsage)
	fl.Uint64Var(&g.seed, "seed", 0, "seed for the plan, latency and cell order (default: the scenario's)")
	fl.BoolVar(&g.quiet, "quiet", false, "print no progress")
}

// runOnly are the flags that mean nothing for saved runs.
var runOnly = []string{"blocks", "scenario", "runs", "set", "seed", "quiet"}

// asked reports whether a run is to be made, and refuses flags that do not go together.
func (g *sideBySide) asked(cmd *cobra.Command) (bool, error) {
	given := cmd.Flags().Changed
	for i, s := range []side{g.base, g.new} {
		name := []string{"base", "new"}[i]
		command, rev := name+"-command", name+"-rev"
		switch {
		case given(command) && !strings.Contains(s.command, "{config}"):
			return false, badinput.New("write {config} for the path of the config file", "--%s never names its config", command)
		case given(rev) && strings.TrimSpace(s.rev) == "":
			return false, badinput.New("name a revision, or leave it out", "--%s is empty", rev)
		case given(command) && given(rev):
			return false, badinput.New("leave one of them out", "--%s and --%s both say what to run", command, rev)
		}
	}
	if given("base-rev") && g.new == (side{}) {
		g.new.rev = worktree
	}
	none := side{}
	switch {
	case g.base == none && g.new == none:
		if i := slices.IndexFunc(runOnly, given); i >= 0 {
			return false, badinput.New("add --base-command and --new-command, or --base-rev, or leave it out",
				"--%s means nothing for saved runs", runOnly[i])
		}
		return false, nil
	case g.base == none:
		return false, badinput.New("add --base-command or --base-rev", "the base is missing")
	case g.new == none:
		return false, badinput.New("add --new-command or --new-rev", "the watcher to judge is missing")
	case g.blocks < leastBlocks || g.blocks > mostBlocks:
		return false, badinput.New(fmt.Sprintf("use %d to %d", leastBlocks, mostBlocks), "--blocks %d", g.blocks)
	}
	return true, nil
}

func (f *gateFlags) runBoth(cmd *cobra.Command, args []string, g *sideBySide) error {
	if len(args) > 0 {
		return badinput.New("leave it out, or the flags that name two watchers", "%s is a saved run", args[0])
	}
	if f.control != "" {
		return badinput.New("leave it out: the run's blocks are its control", "--control is for two saved runs")
	}
	rules, err := f.read()
	if err != nil {
		return err
	}
	if g.blocks < rules.Blocks {
		return badinput.New("use as many, or ask for fewer there",
			"--blocks %d is less than the %d that %s asks for", g.blocks, rules.Blocks, f.rules)
	}
	out, same, err := g.run(cmd)
	if u := (*unbuilt)(nil); errors.As(err, &u) {
		fmt.Fprintln(cmd.ErrOrStderr(), u) // all that the compiler printed; the verdict has the first line
		return f.conclude(cmd, gate.Unbuilt(rules, u.base.first(), u.new.first()), nil, nil)
	}
	if same != "" {
		return errors.Join(err, f.nothing(cmd, same))
	}
	if err != nil {
		return err
	}
	f.out = cmp.Or(f.out, out.Dir)
	return f.paired(cmd, out.Results, rules)
}

func (f *gateFlags) nothing(cmd *cobra.Command, why string) (err error) {
	switch f.format {
	case tableFormat:
		_, err = fmt.Fprintln(cmd.OutOrStdout(), why)
	case jsonFormat:
		err = render.NothingToGate(cmd.OutOrStdout(), why)
	default:
		fmt.Fprintln(cmd.ErrOrStderr(), why)
	}
	return err
}

// run builds what is to be built, runs both watchers side by side, and returns the run. same
// says that both are the same program, so that nothing was run.
func (g *sideBySide) run(cmd *cobra.Command) (out runner.Outcome, same string, err error) {
	if cmd.Flags().Changed("seed") {
		g.sets = append(g.sets, fmt.Sprintf("seed=%d", g.seed))
	}
	g.sets = append(g.sets, fmt.Sprintf("repeat=%d", 2*g.blocks))
	// What is wrong with the scenario is said before anything is built.
	if _, err := g.file(g.base.command, g.new.command); err != nil {
		return out, "", err
	}
	bins, err := party.FindBinaries()
	if err != nil {
		return out, "", err
	}
	base, changed, same, err := g.commands(cmd.Context(), func(line string) { g.progress(cmd).Line(line) })
	if err != nil || same != "" {
		return out, same, err
	}
	file, err := g.file(base, changed)
	if err != nil {
		return out, "", err
	}
	if err := programs([]runner.Scenario{{Name: g.scenario, File: file}}, bins); err != nil {
		return out, "", err
	}
	out, err = g.execute(cmd, file, bins)
	if out.Results == nil {
		return out, "", err
	}
	if len(out.Results.Run.Crashed) > 0 && cmd.Context().Err() == nil {
		err = nil // which of the two it was, and what that means, is the gate's to say
	}
	if len(out.Results.Cells) > 0 {
		err = errors.Join(err, render.All(out.Dir, out.Results))
	}
	return out, "", err
}

// file is the scenario with the commands of both sides; without them it is k8s-watch.
func (g *sideBySide) file(base, changed string) (*spec.File, error) {
	name, file, err := parse(g.scenario, g.sets...)
	if err != nil {
		return nil, err
	}
	sides := map[string]bool{}
	for _, c := range file.Cells() {
		for _, p := range c.Params {
			sides[p.Name+"="+p.Value] = true
		}
	}
	if file.Base().Pair != gate.Axis || !sides[gate.Axis+"="+gate.BaseSide] || !sides[gate.Axis+"="+gate.NewSide] {
		const remedy = "add matrix: {watcher: {base: {name: base}, new: {name: new}}} and pair: watcher, as scenario gate has"
		return nil, badinput.New(remedy, "%s does not run two watchers side by side", name)
	}
	if base == "" || changed == "" {
		return file, nil
	}
	sets := slices.Clone(g.sets)
	for side, command := range map[string]string{gate.BaseSide: base, gate.NewSide: changed} {
		sets = append(sets, "matrix."+gate.Axis+"."+side+".command="+quote(command))
	}
	_, file, err = parse(g.scenario, sets...)
	return file, err
}
