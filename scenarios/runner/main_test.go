package runner

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(cleaned{clustertest.Shared(m)}) }

// cleaned removes what the tests built.
type cleaned struct{ clustertest.Runner }

func (c cleaned) Run() int {
	code := c.Runner.Run()
	if programDir != "" {
		_ = os.RemoveAll(programDir)
	}
	return code
}
