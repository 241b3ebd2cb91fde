// Package xk6 is the k6 module k6/x/podchurn: the load generator of package churn, driven by k6's virtual users. It
// only translates; what is sent, retried and logged, and how, is churn's doing. index.d.ts declares what scripts see.
//
// All virtual users of a process share one engine with its connections and one op log, in the format of package oplog.
package xk6

import (
	"errors"

	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
)

func init() { modules.Register("k6/x/podchurn", new(Module)) }

// Module is shared by the virtual users of a process.
type Module struct{ shared shared }

var (
	_ modules.Module   = (*Module)(nil)
	_ modules.Instance = (*instance)(nil)
)

// NewModuleInstance is called once for each virtual user, before the run.
func (m *Module) NewModuleInstance(vu modules.VU) modules.Instance {
	env := vu.InitEnv()
	if env == nil {
		common.Throw(vu.Runtime(), errors.New("k6/x/podchurn can be imported only at the top of a script"))
	}
	metrics, err := registerMetrics(env.Registry)
	if err != nil {
		common.Throw(vu.Runtime(), err)
	}
	return &instance{vu: vu, metrics: metrics, shared: &m.shared}
}

// instance is the module as one virtual user sees it.
type instance struct {
	vu      modules.VU
	metrics *opMetrics
	shared  *shared
}

// Exports lists the names that a script can import.
func (i *instance) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{"Churn": i.newChurn}}
}
