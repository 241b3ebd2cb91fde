package shape_test

import (
	"os"
	"testing"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Shared(m).Run()) }
