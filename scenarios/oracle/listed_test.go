package oracle

import (
	"regexp"
	"slices"
	"strings"
)

// notCompared lists what results.json has and the oracle does not compute, and why.
var notCompared = []struct {
	path string
	// in says of which cells; nil means all.
	in  func(*record) bool
	why string
}{
	{`.*`, refused, "the watcher had to refuse its storage, so nothing was measured"},
	{`bottleneck\..*`, nil, "a sentence about the other figures; its rules are the code's"},
	{`invalidReasons\..*`, nil, "sentences; whether there are any is compared as valid"},
	{`lateReasons\..*`, nil, "the sentences among invalidReasons that a stalled machine may cause"},
	{`load\.(thinkSeconds|timed|prefill)`, nil, "copied from the scenario"},
	{`load\.generators\..*`, nil, "load.done by shard; no cell with several generators is among the records"},
	{`checks\.\w+\.(counterexample|furtherCounterexamples.*|evidence.*|note)`, nil, "sentences, and rows of op log and ledger; the verdict and the number of violations are compared"},
	{`checks\.(G6|G14)\.judged`, nil, "how many comparisons the judge happens to make"},
	{`checks\.(G7|G8|G9|G12|G13)\..*`, nil, "asked by the fault matrix alone, by rules that are the code's; the facts beside them are compared"},
	{`storage\.latency(P50|P99)Ms`, mixed, "quantiles of a distribution other than lognormal and constant, which the grammar's own tests hold to its draws"},
	{`watcher\.name`, nil, "copied from the scenario, or words of the command"},
	{`watcher\.(lists|watches)`, nil, "copied from the cell's record, where the API server is simulated"},
	{`robustness\..*`, nil, "the same as the matrix's entry"},
	{`resumed`, nil, "copied from the cell's record"},
	{`freshnessUnknown`, nil, "a sentence; cells in a cluster are not among the records"},
	{`profiles\..*`, nil, "names of files"},
	{`checks\.(G10|G11|G14)\..*`, faulty, "a request of unknown outcome, or one that was applied twice, may be on either side; the rules for those need the watcher's fence"},
	{`checks\.G10\..*`, restarted, "which requests a watcher that was killed has left behind is a matter of the fence, too"},
	{`storage\.latencyMeanMs`, slow, "how long it is slow is drawn while it runs"},
	{`checks\.G11\..*`, emptied, "whether a DELETE that found nothing was sent for the second time is not in the ledger"},
	{`checks\.(G[2345]|G11)\..*`, eventful, "events change objects that no operation of the op log names"},
	{`events\.(lost|reordered)`, eventful, "events change objects that no operation of the op log names"},
	{`(series\.watcher|watcher|events|queues|handler|writer|parties|checks\.G6|checks\.G14|storage\.requestsPerEvent|storage\.bytesPerEvent).*`, restarted, "the counters of several processes"},
	{`(events|queues|handler|writer|checks\.G6|checks\.G14|storage\.(requestsPerEvent|bytesPerEvent|latencyMeanWatcherMs)|watcher\.(cpuMicrosPerEvent|alloc.*|net.*)|series\.watcher\.net.*).*`, moved, "the counters of a shard go with it"},
	{`(handler|storage|writer)\.(workers|queues|capacity|limitQPS|efficiency|efficiencyBacklog|backlogSeconds|imbalance)`, eventful, "queues may be changed under load"},
}

func faulty(r *record) bool   { return len(r.cell.Scenario.Storage.Faults) > 0 }
func eventful(r *record) bool { return len(r.cell.Scenario.Events) > 0 }
func refused(r *record) bool  { return len(r.cell.Refusal) > 0 }
func restarted(r *record) bool {
	return r.cell.Watcher.Restarts > 0 || r.cell.Watcher.Joined && !moved(r)
}

// moved says that shards went from one replica to another, and their counters with them.
func moved(r *record) bool { return r.cell.Watcher.Joined && r.cell.Scenario.Watcher.Shards > 1 }

func mixed(r *record) bool {
	_, _, _, ok := configured(r.cell.Scenario.Storage.Latency)
	return !ok
}

func slow(r *record) bool { return strings.HasPrefix(r.cell.Scenario.Storage.Latency, "slow(") }

func emptied(r *record) bool {
	return slices.ContainsFunc(r.ledger, func(q request) bool { return q.Method == "DELETE" && q.took() && q.UID == "" })
}

// forms are their paths, whole.
var forms = func() (all []*regexp.Regexp) {
	for _, n := range notCompared {
		all = append(all, regexp.MustCompile("^"+n.path+"$"))
	}
	return all
}()

// free reports whether a path is on the list for the record.
func (r *record) free(path string) bool {
	for i, n := range notCompared {
		if (n.in == nil || n.in(r)) && forms[i].MatchString(path) {
			return true
		}
	}
	return false
}
