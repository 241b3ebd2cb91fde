package history

import (
	"testing"

	"go.uber.org/goleak"
)

// Decompression runs goroutines, also when reading stops early.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
