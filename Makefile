# make prints what there is. Everything works in a clean clone with Go and a network
# path to the Go module proxy; nothing needs installing by hand.

SHELL := bash
# A command that fails before a pipe fails.
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

# Every module of the repository: the library, and those in it with a go.mod of their own.
MODULES := $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path './.git/*' | sort))
# The tools module has no packages of its own.
CODE := $(filter-out ./tools,$(MODULES))
# What is shipped: the library and the command.
SHIPPED := . ./cmd/sessionctl

LINT := bin/golangci-lint
COVER := /tmp/sessionstore-cover.out
FUZZTIME ?= 60s
# The command and the providers would build their SDKs again, for minutes.
RACE ?= .

.PHONY: help
help: ## print the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Each server comes from a variable of the environment, a container, or what is installed,
# in this order; bin/withservers says from where. A module is tested as its own go.mod has it.
.PHONY: test
test: ## run all tests, in every module, with the servers they need
	@cd internal/inttest && GOWORK=off go build -o $(CURDIR)/bin/withservers ./cmd/withservers
	@bin/withservers $(MAKE) --no-print-directory tests

.PHONY: tests
tests: export GOWORK := off
tests: servers
	@set -e; for m in $(CODE); do echo "== go test ./... in $$m"; (cd $$m && STORETEST_WATCHDOG=25m go test -timeout 30m $(TESTFLAGS) ./...); done

# What no variable of the environment names is started by the tests, from what is installed;
# this installs what is missing, where apt-get and root allow it, and builds bin/mongoserver.
.PHONY: servers
servers:
	@go run ./internal/testenv/ensure

.PHONY: race
race: ## the tests of the library with the race detector, each backend once (RACE='. ./cmd/sessionctl ./providers/openai': others too)
	@$(MAKE) --no-print-directory test CODE='$(RACE)' TESTFLAGS='-race -short $(TESTFLAGS)'

.PHONY: table
table: servers ## write the README's table of the backends from a test run
	@cd internal/inttest && GOWORK=off go run ./cmd/backendtable -w README.md

.PHONY: demo
demo: ## run the main job: a conversation's whole life in the embedded store
	go run ./cmd/sessionctl demo

.PHONY: check
check: fmt-check vet tidy-check deps cross lint ## all that is checked without running tests

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(find . -name '*.go' -not -path './.git/*')

.PHONY: fmt-check
fmt-check:
	@bad=$$(gofmt -l $$(find . -name '*.go' -not -path './.git/*')); \
	if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi

.PHONY: vet
vet: export GOWORK := off
vet: ## go vet in every module
	@set -e; for m in $(CODE); do echo "== go vet in $$m"; (cd $$m && go vet ./...); done

.PHONY: tidy
tidy: ## go mod tidy in every module
	@set -e; for m in $(MODULES); do (cd $$m && GOWORK=off go mod tidy); done

.PHONY: tidy-check
tidy-check:
	@set -e; for m in $(MODULES); do echo "== go mod tidy -diff in $$m"; (cd $$m && GOWORK=off go mod tidy -diff); done

.PHONY: cross
cross: ## build the library and the command for systems other than this one
	@set -e; for p in linux/386 darwin/arm64 windows/amd64; do \
	  for m in $(SHIPPED); do echo "== build for $$p in $$m"; \
	    (cd $$m && CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build ./...); done; done
	@echo "== build for linux/arm64 in ."; CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build ./...

$(LINT): tools/go.mod tools/go.sum
	cd tools && GOWORK=off go build -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: lint
lint: export GOWORK := off
lint: $(LINT) ## run golangci-lint in every module (the first time it is built, some minutes)
	@set -e; for m in $(CODE); do echo "== golangci-lint in $$m"; (cd $$m && $(CURDIR)/$(LINT) run --allow-parallel-runners --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: cover
cover: ## print what of root, memory and bolt the tests cover, and the functions they miss
	go test -coverprofile=$(COVER) -coverpkg=.,./memory,./bolt . ./memory ./bolt ./verify ./formats
	@go tool cover -func=$(COVER) | awk '$$NF+0 < 75 || /^total/'

# What a program that imports root and bolt builds, and nothing else.
DEPS := github.com/google/uuid github.com/sessionstore/sessionstore go.etcd.io/bbolt golang.org/x/sys

.PHONY: deps
deps: ## check which modules a program that uses root and bolt builds
	@got=$$(go list -deps -f '{{with .Module}}{{.Path}}{{end}}' . ./bolt | sort -u | xargs); \
	echo "$$got"; [ "$$got" = "$(DEPS)" ] || { echo "want: $(DEPS)"; exit 1; }

.PHONY: fuzz
fuzz: ## fuzz every parser, FUZZTIME (default 60s) each
	@set -e; grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r d; do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]*' $$d/*_test.go | sed 's/func //'); do \
	    echo "== $$d $$f"; (cd $$d && go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) .); done; done

.PHONY: bench
bench: servers ## the stores against programs by hand, with the goals; bin/bench.txt is for benchstat (BENCHFLAGS=-quick: less exact)
	@cd internal/inttest && GOWORK=off go run ./cmd/bench -o $(CURDIR)/bin/bench.txt $(BENCHFLAGS)

.PHONY: load
load: servers ## fill PostgreSQL and Redis, and compare calls with those at a hundredth of the size (LOADFLAGS='-sessions 1000000 -messages 10000000', or -soak 20m)
	@cd internal/inttest && GOWORK=off go run ./cmd/load $(LOADFLAGS)

KILLS ?= 60

.PHONY: crash
crash: servers ## kill writers and servers at random moments: KILLS (60) on each server, four times as many on bolt
	@cd internal/inttest && GOWORK=off go test -count=1 -v -timeout 2h ./crash -args -kills $(KILLS) | grep -v '^=== '

.PHONY: wire
wire: servers ## break each call's connection in each turn, in every way
	@cd internal/inttest && GOWORK=off go test -count=1 -v -timeout 2h ./wire -args -full | grep -vE '^=== |^ +--- PASS'

LINEAR ?= 10

.PHONY: linear
linear: servers ## concurrent histories under faults, checked for one order: LINEAR (10) times as many as in a quick run
	@cd internal/inttest && GOWORK=off LINEAR_FACTOR=$(LINEAR) LINEAR_DIR=$(CURDIR)/bin/linear \
	  go test -count=1 -timeout 60m -v -run 'TestLinear|TestTeeth|TestReplay' ./linear | grep -E 'histories:|session|place|order:|^(---|    ---|ok|FAIL|panic)'

.PHONY: hostile
hostile: servers ## hostile strings, numbers, cursors and URLs on every backend, all of them
	@cd internal/inttest && GOWORK=off HOSTILE_ALL=1 go test -count=1 -timeout 30m -v ./hostile | grep -E '_test.go:|^(---|ok|FAIL|panic)'

.PHONY: failover
failover: servers ## kill a master of a Redis Cluster, and the PgBouncer before PostgreSQL, while many write
	@cd internal/inttest && GOWORK=off go test -count=1 -v ./failover | grep -v '^=== '

.PHONY: peers
peers: servers ## this library beside others on the same servers: what a call takes, what becomes of concurrent appends
	@cd internal/peers && GOWORK=off go run . $(PEERSFLAGS)

.PHONY: clean
clean: ## remove what the targets made
	rm -rf bin $(COVER)
