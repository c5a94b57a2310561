# Everything a newcomer runs. Needs Python >= 3.11 and make; `make lock` alone also needs uv.
# Another interpreter: make setup PYTHON=python3.12

PYTHON ?= python3
UV ?= uv

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PIP := $(PY) -m pip --disable-pip-version-check --no-input --quiet

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long lint types layers check lock clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1 - \2/p' Makefile

setup: $(STAMP) ## Create .venv and install what requirements.lock names

# The stamp is written last, so an interrupted installation is taken up again.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "cenotaph needs Python 3.11 or newer; '$(PYTHON)' is missing or older." >&2; \
	  echo "Name another one: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu install the package python3-venv." >&2; exit 1; }
	@echo "installing from requirements.lock into $(VENV) ..."
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

demo: setup ## Play a conversation through the whole path and forget one thing of it
	@$(VENV)/bin/cenotaph demo

test: setup ## Run every test but the long ones, two files at a time
	@$(PY) -m pytest -m "not long" -n 2 --dist loadfile --no-loadscope-reorder

test-long: setup ## Run the long tests, and seek new counter-examples to the laws
	@$(PY) -m pytest -m long --hypothesis-profile=searching
	@$(PY) -m pytest -m "not long" --hypothesis-profile=searching tests/unit

lint: setup ## Check rules and format
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: setup ## Check types, strictly, over code and tests
	@$(PY) -m mypy

layers: setup ## Check that imports follow the layers
	@$(VENV)/bin/lint-imports

check: lint types layers test ## All of the above but the long tests

lock: ## Resolve requirements.lock anew from pyproject.toml (needs uv)
	@command -v $(UV) >/dev/null || { \
	  echo "make lock needs uv; everything else does without it." >&2; exit 1; }
	@$(UV) pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet --output-file requirements.lock

clean: ## Remove .venv, caches and builds; data directories stay
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
