package spelling

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"v", "port", "podQueueNum", "metric_port"}
	for word, want := range map[string]string{
		"podQueuNum": "podQueueNum", "PODQUEUENUM": "podQueueNum", "metricport": "metric_port",
		"prt": "port", "x": "", "somethingElse": "", "": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
