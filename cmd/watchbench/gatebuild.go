package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/watchbench/watchbench/internal/revision"
	"github.com/watchbench/watchbench/reports/gate"
)

const (
	watcherStamp = "github.com/watchbench/watchbench/internal/version.Version"
	watcherMain  = "./cmd/k8s-watch"
)

// unbuilt says which of two revisions do not build, nil for one that does.
type unbuilt struct{ base, new *revision.BuildError }

func (u *unbuilt) Error() string {
	var parts []string
	for _, e := range []*revision.BuildError{u.base, u.new} {
		if e != nil {
			parts = append(parts, e.Error())
		}
	}
	return strings.Join(parts, "\n")
}

func (u *unbuilt) verdict(rules gate.Rules) *gate.Verdict {
	return gate.Unbuilt(rules, first(u.base), first(u.new))
}

// first is the first error of a build, empty if there is none.
func first(e *revision.BuildError) string {
	if e == nil {
		return ""
	}
	return e.Version + ": " + e.First()
}

// commands are those of both sides, built where they are revisions.
func (g *sideBySide) commands(ctx context.Context, line func(string)) (base, changed, same string, err error) {
	if g.base.rev == "" && g.new.rev == "" {
		return g.base.command, g.new.command, "", nil
	}
	cache, err := revision.DefaultCache()
	if err != nil {
		return "", "", "", err
	}
	b := revision.Builder{Repo: ".", Package: watcherMain, Stamp: watcherStamp, Cache: cache, Line: line}
	var programs [2]revision.Program
	var broken [2]*revision.BuildError
	commands := [2]string{g.base.command, g.new.command}
	for i, rev := range []string{g.base.rev, g.new.rev} {
		if rev == "" {
			continue
		}
		programs[i], err = b.Build(ctx, rev)
		if errors.As(err, &broken[i]) {
			continue
		}
		if err != nil {
			return "", "", "", err
		}
		commands[i] = word(programs[i].Path) + " -f {config}"
	}
	if broken[0] != nil || broken[1] != nil {
		return "", "", "", &unbuilt{broken[0], broken[1]}
	}
	if p := programs; p[0].Code != "" && p[0].Code == p[1].Code {
		same = fmt.Sprintf("%s and %s are the same program but for its version: nothing to gate", p[0].Version, p[1].Version)
	}
	return commands[0], commands[1], same, nil
}

// word keeps a path with spaces one word of a command.
func word(path string) string {
	switch {
	case !strings.ContainsAny(path, " \t'\""):
		return path
	case strings.Contains(path, `"`):
		return "'" + path + "'"
	}
	return `"` + path + `"`
}
