# make help lists the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PROVIDER ?= vsphere
N ?= 300
TIMES ?= 3
ROUNDS ?= 3
FLAGS ?=
BINARY := multicloud-controller-manager
IMAGE ?= localhost/$(BINARY)
PLATFORMS ?= amd64 arm64
VERSION ?= $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo v0.0.0-$$(git rev-parse --short HEAD 2>/dev/null || echo unknown))
# The tag that is checked out, if nothing was changed since.
TAGGED = $(shell test -z "$$(git status --porcelain 2>&1)" && git describe --tags --match 'v*' --exact-match 2>/dev/null)
SOURCE_DATE = SOURCE_DATE_EPOCH="$$(git log -1 --format=%ct 2>/dev/null)"
LDFLAGS := -s -w -X k8s.io/component-base/version.gitVersion=$(VERSION)
PROGRESS := tools/progress
CHART := charts/multicloud-controller-manager
REFERENCE := docs/reference/annotations.md docs/reference/config.md docs/reference/metrics.md docs/reference/command-line.md \
	$(CHART)/values.schema.json $(CHART)/README.md
# Two ways of compiling, so that each dependency is compiled at most twice:
# what ships, what is shown and what tools/build builds, and whatever checks it.
RELEASE := env CGO_ENABLED=0 go build -trimpath
RUN_TOOL := env GOOS= GOARCH= CGO_ENABLED=0 go run -trimpath
CHECK := -race
# Tests need no vet of their own: make lint runs all of its checks. A slow or busy machine
# takes a multiple of the time.
TEST := -vet=off -timeout 2h
# Tests without the race detector, which gets a sample of what they explore (test/profile).
EXPLORE = env CGO_ENABLED=0 go test -trimpath $(TEST)
# Tests of real services. More of them side by side only wait for the one worker of Neutron.
SERVICES = OPENSTACK_DIR="$(abspath $(OPENSTACK_DIR))" go test $(CHECK) -vet=off -tags openstackservices -timeout 90m -count=1 -v -parallel 6

export KEEP
UPSTREAM := aws-cloud-controller-manager openstack-cloud-controller-manager vsphere-cloud-controller-manager

# By default each process with the race detector sleeps for a second at its end.
export GORACE ?= atexit_sleep_ms=0

.PHONY: help build test test-busy test-chart test-alerts helm manifests test-planes test-others test-explored e2e e2e-upstream e2e-openstack e2e-cluster soak size lint generate verify vulnerabilities demo bench compare image tools clean FORCE

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/$(BINARY) ## Build the binary into bin/

bin/$(BINARY): FORCE
	@$(PROGRESS) "$(call STEP,3)building $(BINARY)" $(RELEASE) -ldflags '$(LDFLAGS)' -o $@ ./cmd/$(BINARY)

# The binary of the end-to-end tests: race detector on.
bin/e2e/$(BINARY): FORCE
	@$(PROGRESS) "building $(BINARY) for the end-to-end tests" go build $(CHECK) -o $@ ./cmd/$(BINARY)

tools: ## Build kube-apiserver and etcd, once per machine
	@tools/build $(THEN) kube-apiserver etcd >/dev/null

helm: # Build both releases of Helm, once per machine
	@tools/build helm helm4 >/dev/null

# Packages whose tests run a control plane, one by one and with as many control planes at once
# as there are processors: all others run beside them, and leave them the processors.
PLANES := ./test/controlplane ./test/demo ./test/bench ./test/e2e
# The first three take longest.
OTHERS = ./providers/openstack ./providers/aws ./providers/vsphere $$(go list ./... | grep -vE '/test/(controlplane|demo|bench|e2e|chart)$$')
gotestsum = "$$(tools/build --path gotestsum)" --format standard-quiet --hide-summary skipped --jsonfile-timing-events bin/tests-$(1).json -- $(CHECK) $(TEST)

# Tests make much garbage; the processor is scarcer than memory.
test: export GOGC ?= 400
test: tools helm bin/e2e/$(BINARY) ## Run all tests, end-to-end tests included; those of the chart alone are in test-chart
	@tools/build gotestsum >/dev/null
	@$(PROGRESS) "compiling" go build $(CHECK) ./...
	@$(MAKE) --no-print-directory -j3 test-planes test-others test-explored
	cd tools/image && go test $(CHECK) $(TEST) ./...
	@echo 'The slowest tests of the run with the race detector:'
	@cat bin/tests-*.json | "$$(tools/build --path gotestsum)" tool slowest | awk '$$2 !~ "/" && shown++ < 10 { print "  " $$0 }'

test-planes: # Those of test that run a control plane
	@$(call gotestsum,planes) -p 1 $(PLANES)

test-others: # All others with the race detector
	@nice $(call gotestsum,others) $(OTHERS)

test-explored: # Those of the providers that explore most, without the race detector
	@$(PROGRESS) "testing providers without the race detector" nice $(EXPLORE) -short ./providers/aws ./providers/openstack ./providers/openstack/internal/octavia

test-busy: ## Run all tests TIMES times beside a busy loop for each processor, and print how long each run took
	tools/busy $(TIMES) $(MAKE) --no-print-directory test TEST='$(TEST) -count=1'

test-alerts: # Alerts and dashboard of the chart, with the packages of Prometheus
	cd test/alerts && env CGO_ENABLED=0 go test -trimpath $(TEST) ./...

test-chart: helm bin/kubeconform test-alerts ## Test the Helm chart, its alerts and the examples without a cluster
	@tools/build helm-unittest kubectl >/dev/null
	@cd tools/kubeconform && env CGO_ENABLED=0 go test -trimpath $(TEST) .
	go test $(CHECK) $(TEST) ./test/chart

bin/kubeconform: FORCE
	@cd tools/kubeconform && ../progress "building kubeconform" $(RELEASE) -o "$(CURDIR)/$@" .

e2e: tools helm bin/e2e/$(BINARY) ## Run only the end-to-end tests
	go test $(CHECK) -timeout 30m -count=1 -v ./test/e2e/...

e2e-upstream: tools helm bin/e2e/$(BINARY) ## Test the migration with the upstream controllers themselves, whose first build takes some minutes
	@tools/build $(UPSTREAM) >/dev/null
	UPSTREAM_BINARIES=1 go test $(CHECK) -timeout 30m -count=1 -v -run '^TestMigration' ./test/e2e

e2e-openstack: tools helm bin/e2e/$(BINARY) ## Run tests on real OpenStack services; OPENSTACK_DIR=<directory> has their cloud.conf
	@test -f "$(OPENSTACK_DIR)/cloud.conf" || { echo "OPENSTACK_DIR must be a directory with the cloud.conf of a project that has the servers node-1 to node-63" >&2; exit 1; }
	$(SERVICES) -run '^TestServices' ./providers/openstack
	$(SERVICES) -run '^TestOpenStackServices' ./test/e2e

# The variables are explained by the tests: KUBECONFIG, NODE_ADDRESS, IMAGE_LOADER, NODE_STOP and NODE_START.
e2e-cluster: helm ## Run the image as the Pod of the chart on a real node; see docs/explanation/real-node.md for what it needs
	@$(MAKE) --no-print-directory image PLATFORMS="$$(go env GOARCH)"
	IMAGE_ARCHIVE="$(CURDIR)/bin/image/image-linux-$$(go env GOARCH).tar" go test $(CHECK) -vet=off -tags e2ecluster -timeout 60m -count=1 -v ./test/e2ecluster

soak: ## Simulate a day of the vSphere provider, all faults of AWS and OpenStack, and pages of three rows; many minutes of CPU time
	@export TEST_SEED="$${TEST_SEED:-$$RANDOM}" && $(PROGRESS) "testing providers with TEST_SEED=$$TEST_SEED" \
		$(EXPLORE) -tags smallpages -count=1 -skip '^TestSchedules$$' ./providers/aws ./providers/openstack/... ./providers/vsphere/...
	@# Without a package, go test shows what a test prints: how many schedules there were.
	@for provider in aws openstack vsphere; do (cd providers/$$provider && $(EXPLORE) -tags smallpages -run '^TestSchedules$$') || exit 1; done

size: ## Print the lines of each part, and what EnsureLoadBalancer reaches in DIRECTORY, by default this one
	@$(PROGRESS) "counting" go -C tools/size run . "$(abspath $(or $(DIRECTORY),.))"

lint: ## Run the linters
	@tools/build golangci-lint >/dev/null
	@$(PROGRESS) "linting" env GOFLAGS="$$(go env GOFLAGS) $(CHECK)" "$$(tools/build --path golangci-lint)" run ./...
	@lint="$$(tools/build --path golangci-lint)"; for module in image kubeconform size; do (cd "tools/$$module" && "$$lint" run ./...); done; \
		cd test/alerts && env CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -trimpath" "$$lint" run ./...

vulnerabilities: bin/e2e/$(BINARY) ## Scan the binary with govulncheck, if its database can be reached
	@tools/build govulncheck >/dev/null
	@tools/vulnerabilities bin/e2e/$(BINARY)

generate: ## Write the generated reference pages, and schema and README of the chart
	@$(PROGRESS) "writing the reference pages" go run $(CHECK) ./docs/reference/generate
	@$(PROGRESS) "writing schema and README of the chart" go run $(CHECK) ./charts/generate

verify: generate ## Check that generated files, formatting, go.mod and references are up to date
	@tools/references
	@go mod tidy -diff
	@for module in image kubeconform size; do (cd "tools/$$module" && go mod tidy -diff); done
	@# Tests of Prometheus need modules that not every proxy has, and go.sum has those that were found.
	@cd test/alerts && diff=$$(go mod tidy -e -diff 2>/dev/null || [ $$? -eq 1 ]) && go list -m >/dev/null && \
		diff=$$(sed '/^diff current\/go\.sum/,$$d' <<<"$$diff") && if [ -n "$$diff" ]; then printf '%s\n' "$$diff" >&2; exit 1; fi
	@lint="$$(tools/build golangci-lint)"; for module in . test/alerts; do (cd "$$module" && "$$lint" fmt --diff ./...); done
	@stale=$$(git status --porcelain -- $(REFERENCE)); if [ -n "$$stale" ]; then \
		git --no-pager diff HEAD -- $(REFERENCE); \
		printf '%s\n' "$$stale" "these pages are out of date: run 'make generate' and commit the result" >&2; exit 1; fi

# What the demo, the benchmark and the comparison build after kube-apiserver and etcd, with the
# minutes of CPU time; the steps are numbered until all of it was built once.
demo: RUN := bin/demo
bench: RUN := bin/bench
compare: RUN := bin/compare
demo bench compare: THEN = --then bin/$(BINARY) 9 --then $(RUN) 1
demo bench compare: STEP = $(if $(wildcard $(RUN)),,step $(1) of 4: )

demo: tools bin/$(BINARY) ## Initialize nodes against a simulated cloud; PROVIDER=<name> selects it, KEEP=1 leaves everything running
	@$(PROGRESS) "$(call STEP,4)building the demo" $(RELEASE) -o $(RUN) ./test/demo
	@$(RUN) -provider $(PROVIDER) -binary bin/$(BINARY)

bench: tools bin/$(BINARY) ## Measure the budgets of PROVIDER with N nodes
	@$(PROGRESS) "$(call STEP,4)building the benchmark" $(RELEASE) -o $(RUN) ./test/bench
	@$(RUN) -provider $(PROVIDER) -nodes $(N) -binary bin/$(BINARY)

compare: tools bin/$(BINARY) ## Measure the upstream controller of PROVIDER and this one with N nodes, in ROUNDS turns, which takes an hour; FLAGS are those of test/compare
	@tools/build $(PROVIDER)-cloud-controller-manager >/dev/null
	@$(PROGRESS) "$(call STEP,4)building the comparison" $(RELEASE) -o $(RUN) ./test/compare
	@$(RUN) -provider $(PROVIDER) -nodes $(N) -rounds $(ROUNDS) -upstream "$$(tools/build --path $(PROVIDER)-cloud-controller-manager)" -binary bin/$(BINARY) -output bin/comparison $(FLAGS)

# The binaries of the image. In a clean checkout of a tag they carry its version, by which
# scanners match them; elsewhere their main module has none.
bin/linux-%/$(BINARY): FORCE
	@$(PROGRESS) "building $(BINARY) for linux/$*" env GOOS=linux GOARCH=$* $(RELEASE) -buildvcs=$(if $(TAGGED),true,false) -ldflags '$(LDFLAGS)' -o $@ ./cmd/$(BINARY)

image: $(PLATFORMS:%=bin/linux-%/$(BINARY)) ## Pack an image without a base layer into bin/image/, for PLATFORMS; the first build for another one takes minutes
	@rm -rf bin/image bin/image.yaml bin/root
	@cd tools/image && $(SOURCE_DATE) ../progress "packing the image" $(RUN_TOOL) . \
		-repository $(IMAGE) -version '$(VERSION)' -revision "$$(git rev-parse HEAD 2>/dev/null)" -module "$(CURDIR)" \
		$(PLATFORMS:%=-binary "$(CURDIR)/bin/linux-%/$(BINARY)") -output "$(CURDIR)/bin/image" -root "$(CURDIR)/bin/root" -values "$(CURDIR)/bin/image.yaml"

.PHONY: release verify-release
release: ## Write a release of the tag that is checked out into dist/
	@test -n "$(TAGGED)" || { echo "make release needs a checkout of a tag vX.Y.Z without changes and other files" >&2; exit 1; }
	@rm -rf dist bin/linux-*
	@$(MAKE) --no-print-directory image
	@helm="$$(tools/build helm)"; cd tools/image && $(SOURCE_DATE) ../progress "collecting the release" $(RUN_TOOL) ./release \
		-binaries "$(CURDIR)/bin" -image "$(CURDIR)/bin/image" -chart "$(CURDIR)/charts/$(BINARY)" -helm "$$helm" -version '$(VERSION)' \
		-providers aws,openstack,vsphere -policy "$(CURDIR)/docs/reference/aws-iam.md" -changelog "$(CURDIR)/CHANGELOG.md" -output "$(CURDIR)/dist"
	@cat dist/SHA256SUMS

verify-release: ## Build a release twice, from two clones, and compare the files; COLD=1 compiles everything twice
	@tools/reproducible

# Without VALUES, all settings of the cloud are in a Secret ccm-PROVIDER with the key cloud.conf,
# and there are none for AWS.
VALUES ?=
MANIFESTS ?= bin/manifests
manifests: helm ## Render the chart of PROVIDER into bin/manifests, for those without Helm; VALUES=<file> has its values
	@mkdir -p $(MANIFESTS)
	@"$$(tools/build --path helm4)" template $(BINARY) $(CHART) --namespace kube-system --no-hooks --set provider=$(PROVIDER) \
		$(if $(VALUES),--values '$(VALUES)',$(if $(filter-out aws,$(PROVIDER)),--set cloudConfig.existingSecret.name=ccm-$(PROVIDER))) \
		>$(MANIFESTS)/$(PROVIDER).yaml.new
	@mv $(MANIFESTS)/$(PROVIDER).yaml.new $(MANIFESTS)/$(PROVIDER).yaml
	@echo "$(MANIFESTS)/$(PROVIDER).yaml"

clean: ## Remove bin/ and dist/
	rm -rf bin dist
