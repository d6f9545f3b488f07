# Every target makes the virtual environment it needs; a clone, Python >= 3.11 and pip are enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS ?= .venv-extras

# Bytecode is written even if the environment says no: dozens of test processes share it.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo data test test-extras test-long browser lint check bench docs clean venv

help:
	@echo "make demo    calibrated noise for one realistic run; prints a table, writes demo.png"
	@echo "make data    CIFAR-10, Fashion-MNIST and film reviews for the experiments, into data/"
	@echo "make test    the whole test suite, PyTorch and a browser included; says what it skipped and why"
	@echo "make test-extras  Hugging Face, JAX and the examples, in an environment of their own"
	@echo "make test-long  the long sweeps: more cases of the same claims, five times as many random examples"
	@echo "make lint    formatting, lint, types, import direction"
	@echo "make check   lint, then the quick tests, in under two minutes"
	@echo "make bench   speed, memory and accuracy against other accountants; some: CASES=\"poisson steps\""
	@echo "make docs    the documentation, into site/"
	@echo "make clean   remove everything that was generated"

demo: $(VENV)/.installed-plot
	$(BIN)/python -m hockeystick.report.demo

# apt needs its lists of packages for Fashion-MNIST; without them the command says what to do.
data: $(VENV)/.installed-plot
	@if [ "$$(id -u)" -eq 0 ]; then as_root=; else as_root="sudo -n"; fi; \
	  $$as_root apt-get update >/dev/null 2>&1 || true
	$(BIN)/hockeystick data all

test: $(VENV)/.installed-test browser
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations=10 -m "not long"

test-long: $(VENV)/.installed-test browser
	HOCKEYSTICK_EXAMPLES=5 $(BIN)/python -m pytest -n 2 --dist loadfile --durations=10 -m long

# Hugging Face, JAX and jax-privacy have their own environment: what they pin stays out of the other.
test-extras:
	$(MAKE) VENV=$(EXTRAS) $(EXTRAS)/.installed-test-extras
	SCIPY_ARRAY_API=1 $(EXTRAS)/bin/python -m pytest --durations=10 tests/extras tests/training/test_jax_bridge.py

# Chromium for the tests of the report, where it can be had; without it they skip and say so.
browser:
	@command -v chromium >/dev/null || { \
	  if [ "$$(id -u)" -eq 0 ]; then as_root=; else as_root="sudo -n"; fi; \
	  { $$as_root apt-get update && $$as_root apt-get install -y chromium; } >/dev/null 2>&1 || \
	  echo "chromium could not be installed: the tests of the report in a browser will skip"; }

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

check: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not long"

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/run.py $(CASES)

docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(EXTRAS) site build dist demo.png
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -type d -name __pycache__ -prune -exec rm -rf {} +

venv: $(VENV)/.created

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python >= 3.11 is needed and '$(PYTHON)' is not one; name one with: make PYTHON=python3.12" >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# One stamp for each extra; changing pyproject.toml installs again. constraints.txt says which
# versions our own runs use.
$(VENV)/.installed-%: pyproject.toml constraints.txt $(VENV)/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '.[$*]'
	@touch $@
