package virtual

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

var (
	seeds    = flag.Int("seeds", 12, "histories per fault")
	opsFlag  = flag.Int("ops", 300, "operations per history")
	seedFlag = flag.Int("seed", -1, "only this history")
)

func TestMain(m *testing.M) {
	// Besides logging, client-go's handler of errors sleeps until a millisecond after
	// the last error of the process, by a clock that each bubble sets back.
	utilruntime.ErrorHandlers = nil
	goleak.VerifyTestMain(m)
}
