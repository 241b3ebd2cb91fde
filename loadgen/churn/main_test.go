package churn_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(clustertest.Shared(m)) }
