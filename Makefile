# watchbench: `make bench` and `make test` are all a newcomer needs.
SHELL := /bin/bash -o pipefail

SCENARIO ?= strategies
CLUSTER  ?=
ARGS     ?=
OUT      ?= out
ON       := $(if $(CLUSTER),--cluster $(CLUSTER))

BIN   := bin
CMDS  := $(notdir $(wildcard cmd/*))
GO    ?= go
# The version a binary tells: the commit, and whether the tree differs from it.
VERSION := $(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo unknown)
LDFLAGS := -X github.com/watchbench/watchbench/internal/version.Version=$(VERSION)
LINTER  := $(BIN)/golangci-lint
ECHARTS := internal/assets/echarts.min.js

.DEFAULT_GOAL := help
.PHONY: help
help: ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'
	@echo
	@echo "  make bench SCENARIO=$(SCENARIO) CLUSTER=embedded|simulated|kind|kubeconfig|running ARGS='--repeat 10'"

.PHONY: build
# Static as in the images: libc would take 1.6 MiB of each process.
build: $(ECHARTS) ## build the commands into bin/
	CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/ $(addprefix ./cmd/,$(filter-out k6,$(CMDS)))

# k6 is a large program under the AGPL, which few runs need.
.PHONY: k6
k6: ## build bin/k6, for load.driver: k6 and for scripts (two minutes the first time)
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/k6

.PHONY: k6-types
k6-types: ## check the declarations of k6/x/podchurn against the shipped scripts (needs npm)
	npm install --silent --no-audit --no-fund --prefix .cache/k6-types typescript@5.9.3 @types/k6@1.7.0
	.cache/k6-types/node_modules/.bin/tsc -p loadgen/xk6

# Without npm the build works too; reports then ask the network for the charts.
$(ECHARTS): internal/assets/echarts.lock.json
	internal/assets/fetch.sh

.PHONY: controlplane
controlplane: build ## download or build etcd and kube-apiserver once, into the user's cache
	$(BIN)/watchbench cluster build

.PHONY: live
live: controlplane ## run the scenarios with real controllers (builds these once; about 15 minutes)
	@$(BIN)/watchbench cluster build --controllers
	@for s in scenarios/controllers/*.yaml; do $(BIN)/watchbench run controllers/$$(basename $$s .yaml) --out $(OUT) $(ARGS) || exit 1; done

.PHONY: live-test
live-test: controlplane ## test the live cluster, and watchers with bugs on it (builds it once; about 10 minutes)
	$(GO) test ./internal/cluster -run TestControllers -controllers -count=1 -timeout 30m -v
	$(GO) test ./scenarios/robustness -run TestLive -live $(abspath $(OUT))/live -count=1 -timeout 30m -v

.PHONY: kubectl-test
kubectl-test: controlplane ## compare what kubectl shows of the watcher with a real apiserver (builds it once; about 4 minutes)
	$(GO) test ./watcher/query -run TestKubectl -kubectl -count=1 -timeout 20m -v

# Static binaries, packed by deploy/Dockerfile. GOARCH chooses another architecture.
IMAGES ?= dev
.PHONY: image
image: ## build the images k8s-watch:dev, storagemock:dev and watchbench:dev with Docker (IMAGES=tag)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w $(LDFLAGS)' -o $(BIN)/image/ ./cmd/k8s-watch ./cmd/storagemock ./cmd/watchbench
	for name in k8s-watch storagemock watchbench; do docker build -q -f deploy/Dockerfile --target $$name -t $$name:$(IMAGES) $(BIN)/image || exit 1; done

.PHONY: pods-test
pods-test: ## run parties as Pods on a kind cluster, through all that can happen to them (8 minutes; needs the same)
	$(GO) test ./scenarios/pod -run TestOnKind -kind -count=1 -timeout 20m -v

.PHONY: k6-image
k6-image: ## build the image k6:dev for deploy/load with Docker (IMAGES=tag)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w $(LDFLAGS)' -o $(BIN)/image/ ./cmd/k6
	docker build -q -f deploy/load/Dockerfile -t k6:$(IMAGES) $(BIN)/image

.PHONY: deploy-test
deploy-test: ## run the images and manifests of deploy/ on a kind cluster (needs Docker and a kind node image)
	$(GO) test ./deploy -run TestOnKind -kind -count=1 -timeout 40m -v

# On a simulated API server, whose point is a soon answer, strategies is the same load three times as fast.
comma    := ,
SHORT     = $(if $(and $(filter simulated,$(CLUSTER)),$(filter strategies,$(SCENARIO))),--set 'storage.latency=lognormal(mean=29ms$(comma)p99=83ms)' --set load.rate=240 --set load.duration=2s --set drainTimeout=5s --budget 100s)
# make exits with 2 whatever the command's code was: this says which, and what it means.
BENCH     = $(strip $(BIN)/watchbench run $(SCENARIO) $(ON) $(SHORT) --out $(OUT) $(ARGS))
MATRIX    = $(BIN)/watchbench matrix $(ON) --out $(OUT) $(ARGS)
REFERENCE = $(BIN)/watchbench reference $(ON) --out $(OUT) $(if $(QUICK),--quick) $(ARGS)
EXPLAINED = || { code=$$?; echo "exit code $$($(BIN)/watchbench help exit-codes | sed -n "s/^ *$$code  */$$code of watchbench: /p") (make exits with 2)" >&2; exit $$code; }

.PHONY: bench
bench: build ## run a scenario and write its report (default: strategies, on a real control plane; CLUSTER=simulated: within 2 minutes)
	@$(info $(BENCH))$(BENCH) $(EXPLAINED)

.PHONY: tune
tune: build ## find settings: make tune ARGS="--rate 200/s --storage 'p50=60ms,p99=400ms'"
	@$(BIN)/watchbench tune $(ON) --out $(OUT) $(ARGS) $(EXPLAINED)

# The rows of the product, then those that only k8s-watch can have (ROWS=f25 chooses among these), in one folder and table.
.PHONY: robustness
robustness: controlplane ## run the fault matrix on real processes and print it (about 20 minutes)
	@$(info $(MATRIX))code=0; $(MATRIX) > /dev/null || code=$$?; case $$code in 0|3|5) ;; *) exit $$code;; esac; \
	dir=$$(ls -td $(OUT)/matrix-* | head -1); test -d "$$dir" || exit 1; dir=$$(cd "$$dir" && pwd); rows=0; \
	$(GO) test ./scenarios/robustness -run 'TestRows$$$(if $(ROWS),/$(ROWS))' -matrix $$dir -count=1 -timeout 60m > $$dir/rows.txt 2>&1 || rows=$$?; \
	{ $(BIN)/watchbench check $$dir $(EXPLAINED) && test $$rows = 0; } || { tail -n 20 $$dir/rows.txt >&2; exit 1; }

.PHONY: reference
reference: build ## run the published before/after tables again, beside their figures (QUICK=1: less than 10 minutes; else hours)
	@$(info $(REFERENCE))$(REFERENCE) $(EXPLAINED)

# Each run has a seed of its own; one with an invalid cell (exit code 5) counts as well.
.PHONY: aa
aa: build ## run one watcher against itself twenty times; no run may name a winner (20 minutes to an hour)
	@dir=$(abspath $(OUT))/aa-$$(date +%Y%m%d-%H%M%S) && mkdir -p $$dir && for seed in $$(seq 20); do \
		$(BIN)/watchbench run aa $(ON) --out $$dir --seed $$seed --quiet $(ARGS) || test $$? = 5 || exit 1; \
	done && $(GO) test ./reports/result -run TestAA -aa $$dir -count=1

# BASE is HEAD if there are changes that are not committed; else the last release before it or, without one, its parent.
BASE   ?= $(shell if git diff --quiet HEAD 2>/dev/null; then \
	git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null || git rev-parse --verify --quiet HEAD^; else echo HEAD; fi)
BLOCKS ?= 16
.PHONY: gate gate-base
gate-base: # before the build, which takes minutes
	@git rev-parse --verify --quiet '$(BASE)^{commit}' >/dev/null || { echo "make gate: there is no revision '$(BASE)'; name one: make gate BASE=REV" >&2; exit 2; }

gate: gate-base build ## hold k8s-watch against a revision, BASE=REV, side by side (ten minutes)
	@$(BIN)/watchbench gate --base-rev '$(BASE)' --blocks $(BLOCKS) --runs $(OUT) $(ARGS)

# RUN is the folder of a decided run of strategies, made on a quiet machine; the pictures need Chromium.
.PHONY: pictures
pictures: $(ECHARTS) ## remake docs/images, the README's table and the docs' examples (RUN=out/strategies-...)
	@test -f '$(RUN)/results.json' || { echo "make pictures: name the folder of a decided run: make pictures RUN=out/strategies-..." >&2; exit 2; }
	WATCHBENCH_RUN='$(abspath $(RUN))' WATCHBENCH_SCREENSHOTS=$(CURDIR)/docs/images WATCHBENCH_README=$(CURDIR)/README.md \
		$(GO) test ./reports/render -run TestPictures -count=1
	$(GO) test ./cmd/watchbench -run TestSimulateCommand -update-simulated -count=1

# What gate -pack takes for reports/gate/testdata/pairs: three hours of a quiet machine.
.PHONY: gate-pairs
gate-pairs: build ## record k8s-watch against itself and against planted regressions, for the gate's own tests (hours)
	$(GO) test ./scenarios/robustness -run TestGatePairs -pairs $(abspath $(OUT))/pairs -count=1 -timeout 6h -v

.PHONY: dashboards-test
dashboards-test: ## try each panel and alert on processes with faults (Debian's prometheus; five minutes)
	$(GO) test ./dashboards -run TestFaults -faults -count=1 -timeout 15m

.PHONY: controls
controls: controlplane ## put bugs into the watcher and show that the fault matrix catches each
	$(GO) test ./scenarios/robustness -run TestControls -controls $(abspath $(OUT))/controls -timeout 90m -v $(ARGS)

# Three packages at once, as most of them wait more than they compute.
.PHONY: test
test: controlplane ## unit, conformance and integration tests
	@unshare -rn true 2>/dev/null || unshare -n true 2>/dev/null || \
		echo "SKIPPED: nothing is tested without a network, network namespaces are not permitted here" >&2
	$(GO) test -p 3 -timeout 20m ./...

.PHONY: race
race: controlplane ## the same tests under the race detector
	$(GO) test -race -timeout 40m ./...

.PHONY: lint
lint: $(LINTER) ## gofmt, vet and the linters of .golangci.yml
	GOLANGCI_LINT_CACHE=$(CURDIR)/.cache/lint $(LINTER) run ./...

$(LINTER): internal/tools/go.mod internal/tools/go.sum
	@echo "building golangci-lint, once per checkout, about 2 minutes"
	@mkdir -p $(BIN)
	cd internal/tools && $(GO) build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: clean
clean: ## remove what was built here (the control plane's cache stays)
	rm -rf $(BIN) $(OUT) $(ECHARTS) .cache
