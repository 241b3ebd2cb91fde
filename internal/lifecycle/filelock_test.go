package lifecycle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const helperEnv = "WATCHBENCH_FILELOCK_TEST_HELPER"

// TestMain doubles as a process that takes the lock and dies without giving it up.
func TestMain(m *testing.M) {
	if path := os.Getenv(helperEnv); path != "" {
		if _, err := LockFile(context.Background(), path, nil); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("locked")
		select {}
	}
	goleak.VerifyTestMain(m)
}

func TestOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "on", "demand", "lock")
	var inside atomic.Int32
	var once sync.Once
	waited := make(chan struct{}) // closed when somebody waits
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			release, err := LockFile(context.Background(), path, func() { once.Do(func() { close(waited) }) })
			if err != nil {
				t.Error(err)
				return
			}
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d hold the lock", n)
			}
			select {
			case <-waited:
			case <-time.After(10 * time.Second):
				t.Error("nobody was told to wait")
			}
			inside.Add(-1)
			release()
		})
	}
	wg.Wait()
}

func TestCancelledWhileWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := LockFile(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err = LockFile(ctx, path, func() { cancel(reason) })
	if !errors.Is(err, reason) {
		t.Errorf("got error %v, want the reason of the cancellation", err)
	}
}

func TestKilledHolderGivesItUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(exe)
	holder.Env = append(os.Environ(), helperEnv+"="+path)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "locked\n" {
		t.Fatalf("the holder says %q, %v", line, err)
	}
	release, err := LockFile(t.Context(), path, func() { _ = holder.Process.Kill() })
	if err != nil {
		t.Fatal(err)
	}
	release()
	_ = holder.Wait()
}

func TestNoPlaceForTheLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(file, "lock"), filepath.Dir(file)} {
		if _, err := LockFile(t.Context(), path, nil); err == nil {
			t.Errorf("locked %s", path)
		}
	}
}
