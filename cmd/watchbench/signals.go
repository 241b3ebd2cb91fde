package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// interruptible returns a context that the first signal ends: what was started is cleaned
// up, and what was measured so far is reported. The second has the clean-up wait for
// nothing; the third ends the program at once, and watchdogs remove what they can.
func interruptible(stderr io.Writer) context.Context {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(context.Background())
	hurry, hurryUp := context.WithCancel(context.Background())
	got := make(chan os.Signal, 2) // two that come at once
	signal.Notify(got, signals...)
	go func() { // lives as long as the program
		<-got
		cancel()
		for s := range got {
			if s != syscall.SIGHUP { // of which a closed terminal sends several
				break
			}
		}
		hurryUp()
		signal.Stop(got)
		// last: the terminal may take nothing
		fmt.Fprintln(stderr, "watchbench: stopping everything at once; interrupt again to leave the rest behind")
	}()
	return lifecycle.WithHurry(ctx, hurry)
}
