package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

const (
	watcherStamp = "github.com/watchbench/watchbench/internal/version.Version"
	watcherMain  = "./cmd/k8s-watch"
)

// unbuilt says which of two revisions do not build, nil for one that does.
type unbuilt struct{ base, new *buildError }

func (u *unbuilt) Error() string {
	var parts []string
	for _, e := range []*buildError{u.base, u.new} {
		if e != nil {
			parts = append(parts, e.Error())
		}
	}
	return strings.Join(parts, "\n")
}

func (g *sideBySide) commands(ctx context.Context, line func(string)) (base, changed, same string, err error) {
	if g.base.rev == "" && g.new.rev == "" {
		return g.base.command, g.new.command, "", nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", "", "", fmt.Errorf("find the user's cache: %w", err)
	}
	b := builder{repo: ".", main: watcherMain, stamp: watcherStamp, line: line,
		cache: filepath.Join(user, "watchbench", "revisions")}
	var programs [2]program
	var broken [2]*buildError
	commands := [2]string{g.base.command, g.new.command}
	for i, rev := range []string{g.base.rev, g.new.rev} {
		if rev == "" {
			continue
		}
		programs[i], err = b.build(ctx, rev)
		if errors.As(err, &broken[i]) {
			continue
		}
		if err != nil {
			return "", "", "", err
		}
		commands[i] = shellescape.Quote(programs[i].path) + " -f {config}"
	}
	if broken[0] != nil || broken[1] != nil {
		return "", "", "", &unbuilt{broken[0], broken[1]}
	}
	if p := programs; p[0].code != "" && p[0].code == p[1].code {
		same = fmt.Sprintf("%s and %s are the same program but for its version: nothing to gate", p[0].version, p[1].version)
	}
	return commands[0], commands[1], same, nil
}
