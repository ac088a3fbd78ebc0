GO         ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME   ?= 20s

.PHONY: build demo test test-full lint fuzz clean

build: ## one static binary, bin/assay
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/assay ./cmd/assay

demo: ## three simulated arms, judged in real sandboxes; leaves demo/demo.db
	@scripts/install-needs bwrap mmdebstrap
	@$(MAKE) --no-print-directory build
	rm -rf demo
	bin/assay demo --dir demo

test: ## vet and every fast test, with the race detector
	@scripts/install-needs bwrap mmdebstrap python3 cc
	$(GO) vet ./...
	$(GO) test -race -shuffle=on -timeout 20m ./...

test-full: ## what takes longer: lint, kills, coverage, fuzzing, the demo
	@scripts/install-needs bwrap mmdebstrap python3 cc
	@$(MAKE) --no-print-directory lint
	@mkdir -p bin
	ASSAY_FULL=1 $(GO) test -shuffle=on -timeout 20m -coverpkg=./... -coverprofile=bin/cover.out ./...
	$(GO) tool cover -func=bin/cover.out | tail -n 1
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) --no-print-directory demo

lint: ## gofmt, vet, staticcheck, tidy
	@test -z "$$(gofmt -l cmd agent grader results tasks fixtures internal)" || { gofmt -l cmd agent grader results tasks fixtures internal; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) mod tidy -diff

fuzz: ## every fuzz test for FUZZTIME
	GO='$(GO)' scripts/fuzz $(FUZZTIME)

clean: ## what the commands above made here; not the sandbox root in the cache
	rm -rf bin demo
