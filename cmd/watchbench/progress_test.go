package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/record"
)

// TestStepsTellHowLong: a step that takes long says so below its line, and leaves nothing.
func TestStepsTellHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetErr(terminal.New(&out, true, nil))
		say, stop := steps(cmd)
		say("building etcd")
		time.Sleep(5100 * time.Millisecond)
		stop()
		if s := out.String(); !strings.HasPrefix(s, "building etcd\n") || !strings.Contains(s, "\r5s: building etcd") || !strings.HasSuffix(s, "\r") {
			t.Errorf("%q", s)
		}
	})
}

func TestStatusOfLongCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		time.Sleep(20 * time.Second)
		for want, got := range map[string]string{
			"recording for 20s, 40s left: 60 events, 3.0/s, 2 lists": recording(began, time.Minute, func() []record.Progress { return []record.Progress{{Listed: 1, Events: 20}, {Listed: 1, Events: 40}} })(),
			"recording for 20s: 0 events, 0.0/s, 1 list":             recording(began, 0, func() []record.Progress { return []record.Progress{{Listed: 1}} })(),
			"played 500 events, 25/s, 25%, 1m0s left":                playing(began, func() churn.Stats { return churn.Stats{Done: 500, Fraction: 0.25} })(),
			"played 500 events, 25/s":                                playing(began, func() churn.Stats { return churn.Stats{Done: 500} })(),
		} {
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
}
