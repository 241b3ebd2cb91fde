package main

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxInit is what a package may allocate before main, in bytes, whether or not it is used.
// Regular expressions with a large bound, for one, take hundreds of kilobytes.
const maxInit = 96 << 10

var initLine = regexp.MustCompile(`(?m)^init (\S*/\S+) @.* (\d+) bytes, `)

// TestLightStart: what is off costs nothing, and each package is linked in.
func TestLightStart(t *testing.T) {
	cmd := program(t.Context(), t, "--version")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	ours, kafka := 0, false
	for _, m := range initLine.FindAllStringSubmatch(trace.String(), -1) {
		size, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(m[1], "watchbench/watcher/") {
			ours++
			kafka = kafka || strings.HasSuffix(m[1], "/notify")
		}
		if size > maxInit && strings.Contains(m[1], "watchbench/") {
			t.Errorf("%s allocates %d bytes before it is asked for anything, at most %d", m[1], size, maxInit)
		}
	}
	if ours < 5 || !kafka {
		t.Errorf("%d packages of the watcher are in the trace, Kafka: %t:\n%s", ours, kafka, trace.String())
	}
}
