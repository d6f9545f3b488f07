# Every target makes the virtual environment it needs; a clone, Python >= 3.11 and pip are enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test torch lint check bench docs clean venv

help:
	@echo "make demo    calibrated noise for one realistic run; prints a table, writes demo.png"
	@echo "make test    the whole test suite"
	@echo "make torch   PyTorch for make test, which skips some tests without it"
	@echo "make lint    formatting, lint, types, import direction"
	@echo "make check   lint, then the quick tests"
	@echo "make bench   speed, memory and accuracy against other accountants; some: CASES=\"poisson steps\""
	@echo "make docs    the documentation, into site/"
	@echo "make clean   remove everything that was generated"

demo: $(VENV)/.installed-plot
	$(BIN)/python -m hockeystick.report.demo

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 --durations=10

torch: $(VENV)/.installed-train

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

check: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/run.py $(CASES)

docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site build dist demo.png
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -type d -name __pycache__ -prune -exec rm -rf {} +

venv: $(VENV)/.created

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python >= 3.11 is needed and '$(PYTHON)' is not one; name one with: make PYTHON=python3.12" >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# One stamp for each extra; changing pyproject.toml installs again.
$(VENV)/.installed-%: pyproject.toml $(VENV)/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
