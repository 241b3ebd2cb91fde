package pod

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
)

// actAs makes the test binary an agent, a party or a stand-in.
const actAs = "POD_TEST_ACT_AS"

func TestMain(m *testing.M) {
	if role := os.Getenv(actAs); role != "" {
		os.Exit(act(role))
	}
	goleak.VerifyTestMain(clustertest.Shared(m))
}

// act returns the exit code.
func act(role string) int {
	switch role {
	case "agent": // ADDRESS SILENCE
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		silence, _ := time.ParseDuration(os.Args[2])
		if err := (&Agent{Listen: os.Args[1], Silence: silence}).Run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	case "standin": // SPEC
		spec, err := Read(os.Args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		signal.Ignore(syscall.SIGPIPE)
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		code, err := (&Standin{Spec: spec, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}).Run(ctx)
		if lost, ok := errors.AsType[*LostError](err); ok {
			err = lost
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return ExitLost
		}
		return code
	case "chatters": // FILE: echoes its input, writes much, and leaves a file
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			fmt.Println("in", in.Text())
		}
		for i := range chatter {
			fmt.Fprintf(os.Stdout, "out %d\n", i)
			fmt.Fprintf(os.Stderr, "err %d\n", i)
		}
		if os.WriteFile(os.Args[1], leftBehind(), 0o600) != nil {
			return 1
		}
		return 7
	case "obeys": // FILE: notes each SIGTERM there, and ends with its input or with the named one
		signals := make(chan os.Signal, 9)
		signal.Notify(signals, syscall.SIGTERM)
		over := make(chan struct{})
		go func() {
			_, _ = bufio.NewReader(os.Stdin).ReadString(0)
			close(over)
		}()
		fmt.Println("ready")
		last, _ := strconv.Atoi(os.Args[2])
		note := func() {
			fmt.Println("terminated")
			f, _ := os.OpenFile(os.Args[1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			fmt.Fprint(f, "t")
			_ = f.Close()
		}
		for n := 1; n <= last; n++ {
			select {
			case <-signals:
				note()
			case <-over:
				select {
				case <-signals: // one that was sent before
					note()
				case <-time.After(200 * time.Millisecond):
				}
				return 3
			}
		}
	case "burns": // and ends with its input
		for begun := time.Now(); time.Since(begun) < 300*time.Millisecond; {
			_ = strings.Repeat("x", 1000)
		}
		fmt.Println("burnt")
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	}
	return 0
}

const chatter = 60_000

func leftBehind() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 100_000) }
