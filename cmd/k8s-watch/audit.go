package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/synchronizer"
)

// Exit codes of an audit beside exitOK and exitBadInput.
const (
	exitDiffers    = 3
	exitIncomplete = 5
)

// auditMemory is from where on memory is collected as soon as it is free: 100,000 Pods take
// that much if all of them differ.
const auditMemory = 96 << 20

const auditUsage = `k8s-watch audit -f config.json [--format json]

Compares what storage holds with the cluster and names every row that is missing, stale,
left over or altered, whether k8s-watch or bcs-k8s-watch wrote it. It only reads, and needs no
right but "list" of what the watcher lists. The watcher may run meanwhile: a difference counts
if it is still the same after --wait.

Compared are whole objects, but for metadata.managedFields and the heartbeats of Nodes. Rows
are judged by the filter file: bcs-k8s-watch applies it to no custom resource, and leaves
masked fields in the annotation last-applied-configuration. Events and ExportServices are not
compared.

Each kind is read one after the other, in pages of 500 objects, one request at a time, at most
--qps a second to the API server and as many to storage: 100,000 Pods take 200 requests and
20 s at 10 a second. Kinds with differences are read a second time.

Exit code 0: clean; 3: rows differ; 5: the cluster or storage could not be read whole; 2: usage
or bad input.

`

// audit is the command "k8s-watch audit".
func audit(args []string, out io.Writer) int {
	var f config.Flags
	o := watcher.AuditOptions{}
	fs := f.Set("k8s-watch audit")
	format := fs.String("format", "text", "text or json")
	fs.DurationVar(&o.Wait, "wait", 30*time.Second, "how long a difference must last; more than changes take to storage")
	fs.Float64Var(&o.QPS, "qps", 10, "most requests per second to the API server, and to storage")
	fs.Usage = func() { fmt.Print(auditUsage, fs.FlagUsages()) }
	if err := fs.Parse(args); err != nil {
		return misused(fs, err)
	}
	switch {
	case *format != "text" && *format != "json":
		return fail(exitBadInput, fmt.Errorf("--format %q: want text or json", *format))
	case !(o.QPS >= 0.1 && o.QPS <= 1000):
		return fail(exitBadInput, fmt.Errorf("--qps %g: want 0.1 to 1000 requests per second", o.QPS))
	case o.Wait < time.Second || o.Wait > time.Hour:
		return fail(exitBadInput, fmt.Errorf("--wait %s: want 1s to 1h", o.Wait))
	}
	cfg, filter, _, err := f.Load(fs)
	if err != nil {
		return fail(exitBadInput, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	log := watcher.NewLogger(os.Stderr, cfg.Verbosity)
	watcher.Tune(log)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), auditMemory))
	}
	a, err := watcher.Audit(ctx, cfg, filter, o, log)
	if input, ok := errors.AsType[*watcher.InputError](err); ok {
		return fail(exitBadInput, input.In(f.File))
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted: the audit is not complete")
	}
	if err != nil {
		return fail(exitIncomplete, err)
	}
	code, sum := judge(a)
	if *format == "json" {
		err = json.NewEncoder(out).Encode(struct {
			summary
			watcher.Audited
		}{sum, a})
	} else {
		err = printAudit(out, a, sum.Verdict)
	}
	if err != nil {
		return fail(exitError, err)
	}
	return code
}

// summary sums an audit up.
type summary struct {
	Verdict string `json:"verdict"`
	Clean   bool   `json:"clean"` // everything was read, and no row differs
	Objects int    `json:"objects"`
	Rows    int    `json:"rows"`
	Differ  int    `json:"differ"` // rows
	Read    int    `json:"kindsRead"`
	Unread  int    `json:"kindsNotRead"` // or not whole
}

// judge sums an audit up. One that is not complete says so first, whatever it found.
func judge(a watcher.Audited) (code int, s summary) {
	s.Differ = len(a.Findings)
	for _, k := range a.Kinds {
		s.Objects, s.Rows = s.Objects+k.Objects, s.Rows+k.Rows
		if k.Error != "" {
			s.Unread++
		} else if k.NotCompared == "" {
			s.Read++
		}
	}
	switch code = exitDiffers; {
	case s.Unread > 0:
		code = exitIncomplete
		s.Verdict = fmt.Sprintf("incomplete: %d of %d kinds could not be read whole; %d rows differ in what was", s.Unread,
			s.Unread+s.Read, s.Differ)
	case s.Objects > 0 && s.Rows == 0:
		s.Verdict = fmt.Sprintf(
			"not clean: storage holds no row at all of cluster %q: is default.clusterID right, and does a watcher write there?",
			a.Cluster)
	case s.Differ > 0:
		s.Verdict = fmt.Sprintf("not clean: %d rows differ, of %d objects of %d kinds", s.Differ, s.Objects, s.Read)
	default:
		code, s.Clean = exitOK, true
		s.Verdict = fmt.Sprintf("clean: %d objects of %d kinds", s.Objects, s.Read)
	}
	return code, s
}

// printAudit writes the rows that are wrong, a table of the kinds and the verdict.
func printAudit(out io.Writer, a watcher.Audited, verdict string) error {
	b := bufio.NewWriter(out)
	line := func(format string, args ...any) {
		_, _ = b.WriteString(badinput.Redact(fmt.Sprintf(format+"\n", args...))) // Flush has the error
	}
	for _, f := range a.Findings {
		age := ""
		if f.Age >= 0 {
			age = ", " + map[bool]string{true: "created ", false: "written "}[f.Problem == synchronizer.Missing] +
				duration.HumanDuration(time.Duration(f.Age)*time.Second) + " ago"
		}
		line("%-9s  %s %s: %s%s", f.Problem, f.Kind, strings.TrimPrefix(f.Namespace+"/"+f.Name, "/"), f.Detail, age)
	}
	if len(a.Findings) > 0 {
		line("")
	}
	line("%-32s %9s %9s %9s %9s %9s %9s", "KIND", "OBJECTS", "ROWS", "MISSING", "STALE", "LEFT OVER", "ALTERED")
	for _, k := range a.Kinds {
		switch {
		case k.NotCompared != "":
			line("%-32s not compared: %s", k.Kind, k.NotCompared)
		case k.Error != "":
			line("%-32s not read: %s", k.Kind, k.Error)
		default:
			line("%-32s %9d %9d %9d %9d %9d %9d", k.Kind, k.Objects, k.Rows, k.Missing, k.Stale, k.LeftOver, k.Altered)
		}
	}
	line("\ncluster %s at %s\n%s", a.Cluster, a.Apiserver, verdict)
	return b.Flush()
}
