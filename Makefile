# Everything starts from a bare Python 3.11 or newer: `make demo`, `make test`.
# Choose another interpreter with `make PYTHON=python3.12 ...`.

PYTHON ?= python3
VENV := .venv
FLOOR := .venv-floor
FIELD := .venv-field
BIN := $(VENV)/bin
FLOOR_BIN := $(FLOOR)/bin
FIELD_BIN := $(FIELD)/bin
FLOOR_TESTS := tests/test_sklearn_conformance.py tests/cli tests/workflow tests/plotting \
	tests/test_rows.py tests/design tests/test_targets.py
PIP_QUIET := --quiet --disable-pip-version-check
# A process for each core, but not dozens of them.
PYTEST := -m pytest -n auto --maxprocesses 4 --dist worksteal
LONG := long and not slow and not gpu and not peer
# Options of coverage measurement; test-all sets them.
COVERAGE :=
# One pinned PyTorch: another one may be a download of gigabytes.
TORCH ?= torch==2.13.0

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all deep lint attack test-floor bench bench-field bench-watch reproduce docs dist smoke clean

help: ## show this list
	@echo "rowsparse: pick exactly k features. Targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.demo ## pick 10 of 64 pixels of the digits with every method; table and picture
	@$(BIN)/python examples/demo.py

test: $(VENV)/.test ## run the test suite, but for the tests marked long
	@echo "test: running pytest"
	@$(BIN)/python $(PYTEST) $(COVERAGE)

test-all: $(VENV)/.test ## run the tests marked long, then all others, and print the coverage of both
	@echo "test-all: running pytest on the tests marked long"
	@$(BIN)/python $(PYTEST) -m "$(LONG)" --cov=rowsparse --cov-report=
	@$(MAKE) --no-print-directory test COVERAGE="--cov=rowsparse --cov-append --cov-report=term:skip-covered"

deep: $(VENV)/.deep ## install PyTorch, so that the tests of the deep selectors run too

lint: $(VENV)/.test $(VENV)/.lint ## check style and types (ruff, mypy --strict)
	@echo "lint: ruff check"
	@$(BIN)/ruff check .
	@echo "lint: ruff format --check"
	@$(BIN)/ruff format --check .
	@echo "lint: mypy"
	@$(BIN)/mypy

attack: $(VENV)/.test ## attack the proofs for a minute, from a new seed or SEED=1; MINUTES=0.05 of each kind
	@seed=$${SEED:-$$(date +%s)}; echo "attack: make attack SEED=$$seed does the same again"; \
	ROWSPARSE_SEED=$$seed ROWSPARSE_MINUTES=$${MINUTES:-0.05} $(BIN)/python -m benchmarks.attack

test-floor: $(FLOOR)/.test ## run the fast tests with the oldest supported dependencies
	@echo "test-floor: $$($(FLOOR_BIN)/python -c 'import numpy, scipy, sklearn; print("numpy", numpy.__version__, "scipy", scipy.__version__, "scikit-learn", sklearn.__version__)')"
	@$(FLOOR_BIN)/python $(PYTEST) $(FLOOR_TESTS)

bench: $(VENV)/.bench ## compare with other packages (slow)
	@$(BIN)/python -m benchmarks

bench-watch: $(VENV)/.demo ## ratio of times to the last tag; SINCE=REVISION compares with another
	@$(BIN)/python -m benchmarks.watch $(if $(SINCE),--since $(SINCE)) $(ARGS)

bench-field: $(FIELD)/.field ## compare with the packages of the field, each run in its own process (an hour or two)
	@$(FIELD_BIN)/python -m benchmarks.field $(ARGS)

# The comparison of all methods needs the packages that it compares with.
reproduce: $(VENV)/.$(if $(filter league,$(PAPER)),bench,demo) ## run a paper's experiments, as PAPER=nie2010 [ARGS=--quick]
	@$(BIN)/python -m reproduction $(if $(PAPER),$(PAPER),--help) $(ARGS)

dist: $(VENV)/.dist ## build the sdist and the wheel into dist/ and check them
	@rm -rf dist
	@echo "dist: building"
	@$(BIN)/python -m build --outdir dist . >/dev/null
	@$(BIN)/python -m twine check --strict dist/*
	@$(BIN)/python -m tools.contents dist

smoke: dist ## try the wheel in new environments: core and each extra, or EXTRAS="core deep"
	@$(BIN)/python -m tools.smoke dist/*.whl $(EXTRAS) $(if $(filter deep,$(EXTRAS)),--pin "$(TORCH)")

docs: $(VENV)/.docs ## build the site, with all examples run, into build/docs; a warning is an error
	@echo "docs: running sphinx-build"
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs build/docs
	@echo "docs: open build/docs/index.html"

clean: ## remove environments, caches and what the targets wrote
	@echo "clean: removing environments, caches, demo/, build/ and dist/"
	@rm -rf $(VENV) $(FLOOR) $(FIELD) demo build dist docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is made once; a stamp in it is older than pyproject.toml when it has to be installed again.
define make-environment
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "rowsparse needs Python 3.11 or newer, which '$(PYTHON)' is not; name one, as in 'make PYTHON=python3.12'." >&2; \
	exit 2; }
@echo "environment: making $(1)"
@$(PYTHON) -m venv $(1) || { rm -rf $(1); exit 1; }
endef

$(BIN)/python:
	$(call make-environment,$(VENV))

$(FLOOR_BIN)/python:
	$(call make-environment,$(FLOOR))

$(FIELD_BIN)/python:
	$(call make-environment,$(FIELD))

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "environment: installing rowsparse[cli,report] into $(VENV)"
	@$(BIN)/python -m pip install $(PIP_QUIET) -e ".[cli,report]"
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	@echo "environment: installing rowsparse[test] into $(VENV)"
	@$(BIN)/python -m pip install $(PIP_QUIET) -e ".[test]"
	@touch $@ $(VENV)/.demo

$(VENV)/.deep: $(VENV)/.test
	@echo "environment: installing $(TORCH) into $(VENV)"
	@$(BIN)/python -m pip install $(PIP_QUIET) "$(TORCH)"
	@touch $@

$(VENV)/.lint: pyproject.toml | $(BIN)/python
	@echo "environment: installing rowsparse[lint] into $(VENV)"
	@$(BIN)/python -m pip install $(PIP_QUIET) -e ".[lint]"
	@touch $@

$(VENV)/.dist: pyproject.toml | $(BIN)/python
	@echo "environment: installing rowsparse[dist] into $(VENV)"
	@$(BIN)/python -m pip install $(PIP_QUIET) -e ".[dist]"
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@echo "environment: installing rowsparse[docs] into $(VENV)"
	@$(BIN)/python -m pip install $(PIP_QUIET) -e ".[docs]"
	@touch $@ $(VENV)/.demo

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	@echo "environment: installing rowsparse[bench] into $(VENV)"
	@$(BIN)/python -m pip install $(PIP_QUIET) -e ".[bench]"
	@touch $@

$(FLOOR)/.test: pyproject.toml constraints-floor.txt | $(FLOOR_BIN)/python
	@echo "environment: installing rowsparse[test,bio] with the oldest dependencies into $(FLOOR)"
	@$(FLOOR_BIN)/python -m pip install $(PIP_QUIET) -e ".[test,bio]" -c constraints-floor.txt
	@touch $@

# OKRidge asks for a NumPy that fastcan does not run with, and runs with a newer one.
$(FIELD)/.field: pyproject.toml | $(FIELD_BIN)/python
	@echo "environment: installing rowsparse[field] and OKRidge into $(FIELD)"
	@$(FIELD_BIN)/python -m pip install $(PIP_QUIET) -e ".[field]"
	@$(FIELD_BIN)/python -m pip install $(PIP_QUIET) --no-deps "okridge==0.1.1"
	@touch $@
