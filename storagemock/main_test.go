package storagemock_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(benchServerEnv) != "" {
		os.Exit(serveForBenchmark())
	}
	goleak.VerifyTestMain(m)
}
