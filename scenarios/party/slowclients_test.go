package party

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/readers"
)

// TestSlowClients: what they say at the end is returned, and no process is left of those
// that fail, or that the cell's end finds still holding.
func TestSlowClients(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	logs := t.TempDir()
	hold := func(ctx context.Context, bin string) (readers.Seen, error) {
		return RunSlowClients(ctx, bin, logs, readers.Slow{For: time.Minute})
	}
	t.Setenv(actAs, "says what became of it")
	want := readers.Seen{Asked: 3, Connected: 2, Shaken: 1, Cut: 1}
	if got, err := hold(t.Context(), self); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	t.Setenv(actAs, "fails")
	if _, err := hold(t.Context(), self); err == nil || !strings.HasPrefix(err.Error(), "the slow clients ended: exit status 2") {
		t.Errorf("got %v", err)
	}
	t.Setenv(actAs, "hangs")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := hold(ctx, self); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := hold(t.Context(), logs); !badinput.Is(err) {
		t.Errorf("no program: %v", err)
	}
}

// TestAside: all threads of the child have the lowest priority.
func TestAside(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the priority of threads in /proc")
	}
	p := play(t, "hangs", child{aside: true})
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range threads {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", p.PID(), id.Name()))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if nice := strings.Fields(rest)[16]; nice != fmt.Sprint(lowestPriority) { // field 19
			t.Errorf("thread %s has the nice value %s", id.Name(), nice)
		}
	}
}
