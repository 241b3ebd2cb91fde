package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// badInput is what users may get wrong: the command line, with ~ for a blank within a word and $name for a file of
// TestBadInput, and what the one line of error has.
var badInput = [][2]string{
	{"rnu", `unknown command "rnu"; did you mean run?`},
	{"xyzzy", `unknown command "xyzzy"; see watchbench --help`},
	{"cluster statsu", `unknown command "cluster statsu"; did you mean status?`},
	{"version now", "takes no argument"},
	{"knee examples/knee", "write watchbench tune SCENARIO --find rate"},

	{"run", "at least one scenario"},
	{"run nosuch", "scenario nosuch: "},
	{"run smok", "did you mean smoke?"},
	{"run fault/f02-refuse", "did you mean faults/f02-refuse?"},
	{"run ./nosuch.yaml", "./nosuch.yaml: no such file"},
	{"run $field", "field.yaml:5: watchers: unknown field; did you mean watcher?"},
	{"run $good --quit", "unknown flag: --quit (did you mean --quiet?); see watchbench run --help"},
	{"run $good --repeat abc", `--repeat: "abc" is not a whole number; see watchbench run --help`},
	{"run $good --repeat 99999999999999999999", "--repeat: 99999999999999999999 is out of range"},
	{"run $good --repeat 0", "--repeat 0: 0 is out of range; use 1 to 100"},
	{"run $good --set load.threads=x", `--set load.threads=x: load.threads: "x" is not a whole number`},
	{"run $good --context=", "--context is empty; give it a value, or leave it out"},
	{"run $good --format xml", "--format xml is not known; use table or json"},
	{"run $good --out $good", "name a folder that can be written"},
	{"run $good --profile", "unknown flag: --profile; leave it out: k8s-watch with debug_mode serves profiles"},
	{"run $good --kind-keep", "unknown flag: --kind-keep; make the cluster with kind create cluster"},
	{"run $good --cluster replay", "--cluster replay is not known; use --cluster simulated, its name now"},
	{"run $good --set cluster.provider=replay", "use simulated, its name now"},
	{"run $good --cluster cloud", "--cluster cloud is not known; use one of embedded, kind, kubeconfig, simulated, running"},
	{"run $good --cluster kind --fsync", "--fsync means nothing for the cluster provider kind; use --cluster embedded, or leave it out"},
	{"run $good --cluster running", "--cluster running: no cluster is up; start one with watchbench cluster up"},
	{"run $good --kind-name a --context b", "--kind-name means nothing for the cluster provider kubeconfig; use --cluster kind, or leave it out"},
	{"run $replay --fsync", "--fsync: it can be chosen for the embedded control plane only, not for simulated"},
	{"run $good --kubeconfig $gone --context test", "127.0.0.1:"},
	{"run $good --cluster kubeconfig --kubeconfig $dir/none --context x", "/none"},
	{"run $good --cluster kubeconfig --kubeconfig $gone", "context"},
	{"run $good --cluster kubeconfig --kubeconfig $gone --context prod", `"prod"`},
	{"run $good --cluster kubeconfig --kubeconfig $html --context test", "127.0.0.1:"},
	{"run $good --kind-name Not~Good", `kind cluster name "Not Good"`},
	{"run $good --watcher-command sh", "--watcher-command 'sh': the command never names its config; write {config}"},
	{"run $good --watcher-command nosuchbinary~{config}", `"nosuchbinary": executable file not found in $PATH; begin it with a program in PATH`},
	{"run $good --limits cpu=1", "--limits is for a run in a cluster; add --in-cluster, or leave it out"},
	{"run $good --rbac", "--rbac is for a run in a cluster"},
	{"run $good --in-cluster", "cluster.provider: embedded runs no Pods; add --cluster kind or --context NAME, or leave --in-cluster out"},
	{"run $good --in-cluster --cluster kind --limits disk=1", "--limits disk is not known; use cpu and memory"},
	{"run $good --in-cluster --cluster kind --limits cpu=much", "--limits cpu=much; write one such as cpu=500m"},
	{"run $good --in-cluster --cluster kind --limits cpu=-1", "--limits cpu=-1; write one such as cpu=500m"},
	{"run $good --in-cluster --cluster kind --image-tag=~", "--image-tag is empty; give it a value"},
	{"run $good --in-cluster --cluster kind --image-tag a:b", `--image-tag "a:b"; write one such as dev`},
	{"run $good --in-cluster --cluster kind --namespace Bad_NS --rbac", `--namespace "Bad_NS"; write one such as watchbench`},
	{"run $good --in-cluster --cluster kind --image-registry https://r.example/team", `--image-registry "https://r.example/team"; write one such as registry.example/team`},
	{"run $good --in-cluster --cluster kind --image-registry r.example//", `--image-registry "r.example/"; write one`},
	{"run $good --in-cluster --kubeconfig $gone --context test", "--in-cluster: the cluster has no images; push the images of make image"},
	{"run faults/f08-close --in-cluster --cluster kind", "not in a cluster: faults act on processes of this machine; run it without --in-cluster"},
	{"run original", "add --watcher-command"},
	{"matrix f2-refuse", "did you mean faults/f02-refuse?"},
	{"matrix F99", `"F99" is neither a row F0 to F30 nor a scenario of the matrix`},
	{"matrix --profile old", "--profile old is not known; use default or legacy"},
	{"matrix F2 --set load.thread=1", "load.thread: unknown field; did you mean load.threads?"},
	{"matrix F2 --out $good", "name a folder that can be written"},
	{"run $good --set cluster.gates=[A,B=1]", "\"B=1\" is not a feature gate; name it as Kubernetes does, such as ShardedListAndWatch"},
	{"run $good --cluster kind --set cluster.gates=[A]", "only the embedded control plane is given feature gates, not that of kind; use the provider embedded"},
	{"matrix F0 --cluster running --fsync", "--fsync means nothing for the cluster provider running"},
	{"cluster up --provider kind --fsync", "unknown flag: --provider; make the cluster with kind create cluster"},
	{"report $dir", "name the folder of a run"},
	{"report $dir --format pdf", `"pdf"`},
	{"check $dir", "name the folder of a run or of a cell"},
	{"scenarios validate $bad", "bad.yaml:1: a: unknown field"},
	{"record --context x", "no file to be written; name it with -o, for example -o trace.zst"},
	{"record -o $good --kubeconfig $dir/none", "exists already; name another file or remove it"},
	{"record -o $dir/t --for 0s", "--for 0s: the duration must be positive; use for example --for 10m"},
	{"record -o $dir/t --kubeconfig $dir/none", "none does not exist"},
	{"record -o $dir/t --kubeconfig $gone", "cannot be reached"},

	{"dashboard", "--target is missing; name the URL of the watcher's metrics"},
	{"dashboard --target http://me:hunter2@%zz", "--target is not a URL; write for example --target http://"},
	{"dashboard --target ftp://x", `--target "ftp://x" is not http://HOST or https://HOST; write for example --target http://`},
	{"dashboard --target http://127.0.0.1:1 --interval 1ms", "--interval 1ms is out of range; use 100ms to 1m0s"},
	{"dashboard --target http://127.0.0.1:1 --listen 8080", `--listen 8080: address 8080: missing port in address; write host:port`},
	{"dashboard --target http://127.0.0.1:1 --listen $taken", "in use; write host:port of this machine, or :0 for any free port"},

	{"simulate", "needs a scenario"},
	{"simulate simulated --set watcher.profile=legacy", "watcher.profile"},
	{"simulate simulated --format xml", "--format"},
	{"simulate simulated --overhead -1ms", "--overhead"},
	{"simulate --against .", "unknown flag: --against; compare the same scenario"},

	{"gate --base-command a{config}", "the watcher to judge is missing; add --new-command or --new-rev"},
	{"gate --new-command a{config}", "the base is missing; add --base-command or --base-rev"},
	{"gate --new-rev HEAD", "the base is missing"},
	{"gate --base-command a{config} --base-rev v1 --new-command b{config}", "--base-command and --base-rev both say what to run"},
	{"gate --base-rev v1 --new-command a{config} --new-rev v2", "--new-command and --new-rev both say what to run"},
	{"gate --base-rev= --new-command a{config}", "--base-rev is empty"},
	{"gate --base-command a{config} --new-command b{config} --blocks 5", "--blocks 5; use 6 to 50"},
	{"gate --base-command a{config} --new-command b{config} --blocks 51", "--blocks 51; use 6 to 50"},
	{"gate --base-command a{config} --new-command b{config} out/x", "out/x is a saved run"},
	{"gate --base-command a{config} --new-command b{config} --control out/x", "--control is for two saved runs"},
	{"gate --base-command a{config} --new-command b{config} --blocks 8 --rules testdata/gate-blocks.yaml", "--blocks 8 is less than the 10 that testdata/gate-blocks.yaml asks for"},
	{"gate --blocks 7 out/a out/b", "--blocks means nothing for saved runs"},
	{"gate --base-command a{config} --new-command b{config} --scenario smoke", "scenarios/smoke.yaml does not run two watchers side by side; add matrix: {watcher: {base:"},
	{"gate --base-command a{config} --new-command b{config} --scenario aa", "does not run two watchers side by side"},
	{"gate --base-command a{config} --new-command b{config} --scenario nothere", "no scenario of that name is shipped"},
	{"gate --base-rev v1 --set load.rate=none", "--set load.rate=none"},
	{"gate --base-rev v1 --format prose", "--format prose is not known"},
	{"gate --base-command a --new-command b{config}", "--base-command never names its config; write {config} for the path of the config file"},
	{"gate --base-command a{config} --new-command b", "--new-command never names its config; write {config}"},
	{"gate", "needs two runs, or one that holds both sides"},
	{"gate rules --schema", "unknown flag: --schema; leave it out"},
	{"matrix F2 --pin", "start watchbench with taskset"},
	{"reference --pin", "start watchbench with taskset"},

	{"reference extra", "takes no argument"},
	{"reference --set matrix.load=before-40", `no point is called "before-40"`},
	{"reference --set matrix.watcher=before --set matrix.load=after-20", "only: no point of the matrix is left to run"},
	{"reference --watcher-command nosuchbinary~{config}", "nosuchbinary"},

	{"replay --exit", "needs a trace, or --plan"},
	{"replay --exit --plan $closed $trace", "no trace beside --plan"},
	{"replay --exit $dir/none", "no such file"},
	{"replay --exit $closed", "not a trace of watchbench record"},
	{"replay --exit --plan $closed", "model closed cannot be replayed"},
	{"replay --exit --plan $wrong", "wrong.yaml:2: speed: unknown field"},
	{"replay --exit $trace --speed 0.01x", `"0.01x" is out of range`},
	{"replay --exit $trace --await -1", "--await -1"},
	{"replay --exit $trace --listen 256.0.0.1:x", "use an address of this machine"},
	{"replay --exit $trace --kubeconfig /none/kc", "--kubeconfig: open /none/kc: "},
	{"replay --exit $trace --oplog /none/ops", "--oplog: open /none/ops: "},

	{"tune", "the load is missing"},
	{"tune smoke --pin", "start watchbench with taskset"},
	{"tune --rate 200/s", "--storage is missing"},
	{"tune --rate 200 --storage 1ms", "--rate 200 is not a rate"},
	{"tune --rate 200/s --storage soon", "--storage soon"},
	{"tune --rate 200/s --storage 60ms --profile x", "--profile x is not known"},
	{"tune --rate 200/s --storage 60ms --objective drain=5s", "the load alone lasts 20s"},
	{"tune --rate 200/s --storage 60ms --objective freshness.p99", "write for example freshness.p99=2s"},
	{"tune --rate 200/s --storage 60ms --objective rate=100/s", "use --rate 200/s, or --find rate"},
	{"tune --rate 200/s --storage 60ms --set load.rate=0", "load.rate"},
	{"tune --rate 200/s --find rate", "--find rate needs a scenario"},
	{"tune drop", "closed loop"},
	{"tune smoke --rate 1/s", "without a scenario"},
	{"tune smoke --resume x", "unknown flag: --resume; leave it out"},
	{"tune smoke --limit inflight=3", "unknown flag: --limit; use --queues 1..N"},
	{"tune strategies-published", "--set matrix.load="},
	{"tune replay-burst --strategies unordered", "is not a choice, or is listed twice"},
	{"tune replay-burst --repeat 0", "--repeat 0"},
	{"tune replay-burst --watcher-command mine~{config}", "--watcher-command means nothing"},
	{"tune $open --find knee", "--find knee is not known"},
	{"tune $good --find rate", "closed loop, whose rate"},
	{"tune $open --find rate --queues 1..4", "--queues means nothing with --find rate"},
	{"tune $open --find rate --strategies keyd", `"keyd" is not a choice, or is listed twice; did you mean keyed?`},
	{"tune $open --find rate --strategies keyed --watcher-command true~{config}", "--strategies means nothing for another watcher"},
	{"tune $open --find rate --set matrix.watcher.podQueueNum=5,10", "open has 2 points besides what is searched: tune needs one; choose one"},
}

// TestBadInput holds the outside of the program to one clear line with the place and the remedy, to the exit code 2,
// and to leaving nothing behind.
func TestBadInput(t *testing.T) {
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>login</html>")) }))
	defer html.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	t.Setenv("WATCHBENCH_CACHE", t.TempDir()) // where no cluster is up
	withBinaries(t)
	words := strings.NewReplacer("~", " ", "$good", file(t, "tiny.yaml", tiny), "$open", file(t, "open.yaml", open),
		"$field", file(t, "field.yaml", tiny+"watchers: {}\n"), "$bad", file(t, "bad.yaml", "a: b\n"),
		"$replay", file(t, "replay.yaml", open), "$dir", t.TempDir(), "$trace", shippedTrace,
		"$closed", file(t, "closed.yaml", "runID: r\nmodel: closed\nthreads: 1\noperations: 1\n"), "$wrong", file(t, "wrong.yaml", "runID: r\nspeed: 3\n"),
		"$gone", kubeconfig(t, gone.URL), "$html", kubeconfig(t, html.URL), "$taken", taken.Addr().String())
	out := t.TempDir()
	for _, tc := range badInput {
		t.Run(tc[0], func(t *testing.T) {
			args := strings.Fields(tc[0])
			for i := range args {
				args[i] = words.Replace(args[i])
			}
			if command := strings.Fields(tc[0])[0]; strings.Contains("run matrix tune", command) && len(args) > 1 && !strings.Contains(tc[0], "--out") {
				args = append(args, "--out", filepath.Join(out, "made"))
			}
			_, _, code, err := invoke(t, args...)
			if err == nil || code != exitInput || !strings.Contains(err.Error(), tc[1]) || strings.Contains(err.Error(), "\n") {
				t.Errorf("exit code %d, %v; want %q in a line", code, err, tc[1])
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(out, "made", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
