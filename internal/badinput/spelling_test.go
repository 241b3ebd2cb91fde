package badinput

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"v", "port", "podQueueNum", "metric_port"}
	for word, want := range map[string]string{
		"podQueuNum": "podQueueNum", "PODQUEUENUM": "podQueueNum", "metricport": "metric_port",
		"prt": "port", "prot": "port", "x": "", "somethingElse": "", "": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestNearestPath(t *testing.T) {
	known := []string{"smoke", "faults/f02-refuse"}
	for word, want := range map[string]string{"smok": "smoke", "f02-refuse": "faults/f02-refuse", "f02-refus": "faults/f02-refuse", "fault/f02-refuse": "faults/f02-refuse", "x": ""} {
		if got := NearestPath(word, known); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
