package matrix

import (
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// refusals are the messages of crypto/tls and crypto/x509 for each storage.tls: a watcher must have refused storage for
// what is wrong with it and not for something else.
var refusals = map[string]string{
	"wrong-ca":   "certificate signed by unknown authority",
	"expired":    "certificate has expired",
	"wrong-host": "cannot validate certificate for 127.0.0.1",
	"tls-1.1":    "protocol version",
}

// refusedRule: a watcher that must not trust storage ends with an error that names the reason, and sends nothing.
func refusedRule(c *Case) Rule {
	var requests int64
	s, r := &c.Cell.Scenario, c.Cell.Refusal
	return Rule{Request: func(*ledger.Entry) { requests++ }, Facts: func(Seen) []result.Fact {
		facts := []result.Fact{
			None("S", "requests that reached storage", requests, ""),
			{Column: "X", Name: "exit code of the watcher", Value: float64(r.ExitCode), OK: r.Ended &&
				r.ExitCode != 0, Detail: r.LastLine},
		}
		if s.Watcher.Command == "" {
			why := refusals[s.Storage.TLS]
			f := result.Fact{Column: "S", Name: "it names what is wrong", OK: strings.Contains(r.LastLine, why),
				Detail: "want: " + why}
			if f.OK {
				f.Value = 1
			}
			facts = append(facts, f)
		}
		const name = "until it refused"
		if !r.Ended {
			return append(facts, Missing("T", name, "s",
				"it had not ended after "+time.Duration(r.Seconds*1e9).Round(time.Second).String()))
		}
		return append(facts, Within("T", name, "s", r.Seconds, s.Fault.Recovery.Std().Seconds()))
	}}
}
