package check_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// A worker that was slower than its neighbour put an old version over a new one.
func ExampleJudge() {
	put := func(seq, version uint64, received, applied int64) ledger.Entry {
		return ledger.Entry{
			Seq: seq, Method: "PUT", Kind: "Pod", Namespace: "shop", Name: "cart", UID: "6fffe7e7", ResourceVersion: version,
			Received: received * 1e6, Applied: applied * 1e6, Responded: applied*1e6 + 1, Status: 200, Effect: ledger.EffectReplaced,
		}
	}
	h := &check.History{Ledger: sequence(put(1, 107, 20, 90), put(2, 104, 10, 97))}

	v, err := check.Judge(context.Background(), h)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Checks["G2"].Verdict, v.Checks["G1"].Verdict)
	fmt.Println(v.Checks["G2"].Counterexample)
	// Output:
	// fail not-judged
	// Pod/shop/cart uid 6fffe7e7: version went down from 107 to 104: PUT seq 2 (received 00:00:00.010000, applied 00:00:00.097000) was applied after PUT seq 1 (received 00:00:00.020000, applied 00:00:00.090000)
}

func sequence(entries ...ledger.Entry) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}
