# Two commands from the README: `make demo` and `make test`. Each sets up what it needs in .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := help

.PHONY: help demo test quick clients lint bench docs schemas clean

help: ## what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(VENV)/.run: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "autoscirub needs Python 3.11 or newer; this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

demo: $(VENV)/.run ## the main job on two real projects, with no model and no network
	$(BIN)/autoscirub demo

test: $(VENV)/.dev ## all tests
	$(BIN)/python -m pytest -n auto --dist worksteal

quick: $(VENV)/.dev ## the tests that take no time
	$(BIN)/python -m pytest -n auto -m "not slow"

clients: ## the agents and MCP tools that end-to-end tests drive, about 1.2 GB; without them those skip
	PYTHON=$(PYTHON) tests/e2e/clients/install.sh

lint: $(VENV)/.dev ## format, lint, types, import contracts, generated files
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m autoscirub.models.schema --check
	$(BIN)/python docs/generate.py --check

bench: $(VENV)/.dev ## speed, as ratios against peers in the same run
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/.dev ## write the generated files anew: schemas and references
	$(BIN)/python -m autoscirub.models.schema
	$(BIN)/python docs/generate.py

clean: ## remove what the commands above made
	rm -rf $(VENV) .clients .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
