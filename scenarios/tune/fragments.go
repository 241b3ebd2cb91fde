package tune

import (
	"encoding/json"
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
)

// Files of the fragments.
const (
	FileOurs     = "k8s-watch.json"
	FileOriginal = "bcs-k8s-watch.json"
)

// originalHandlerLen is the length of the original's handler queues, which no key changes.
const originalHandlerLen = 102_400

// fragments are the parts of the configurations that say what was found.
func (x *Search) fragments(best, original *result.TunedCandidate, met bool) (all []result.TuningFragment) {
	if best != nil {
		bcs := map[string]any{
			"strategy": best.Strategy, "writerQueueLen": best.WriterLen, "handlerQueueLen": best.HandlerLen,
			"queueFull": x.base.Watcher.QueueFull,
		}
		if best.Queues > 0 {
			bcs["podQueueNum"] = best.Queues
		}
		f := fragment(FileOurs, "k8s-watch", bcs)
		switch {
		case met:
		case best.Verdict == result.TunedInvalid, best.Verdict == result.TunedUnmeasured:
			f.Note = "predicted only: no valid measurement confirms it"
		default:
			f.Note = "what comes closest; it does not hold the objective"
		}
		all = append(all, f)
	}
	if original == nil {
		return all
	}
	f := fragment(FileOriginal, "bcs-k8s-watch", map[string]any{"podQueueNum": original.Queues, "writerQueueLen": original.WriterLen})
	f.Note = fmt.Sprintf("its handler queues always hold %d events; what finds no room within 1 s is dropped. ", originalHandlerLen)
	switch original.Verdict {
	case result.TunedHolds:
		f.Note += "Holds the objective"
	case result.TunedUnmeasured, result.TunedInvalid:
		f.Note += "Predicted only"
	default:
		f.Note += "Does not hold the objective; it is what comes closest"
	}
	f.Note += fmt.Sprintf(", by k8s-watch with the strategy %s, which has the same queues: the original itself was not run", original.Strategy)
	if best != nil && best.Strategy != original.Strategy {
		f.Note += ", and has no " + best.Strategy
	}
	return append(all, f)
}

func fragment(file, program string, bcs map[string]any) result.TuningFragment {
	data, err := json.MarshalIndent(map[string]any{"bcs": bcs}, "", "  ")
	if err != nil {
		panic(err) // numbers and words
	}
	return result.TuningFragment{File: file, For: program, Text: string(data) + "\n"}
}
