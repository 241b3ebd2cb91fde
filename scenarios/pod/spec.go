package pod

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Spec is one party as a Pod: what watchbench pod reads, as JSON.
type Spec struct {
	Kubeconfig     string
	Namespace      string
	Owner          string            // the run, by its label on all that is made
	Job            string            // the party's Indexed Job; made by the first stand-in that finds it missing
	Index, Of      int               // this Pod of how many
	Image          string            // of the party
	AgentImage     string            // of watchbench; its agent is copied in by an init container
	ServiceAccount string            // empty: none, and no token
	Limits         map[string]string // and requests, by resource
	Argv, Env      []string
	Dir            string   // of the cell: an emptyDir at the same path, so that configurations hold unchanged
	Files          []string // in Dir, uploaded before the start
	Results        []string // in Dir, fetched after the party has ended
}

// PhasePod is the first line that a stand-in says.
const PhasePod = "pod"

// Placed is what the line of PhasePod says: where the party runs.
type Placed struct {
	Phase string      `json:"phase"`
	Pod   history.Pod `json:"pod"`
	IP    string      `json:"ip"`
	Proxy string      `json:"proxy"` // URL here of an HTTP proxy whose requests go to the Pod's loopback
}

// AgentURL is the Pod's agent, through the proxy.
const AgentURL = "http://127.0.0.1:" + agentPort

// ExitLost is a stand-in's exit code if the Pod was evicted, killed for its memory, restarted, deleted or lost. The
// last line on its standard error says which.
const ExitLost = 70

// Read reads a Spec.
func Read(path string) (s Spec, err error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil && (len(s.Argv) == 0 || s.Index < 0 || s.Index >= s.Of) {
		err = fmt.Errorf("want a command, and an index below the number of Pods: %q, %d of %d", s.Argv, s.Index, s.Of)
	}
	if err != nil {
		return s, &badinput.Error{What: "party's specification " + path, Err: err}
	}
	return s, nil
}
