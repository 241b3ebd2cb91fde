package shape

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// objectsText has parts of objects as JSON, each behind its kind and name; facts go to where <…> is.
//
//go:embed objects.txt
var objectsText string

var parts = func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(objectsText) {
		i := strings.IndexByte(line, '{')
		all[line[:i-1]] = line[i:]
	}
	return all
}()

func (f *facts) part(name string, into any, further ...string) {
	if err := json.Unmarshal([]byte(f.words(further...).Replace(parts[name])), into); err != nil {
		panic(fmt.Sprintf("shape: %s: %v", name, err)) // it is the program's own
	}
}

func (f *facts) words(further ...string) *strings.Replacer {
	s := &f.state
	number := func(n int) string { return strconv.Itoa(n) }
	at := func(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }
	available, has, is := "Available", "has", "True"
	if s.Ready == 0 && s.Replicas > 0 {
		available, has, is = "Unavailable", "does not have", "False"
	}
	progress, progresses := "ReplicaSetUpdated", "is progressing"
	if s.Updated == s.Replicas && s.Ready == s.Replicas {
		progress, progresses = "NewReplicaSetAvailable", "has successfully progressed"
	}
	return strings.NewReplacer(append(further,
		"<name>", f.name, "<app>", f.app, "<hash>", f.hash, "<zone>", f.zone, "<hostip>", f.hostIP,
		"<now>", at(f.now), "<was>", at(f.was), "<started>", at(f.started),
		"<observed>", number(int(f.observed)), "<wanted>", number(int(f.wanted)), "<replicas>", number(s.Replicas),
		"<ready>", number(s.Ready), "<updated>", number(s.Updated), "<missing>", number(max(0, s.Replicas-s.Ready)),
		"<terminating>", number(s.Terminating), "<active>", number(s.Active), "<succeeded>", number(s.Succeeded),
		"<failed>", number(s.Failed), "<Available>", available, "<has>", has, "<is>", is, "<progress>", progress,
		"<progresses>", progresses, "<newest>", f.name+"-"+imageTag(f.seed, int(f.observed-1)))...)
}

// show fills in what a view has: the spec, what the apiserver adds, and the status once it was written.
func (f *facts) show(v view, kind string, meta *metav1.ObjectMeta, spec, status any) {
	if v != viewStatus {
		f.part(kind+" spec", spec)
	}
	if v == viewServed {
		meta.Generation, meta.CreationTimestamp = f.generation, f.created
	}
	if v == viewSent || !f.placed.counted {
		return
	}
	f.part(kind+" status", status)
	if kind == KindJob && f.placed.stage == oplog.TypeSucceeded {
		f.part("Job complete", status)
	}
}
