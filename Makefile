# Millrace. `make demo` and `make test` each do all set-up they need; see README.md.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# One set of build flags for everything but test-race, so that nothing is compiled twice; only test-race needs a C compiler.
# Without paths of this folder in what is compiled, all clones and worktrees of a machine share Go's build cache.
export GOTOOLCHAIN := local
export CGO_ENABLED := 0
export GOFLAGS := -trimpath $(GOFLAGS)
GO_DIR   = $(shell tools/setup/go.sh)
NODE_DIR = $(shell tools/setup/node.sh)
WEB     := services/dashboard/web
STAMPS  := .cache/stamps
# What lies outside of .cache is its own stamp: a .cache that is kept must not say of a new clone that its page is built.
MODULES := $(WEB)/node_modules/.package-lock.json
PAGE    := $(WEB)/dist/index.html

# Everything that is downloaded or built lives in .cache, bin and out; `make clean` removes the last two.
export MILLRACE_LIBCHDB := $(CURDIR)/.cache/chdb/node_modules/@chdb/lib-linux-x64-gnu/libchdb.so
export MILLRACE_KAFKA_LIB := $(CURDIR)/.cache/kafka
export MILLRACE_ZOOKEEPER_LIB := $(CURDIR)/.cache/zookeeper
export MILLRACE_CLIENTS := $(CURDIR)/.cache/clients
export MILLRACE_K8S := $(CURDIR)/.cache/k8s
export MILLRACE_OIDC := $(CURDIR)/.cache/oidc
# The binary that tests run; without it each of five packages of e2e links one for itself.
export MILLRACE_BINARY := $(CURDIR)/bin/millrace

GENERATED := proto/gen $(WEB)/src/gen services/routeragent/model services/routeragent/bpf services/peagent/bpf internal/uml docs/reference/configuration.md docs/reference/inventory.md docs/reference/cli.md docs/reference/gnmi-paths.md docs/reference/events.md docs/reference/rights.md docs/reference/metrics.md deploy/grafana docs/reference/change-set-states.md docs/reference/circuit-states.md docs/reference/nsi-states.md docs/reference/circuits-openapi.json clients/python/src/millrace_circuits/schemas.py clients/python/src/millrace_circuits/operations.py

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

.PHONY: packages
packages:
	@tools/setup/packages.sh

.PHONY: setup
setup: packages $(STAMPS)/go $(MODULES) $(STAMPS)/chdb ## Install packages and toolchains, fetch the ClickHouse engine

$(STAMPS)/go: go.mod go.sum tools/setup/go.sh | packages
	@echo "setup: Go and its modules"
	@PATH="$(GO_DIR):$$PATH" go mod download
	@mkdir -p $(STAMPS) && touch $@

$(MODULES): $(WEB)/package-lock.json tools/setup/node.sh | packages
	@echo "setup: web modules"
	@cd $(WEB) && PATH="$(NODE_DIR):$$PATH" npm ci --loglevel=error --no-audit --no-fund
	@touch $@

$(STAMPS)/chdb: tools/chdb/package-lock.json tools/setup/node.sh | packages
	@echo "setup: ClickHouse engine (chDB)"
	@mkdir -p .cache/chdb && cp tools/chdb/package.json tools/chdb/package-lock.json .cache/chdb/
	@PATH="$(NODE_DIR):$$PATH" npm ci --loglevel=error --no-audit --no-fund --prefix .cache/chdb
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/boards: tools/boards/package-lock.json tools/setup/node.sh | packages
	@echo "setup: Grafana's builders of boards"
	@mkdir -p .cache/boards && cp tools/boards/package.json tools/boards/package-lock.json .cache/boards/
	@PATH="$(NODE_DIR):$$PATH" npm ci --loglevel=error --no-audit --no-fund --prefix .cache/boards
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/kafka: tools/kafka/pom.xml tools/setup/jars.sh | packages
	@echo "setup: Kafka, for tests"
	@tools/setup/jars.sh kafka
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/zookeeper: tools/zookeeper/pom.xml tools/setup/jars.sh | packages
	@echo "setup: ZooKeeper, for tests"
	@tools/setup/jars.sh zookeeper
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/clients: tools/clients/go.mod tools/clients/go.sum tools/clients/gnmic_check/main.go tools/clients/requirements.txt tools/clients/fetch.sh | packages
	@echo "setup: clients of other people, for tests"
	@PATH="$(GO_DIR):$$PATH" tools/clients/fetch.sh
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/oidc: tools/oidc/package-lock.json tools/oidc/provider.mjs tools/setup/node.sh | packages
	@echo "setup: an OpenID provider, for tests"
	@mkdir -p .cache/oidc && cp tools/oidc/package.json tools/oidc/package-lock.json tools/oidc/provider.mjs .cache/oidc/
	@PATH="$(NODE_DIR):$$PATH" npm ci --loglevel=error --no-audit --no-fund --prefix .cache/oidc
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/helm: tools/k8s/helm/package-lock.json tools/k8s/helm/fetch.sh tools/setup/node.sh | packages
	@echo "setup: helm, for tests"
	@PATH="$(NODE_DIR):$$PATH" tools/k8s/helm/fetch.sh
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/k8s: tools/k8s/fetch.sh $(wildcard tools/k8s/*/go.mod) tools/k8s/pause/main.go | packages
	@PATH="$(GO_DIR):$$PATH" tools/k8s/fetch.sh
	@mkdir -p $(STAMPS) && touch $@

$(PAGE): $(MODULES) $(shell git ls-files $(WEB))
	@echo "build: web"
	@cd $(WEB) && PATH="$(NODE_DIR):$$PATH" npm run --silent build
	@touch $@

.PHONY: build
build: setup $(PAGE) ## Build bin/millrace with the dashboard inside
	@echo "build: bin/millrace"
	@PATH="$(GO_DIR):$$PATH" go build -o bin/millrace ./cmd/millrace

.PHONY: demo
demo: build ## Run the main job on virtual routers; KEEP=1 leaves lab and dashboard up
	@PATH="$(NODE_DIR):$$PATH" bin/millrace lab run hntes-redirect --output out/demo $(if $(KEEP),--keep)

.PHONY: generate
generate: setup $(STAMPS)/boards ## Regenerate Go, TypeScript and Python from protos, and eBPF objects
	@cd proto && PATH="$(GO_DIR):$(NODE_DIR):$$PATH" ../$(WEB)/node_modules/.bin/buf generate
	@PATH="$(GO_DIR):$$PATH" go generate ./services/... ./collectors/... ./internal/...
	@PATH="$(GO_DIR):$$PATH" go run ./tools/reference > docs/reference/configuration.md
	@PATH="$(GO_DIR):$$PATH" go run ./tools/reference inventory > docs/reference/inventory.md
	@PATH="$(GO_DIR):$$PATH" go run ./cmd/millrace reference > docs/reference/cli.md
	@PATH="$(GO_DIR):$$PATH" go run ./cmd/millrace reference metrics > docs/reference/metrics.md
	@PATH="$(GO_DIR):$$PATH" go run ./cmd/millrace reference replicas > docs/reference/replicas.md
	@cp tools/boards/*.ts tools/boards/tsconfig.json .cache/boards/ && cd .cache/boards && PATH="$(NODE_DIR):$$PATH" node_modules/.bin/tsc
	@PATH="$(NODE_DIR):$$PATH" node .cache/boards/out/build.js deploy/grafana
	@PATH="$(GO_DIR):$$PATH" go run ./tools/gnmipaths > docs/reference/gnmi-paths.md
	@PATH="$(GO_DIR):$$PATH" go run ./tools/events > docs/reference/events.md
	@PATH="$(GO_DIR):$$PATH" go run ./tools/rights > docs/reference/rights.md
	@PATH="$(GO_DIR):$$PATH" go run ./tools/statetables
	@PATH="$(GO_DIR):$$PATH" go run ./tools/openapi > docs/reference/circuits-openapi.json
	@PATH="$(GO_DIR):$$PATH" go run ./tools/python

.PHONY: check
check: current vet ## Generated code is current, formatted and vetted

.PHONY: vet
vet: setup
	@PATH="$(GO_DIR):$$PATH" go vet ./...

.PHONY: current
current: setup
	@cd proto && PATH="$(GO_DIR):$(NODE_DIR):$$PATH" ../$(WEB)/node_modules/.bin/buf lint
	@$(MAKE) --no-print-directory generate
	@git diff --exit-code -- $(GENERATED) || { echo "check: generated code is not what is committed; commit the output of 'make generate'" >&2; exit 1; }
	@files=$$(PATH="$(GO_DIR):$$PATH" gofmt -l cmd collectors e2e internal lab papers scenario services tools); test -z "$$files" || { echo "check: run gofmt -w on these:"; echo "$$files"; exit 1; } >&2

.PHONY: test-web
test-web: $(PAGE) $(STAMPS)/oidc
	@cd $(WEB) && export PATH="$(GO_DIR):$(NODE_DIR):$$PATH" && for t in typecheck lint test e2e; do $(YIELDS) npm run --silent $$t; done

# The lab's tests and the PE agent's measure delay and rates on real kernels, so one package runs after the other:
# two at once missed a verdict in four of five runs on a busy machine. Another run of them on this machine, which may be
# of another clone, waits for the lock. The lab's tests wait for ten minutes and compute for two; every other test runs
# beside them, and YIELDS the processors to them.
LAB_LOCK := /tmp/millrace-lab.lock
LAB := -e '/e2e/scenarios$$' -e '/e2e/vpn$$' -e '/lab$$' -e /lab/ -e '/services/peagent$$'
YIELDS := nice -n 5 env

# WITH_LAB are tests of e2e/faults, which runs beside the lab's, on a lab of their own: two guests in real time on one
# processor have half of it each, and a main job beside them carried 87 of 97 Mbit/s.
WITH_LAB := '^TestRouterDaemons$$'

.PHONY: test-lab
test-lab: build
	@flock --close $(LAB_LOCK) env $(GOTEST) -p 1 -timeout 30m $$($(LIST) | grep $(LAB))
	@flock --close $(LAB_LOCK) env $(GOTEST) -timeout 30m -run $(WITH_LAB) ./e2e/faults

# Every other test runs once, and with the race detector, except
#   PURE                     what tools/houserules holds to start no goroutine: there is nothing that a race could be between
#   services/twin/, papers   the simulator's own packages, one goroutine each run, and minutes of it: ten times as slow.
#                            Runs of papers beside each other share a counter and results under locks, and nothing else
#   services/circuits/day    a simulated day in one goroutine
#   octest                   the tests' oracle: generated structs, which nothing shares
#   services/routeragent     48 gNMI checks of a whole agent, one after the other: a quarter of an hour; its parts (apply,
#                            gnmi, state, kernel, frr) run with the detector
#   routeragent/tree         a value of one goroutine, compared with ygot's for minutes
#   tools/houserules         reads the sources in one goroutine
#   e2e                      what runs there is the binary, which has no detector
#   LAB                      what is measured there is delay and rates, and a guest's processes have no room for it
PURE     := $(shell sed -n '/^var pureFolders/,/^}/s,.*"\(.*\)".*,-e /millrace/\1$$ -e /millrace/\1/,p' tools/houserules/pure.go)
RACELESS := $(PURE) -e /e2e/ -e '/services/twin/' -e '/services/circuits/day$$' -e '/papers$$' -e /papers/ -e '/services/routeragent$$' -e '/routeragent/octest$$' -e '/routeragent/tree$$' -e /tools/houserules

# PE_SHARED are the PE agent's tests of what its goroutines share, which measure no rates: four seconds of them.
PE_SHARED := 'TestAPI|TestPEsThatGo|TestHandlersThatOutliveStop|TestASlowDisk|TestBrokenRoutes|TestInstalled|TestListenIs|TestOnlyControllers'

# The time-outs end what hangs; they are no expectation of speed. `make vet` reads all tests; `go test` would read them
# again, and a second time for the detector. -w leaves out what only debuggers read, a third of the time that linkers take.
GOTEST = PATH="$(GO_DIR):$(NODE_DIR):$$PATH" go tool gotestsum --format pkgname --hide-summary skipped -- -vet=off -ldflags=-w
LIST   = PATH="$(GO_DIR):$$PATH" go list ./...

# WAITING packages run at a time with the detector: most of them wait for brokers, stores and routers most of the time.
WAITING := $(shell echo $$((3 * $$(nproc) / 2)))

.PHONY: test-race
test-race: setup $(STAMPS)/kafka $(STAMPS)/zookeeper $(STAMPS)/clients $(STAMPS)/oidc $(PAGE) ## Run what can run under the race detector
	@CGO_ENABLED=1 $(YIELDS) $(GOTEST) -race -p $(WAITING) -timeout 30m $$($(LIST) | grep -v $(LAB) $(RACELESS))
	@CGO_ENABLED=1 $(YIELDS) $(GOTEST) -race -timeout 10m -run $(PE_SHARED) ./services/peagent

.PHONY: test-raceless
test-raceless: build $(STAMPS)/kafka $(STAMPS)/zookeeper $(STAMPS)/clients $(STAMPS)/helm
	@$(YIELDS) $(GOTEST) -timeout 30m -skip $(WITH_LAB) $$($(LIST) | grep -v $(LAB) | grep $(RACELESS))

.PHONY: test
test: build ## Run every test
	@$(MAKE) --no-print-directory --jobs=3 current $(STAMPS)/kafka $(STAMPS)/zookeeper $(STAMPS)/clients $(STAMPS)/helm $(STAMPS)/oidc
	@$(MAKE) --no-print-directory --jobs=5 vet test-web test-race test-raceless test-lab

# Not part of CI: it takes as long as all of it (docs/reference/mutants.md).
.PHONY: mutants
mutants: $(STAMPS)/go ## Mutation testing of the pure packages; fails where one kills less than 90 %
	@PATH="$(GO_DIR):$$PATH" nice -n 10 go run ./tools/mutants

HOURS ?= 1
# Not part of CI, which runs the targets' seeds and what they once found.
.PHONY: fuzz
fuzz: $(STAMPS)/go ## Fuzz every decoder of flows (collectors/flow) for HOURS in all, on one core
	@PATH="$(GO_DIR):$$PATH" tools/fuzz/run.sh collectors/flow $(HOURS)

OUTAGE ?= 10m

.PHONY: faults
faults: build $(STAMPS)/kafka ## Break each thing at each moment of a change set, a nightly run, an import, a change of weights; writes docs/reference/faults.md
	@PATH="$(GO_DIR):$$PATH" go test -c -o bin/faults.test ./e2e/faults
	@cd e2e/faults && MILLRACE_BINARY=$(CURDIR)/bin/millrace ../../bin/faults.test -test.timeout 4h -all -outage $(OUTAGE) -build $(shell git describe --always --dirty) -page ../../docs/reference/faults.md

ONLY ?=

.PHONY: cluster
cluster: build $(STAMPS)/kafka $(STAMPS)/chdb ## Run every service twice on three hosts and take processes, stores and hosts away, ONLY=expression; writes docs/reference/cluster.md. BEFORE=binary: upgrade from it instead
	@PATH="$(GO_DIR):$$PATH" go test -c -o bin/cluster.test ./e2e/cluster
	@cd e2e/cluster && MILLRACE_BINARY=$(CURDIR)/bin/millrace ../../bin/cluster.test -test.timeout 6h -all -only '$(ONLY)' -build $(shell git describe --always --dirty) $(if $(BEFORE),-before $(abspath $(BEFORE)),$(if $(ONLY),,-page ../../docs/reference/cluster.md))

# Not part of CI: it fetches 160 MB, and Keycloak compiles itself for minutes.
.PHONY: keycloak
keycloak: build ## Log in by Keycloak beside the OpenID provider of the other tests, in Chromium too; SHOTS=folder keeps screenshots
	@tools/oidc/keycloak.sh
	@MILLRACE_KEYCLOAK=$(CURDIR)/.cache/keycloak/keycloak-26.4.5 PATH="$(GO_DIR):$(NODE_DIR):$$PATH" go test -tags keycloak ./services/identity ./e2e/page -p 1 -run TestKeycloak -count=1 -v -timeout 40m

# Not part of CI: Jaeger is a thousand packages of other people to compile.
.PHONY: jaeger
jaeger: build $(STAMPS)/kafka ## Look up in Jaeger the traces of a datagram, a nightly run and an approval
	@PATH="$(GO_DIR):$$PATH" tools/jaeger/build.sh
	@MILLRACE_JAEGER=$(CURDIR)/.cache/jaeger/jaeger MILLRACE_BINARY=$(CURDIR)/bin/millrace PATH="$(GO_DIR):$$PATH" go test -tags jaeger ./e2e/traces -run TestJaeger -count=1 -v

FOR  ?= 2h
SEED ?= 11

.PHONY: soak
soak: build $(STAMPS)/kafka ## Let things break one after another, FOR=2h SEED=11; writes docs/reference/soak.md
	@PATH="$(GO_DIR):$$PATH" go test -c -o bin/soak.test ./e2e/soak
	@cd e2e/soak && MILLRACE_BINARY=$(CURDIR)/bin/millrace ../../bin/soak.test -test.timeout 0 -test.run TestSoak -for $(FOR) -seed $(SEED) -page ../../docs/reference/soak.md

DAYS ?= 365

.PHONY: year
year: build $(STAMPS)/kafka ## Run a control plane through a year of nightly runs, DAYS=365; writes docs/reference/year.md
	@PATH="$(GO_DIR):$$PATH" go test -c -o bin/year.test ./e2e/year
	@cd e2e/year && MILLRACE_BINARY=$(CURDIR)/bin/millrace ../../bin/year.test -test.timeout 0 -test.run TestYear -days $(DAYS) -page ../../docs/reference/year.md

RUNS ?= 3

# What is not met stands in the page it writes; the machine should do nothing else meanwhile: 40 minutes, 4.5 hours with RUNS=20.
.PHONY: vpn
vpn: build ## Run paper 001's VPN scenarios on virtual routers, RUNS=3 times each; writes docs/reference/vpn-results.md
	@bin/millrace lab vpn --runs $(RUNS) --figures scenario/files --results docs/reference/vpn-results.md

.PHONY: papers
papers: build ## Run every experiment of the five papers in the twin; writes docs/reference/papers.md
	@bin/millrace papers --page docs/reference/papers

# The machine should do nothing else meanwhile: what is measured are delays and rates.
.PHONY: e2e
e2e: build ## Run every scenario on virtual routers; writes docs/reference/lab-results.md and out/e2e
	@bin/millrace lab run --all --only hntes-exp,geant-,fp-,classifier-,multipath- --json-folder out/e2e --figures scenario/files --results docs/reference/lab-results.md

# The tag is the one that the chart takes where no value gives another.
IMAGE ?= millrace:$(shell sed -n 's/^appVersion: "\(.*\)"/\1/p' deploy/helm/millrace/Chart.yaml)

.PHONY: image
image: build ## Write the container image to out/image/millrace.tar (docker load, ctr images import)
	@PATH="$(GO_DIR):$$PATH" go build -tags static -ldflags "-s -w" -o bin/millrace-static ./cmd/millrace
	@PATH="$(GO_DIR):$$PATH" deploy/image/rootfs.sh out/image/rootfs
	@PATH="$(GO_DIR):$$PATH" go run ./tools/image --root out/image/rootfs --output out/image/millrace.tar --tag $(IMAGE) \
		--date "$$(git log -1 --format=%cI)" --commit "$$(git rev-parse HEAD)" --version "$$(bin/millrace version --short)"

# Not part of CI: the node's programs take long to build, once.
.PHONY: k8s
k8s: image $(STAMPS)/helm $(STAMPS)/k8s $(STAMPS)/kafka ## Install the chart on Kubernetes nodes in namespaces, kill, upgrade, roll back: docs/reference/kubernetes.md
	@tools/k8s/packages.sh
	@tools/k8s/frr.sh
	@PATH="$(GO_DIR):$$PATH" go vet -tags k8s ./e2e/k8s
	@PATH="$(GO_DIR):$$PATH" go test -c -tags k8s -o bin/k8s.test ./e2e/k8s
	@cd e2e/k8s && MILLRACE_BINARY=$(CURDIR)/bin/millrace ../../bin/k8s.test -test.v -test.timeout 2h

.PHONY: release
release: build ## Build binaries, Debian packages, image and checksums into out/release
	@PATH="$(GO_DIR):$$PATH" tools/release/build.sh

# Not part of CI: it fetches a whole Debian.
.PHONY: packages-test
packages-test: build ## Install, start, upgrade, remove and purge the packages in a fresh Debian with its own systemd
	@PATH="$(GO_DIR):$$PATH" tools/release/build.sh packages
	@command -v mmdebstrap >/dev/null || apt-get install -y -qq --no-install-recommends mmdebstrap
	@rm -rf .cache/debian && mmdebstrap --quiet --variant=minbase --include=passwd,ca-certificates,systemd,iproute2 bookworm .cache/debian
	@tools/packages/test.sh .cache/debian $(MILLRACE_LIBCHDB)

.PHONY: clean
clean: ## Remove what was built; downloads stay in .cache
	@rm -rf bin out $(PAGE)
