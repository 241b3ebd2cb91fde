package xk6

import (
	"errors"
	"strings"
	"testing"

	"go.k6.io/k6/js/modulestest"
)

// newRuntime runs scripts in the init context of a virtual user.
func newRuntime(t *testing.T) *modulestest.Runtime {
	t.Helper()
	rt := modulestest.NewRuntime(t)
	if err := rt.SetupModuleSystem(map[string]any{"k6/x/podchurn": new(Module)}, nil, nil); err != nil {
		t.Fatal(err)
	}
	return rt
}

const plain = `runID: 'r', model: 'closed', threads: 1, operations: 5`

func TestBadOptions(t *testing.T) {
	for _, tc := range []struct{ name, options, want string }{
		{"none", ``, "want an object with kubeconfig, opLog and plan"},
		{"text", `'x'`, "want an object with kubeconfig, opLog and plan"},
		{"misspelt", `{kubeConfig: 'a', opLog: 'b', plan: {` + plain + `}}`, "kubeConfig: unknown field; did you mean kubeconfig?"},
		{"snake case", `{kubeconfig: 'a', op_log: 'b', plan: {` + plain + `}}`, "op_log: unknown field"},
		{"strange", `{kubeconfig: 'a', vus: 3, plan: {` + plain + `}}`, "vus: unknown field"},
		{"number for a path", `{kubeconfig: 3, opLog: 'b', plan: {` + plain + `}}`, "kubeconfig: 3 is not text"},
		{"empty path", `{kubeconfig: '', opLog: 'b', plan: {` + plain + `}}`, "kubeconfig is missing"},
		{"text for a switch", `{kubeconfig: 'a', opLog: 'b', wait: 'no', plan: {` + plain + `}}`, "wait: "},
		{"no op log", `{kubeconfig: 'a', plan: {` + plain + `}}`, "opLog is missing"},
		{"no plan", `{kubeconfig: 'a', opLog: 'b'}`, "plan is missing"},
		{"plan file that is not there", `{kubeconfig: 'a', opLog: 'b', plan: 'none.yaml'}`, "none.yaml"},
		{"unknown field of the plan", `{kubeconfig: 'a', opLog: 'b', plan: {` + plain + `, thread: 3}}`, "thread: unknown field"},
		{"plan without a model", `{kubeconfig: 'a', opLog: 'b', plan: {runID: 'r'}}`, "model"},
		{"plan out of range", `{kubeconfig: 'a', opLog: 'b', plan: {runID: 'r', model: 'closed', threads: 0, operations: 1}}`, "threads"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := newRuntime(t).RunOnEventLoop(`const {Churn} = require('k6/x/podchurn'); new Churn(` + tc.options + `)`)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "new Churn(options)") {
				t.Errorf("got  %v\nwant …%s…", err, tc.want)
			}
		})
	}
}

func TestOneChurnPerProcess(t *testing.T) {
	construct := func(threads string) string {
		return `new Churn({kubeconfig: 'a', opLog: 'b', plan: {runID: 'r', model: 'closed', operations: 5, threads: ` + threads + `}});`
	}
	const load = `const {Churn} = require('k6/x/podchurn');`
	if _, err := newRuntime(t).RunOnEventLoop(load + construct("1") + construct("1")); err != nil {
		t.Errorf("the same options twice: %v", err)
	}
	if _, err := newRuntime(t).RunOnEventLoop(load + construct("1") + construct("2")); err == nil || !strings.Contains(err.Error(), "the same options") {
		t.Errorf("other options: %v", err)
	}
}

// TestOrderOfCalls: what needs a load says so before there is one.
func TestOrderOfCalls(t *testing.T) {
	const load = `const {Churn} = require('k6/x/podchurn');
		const c = new Churn({kubeconfig: 'a', opLog: 'b', plan: {` + plain + `}});`
	for call, want := range map[string]error{"c.step()": errNotPrepared, "c.life()": errLife} {
		if _, err := newRuntime(t).RunOnEventLoop(load + call); err == nil || !strings.Contains(err.Error(), want.Error()) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if _, err := newRuntime(t).RunOnEventLoop(load + "c.finish()"); err != nil {
		t.Errorf("finish without prepare: %v", err)
	}
	if _, err := newRuntime(t).RunOnEventLoop(load + "c.prepare()"); err == nil || !strings.Contains(err.Error(), "kubeconfig") {
		t.Errorf("prepare with a kubeconfig that is not there: %v", err)
	}
}

func FuzzOptions(f *testing.F) {
	f.Add("kubeconfig", "plan", 3.0)
	f.Add("opLog", "", -1.0)
	f.Fuzz(func(t *testing.T, name, value string, number float64) {
		for _, v := range []any{value, number, nil, []any{value}, map[string]any{name: value, value: number}} {
			_, err := parseOptions(map[string]any{name: v, "plan": v})
			if err == nil {
				t.Errorf("%q: %v is accepted", name, v)
			} else if !errors.Is(err, ErrOptions) {
				t.Errorf("%v is no ErrOptions", err)
			}
		}
	})
}
