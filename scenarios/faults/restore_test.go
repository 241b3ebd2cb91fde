package faults

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/matrix/matrixtest"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// restored is a record of n objects of each sort, all taken back 3 s after a restore that
// took from 20 s to 25 s. The backup was taken at 10 s.
func restored(n int) (c *matrix.Case, ops []oplog.Record, entries []ledger.Entry) {
	const s = int64(time.Second)
	c = matrixtest.Case(&spec.Fault{Row: "F29", Recovery: spec.Duration(5 * time.Second)})
	c.Cell.Kinds = []string{"Pod"}
	c.Deeds = []history.Deed{
		{What: backupCluster, Began: 10 * s, Ended: 11 * s}, {What: restoreCluster, Began: 20 * s, Ended: 25 * s},
	}
	op := func(at int64, what, name string, version int) {
		ops = append(ops, oplog.Record{
			Phase: oplog.PhaseLoad, Type: what, Kind: "Pod", Namespace: "a", Name: name, UID: name, ResourceVersion: uint64(version),
			Started: at * s, Finished: at*s + 1, Status: http.StatusOK,
		})
	}
	request := func(at int64, method, name string, version int) {
		entries = append(entries, ledger.Entry{
			Method: method, Kind: "Pod", Namespace: "a", Name: name, UID: name, ResourceVersion: uint64(version),
			Received: at * s, Applied: at * s, Responded: at * s, Status: http.StatusOK, Effect: ledger.EffectReplaced,
		})
	}
	for i := range n {
		name := fmt.Sprint(i)
		op(5, oplog.TypeCreate, "changed-"+name, 100+i)
		op(5, oplog.TypeCreate, "deleted-"+name, 200+i)
		op(15, oplog.TypePatch, "changed-"+name, 300+i)
		op(15, oplog.TypeDelete, "deleted-"+name, 200+i)
		op(15, oplog.TypeCreate, "since-"+name, 400+i)
	}
	for i := range n {
		name := fmt.Sprint(i)
		request(6, http.MethodPut, "changed-"+name, 100+i)
		request(6, http.MethodPut, "deleted-"+name, 200+i)
		request(16, http.MethodPut, "changed-"+name, 300+i)
		request(16, http.MethodDelete, "deleted-"+name, 0)
		request(16, http.MethodPut, "since-"+name, 400+i)
	}
	for i := range n {
		name := fmt.Sprint(i)
		request(28, http.MethodPut, "changed-"+name, 100+i)
		request(28, http.MethodPut, "deleted-"+name, 200+i)
		request(28, http.MethodDelete, "since-"+name, 0)
	}
	return c, ops, entries
}

// verdict is the columns of the facts that fail, and the time.
func verdict(facts []result.Fact) (failed string, seconds float64) {
	for _, f := range facts {
		if !f.OK {
			failed += f.Column
		}
		if f.Column == "T" {
			seconds = f.Value
		}
	}
	return failed, seconds
}

// spoiling changes a record.
type spoiling func(ops []oplog.Record, entries []ledger.Entry) ([]oplog.Record, []ledger.Entry)

// without drops the requests of one kind for one object that came after the restore.
func without(method, name string) spoiling {
	return func(ops []oplog.Record, entries []ledger.Entry) ([]oplog.Record, []ledger.Entry) {
		return ops, slices.DeleteFunc(entries, func(e ledger.Entry) bool {
			return e.Method == method && e.Name == name && e.Received > int64(20*time.Second)
		})
	}
}

func TestRestoreRules(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil   spoiling
		failed  string
		seconds float64
	}{
		"as it should be":             {nil, "", 3},
		"a row stays that is gone":    {without(http.MethodDelete, "since-3"), "CT", 0},
		"one that is back is missing": {without(http.MethodPut, "deleted-3"), "CT", 0},
		"one stays as it was changed": {without(http.MethodPut, "changed-3"), "CT", 0},
		"one is late": {func(o []oplog.Record, e []ledger.Entry) ([]oplog.Record, []ledger.Entry) {
			e[len(e)-1].Applied += int64(4 * time.Second)
			return o, e
		}, "T", 7},
		"one is undone again by what was under way": {func(o []oplog.Record, e []ledger.Entry) ([]oplog.Record, []ledger.Entry) {
			again := e[len(e)-3] // the change of the last object
			again.ResourceVersion += 200
			return o, append(e, again)
		}, "CT", 0},
		"a later write is as good": {func(o []oplog.Record, e []ledger.Entry) ([]oplog.Record, []ledger.Entry) {
			last := o[len(o)-3]
			last.ResourceVersion, last.Started, last.Finished = 777, int64(26*time.Second), int64(26*time.Second)
			e[len(e)-3].ResourceVersion = 777
			return append(o, last), e
		}, "", 3},
		"a write under way at the backup": {func(o []oplog.Record, e []ledger.Entry) ([]oplog.Record, []ledger.Entry) {
			o[0].Started, o[0].Finished = int64(10*time.Second), int64(12*time.Second)
			return without(http.MethodPut, "changed-0")(o, e)
		}, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			c, ops, entries := restored(12)
			if tc.spoil != nil {
				ops, entries = tc.spoil(ops, entries)
			}
			rules := matrixtest.Witness(t, c, restoreRules, ops, entries)
			failed, seconds := verdict(rules[0].Facts(matrixtest.Seen()))
			if failed != tc.failed || seconds != tc.seconds || matrixtest.Vacuous(rules) != "" {
				t.Errorf("failed %q after %v s, want %q after %v s; %s", failed, seconds, tc.failed, tc.seconds, matrixtest.Vacuous(rules))
			}
		})
	}
	c, ops, entries := restored(9)
	why := matrixtest.Vacuous(matrixtest.Witness(t, c, restoreRules, ops, entries))
	if !strings.Contains(why, "9 objects that were created, 9 deletions and 9 changes; at least 10 of each") {
		t.Errorf("too few: %q", why)
	}
	if rules, err := restoreRules(matrixtest.Case(nil)); err != nil || rules != nil {
		t.Errorf("without a restore: %v, %v", rules, err)
	}
}

func TestRestoreValidation(t *testing.T) {
	const both = "events: [{at: 1s, what: backup-cluster}, {at: 2s, what: restore-cluster}]\n"
	const between = "events: [{at: 1s, what: sigkill}, {at: 1s, what: backup-cluster}, {at: 2s, what: start}, {at: 3s, what: restore-cluster}]\n"
	open := strings.Replace(minimal, "{model: closed, threads: 1, operations: 1}", "{model: open, rate: 10, duration: 5s}", 1)
	simulated := open + "cluster: {provider: simulated}\n"
	for _, tc := range []struct{ text, want string }{
		{minimal + both, ""},
		{simulated + both, ""},
		{minimal + "cluster: {provider: kind}\n" + both, "needs a cluster that watchbench starts; use the provider embedded or replay"},
		{minimal + "events: [{at: 1s, what: restore-cluster}]\n", "write each once, the backup first"},
		{minimal + "events: [{at: 1s, what: backup-cluster}]\n", "write each once, the backup first"},
		{minimal + both + "fault: {row: F29, title: x, assert: [C, O]}\n", "the column O is not judged across restore-cluster"},
		{simulated + "events: [{at: 1s, what: sigterm}, {at: 2s, what: start}]\n", "sigterm on a simulated apiserver; use another"},
		{simulated + "extra: {pods: 1, namespaces: 1}\n", "a simulated apiserver takes no objects besides those of the load"},
		{minimal + between, "backup-cluster when no watcher runs"},
	} {
		_, err := Format.Parse("s.yaml", []byte(tc.text))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s\n%v, want %q", tc.text, err, tc.want)
		}
	}
}
