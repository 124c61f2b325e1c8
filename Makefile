# One command each; every target sets up what it needs. Run `make help` for the list.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
TEST_STAMP := $(VENV)/.ready-test
FRONT_SOURCES := $(shell find labextension/src labextension/style labextension/schema -type f 2>/dev/null) labextension/package.json

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("jupyter-dra needs Python 3.11 or newer; this is %d.%d. Try: make PYTHON=python3.12 demo" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip

$(STAMP): pyproject.toml $(FRONT_SOURCES) | $(BIN)/python
	PATH="$$(tools/node-path $(BIN)/python)$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install -q -e '.[demo]'
	$(BIN)/python tools/develop.py
	@touch $@

$(TEST_STAMP): pyproject.toml $(STAMP)
	$(BIN)/python -m pip install -q -e '.[demo,test]' --no-build-isolation --no-deps || true
	@touch $@

.PHONY: demo
demo: $(STAMP) ## local cluster and JupyterLab with the example notebooks
	@exec $(BIN)/jupyter-dra demo
