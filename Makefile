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
.PHONY: help demo data test test-core test-extras test-long test-all test-lowest browser lint check
.PHONY: bench docs docs-deploy dist release-check clean venv

help:
	@echo "make demo    plan, noise, training, statement and audit on small real data; writes demo.png"
	@echo "make data    CIFAR-10, Fashion-MNIST and film reviews for the experiments, into data/"
	@echo "make test    the whole test suite, PyTorch and a browser included; says what it skipped and why"
	@echo "make test-core  the same without PyTorch"
	@echo "make test-all  the suite on every Python from 3.11 to 3.13 that is here; without PyTorch where"
	@echo "             there is no small build of it"
	@echo "make test-lowest  the suite without PyTorch, with the lowest versions that pyproject.toml allows"
	@echo "make test-extras  Hugging Face, JAX and the examples, in an environment of their own"
	@echo "make test-long  the long sweeps: more cases of the same claims, five times as many random examples"
	@echo "make lint    formatting, lint, types, import direction"
	@echo "make check   lint, then the quick tests, in under two minutes"
	@echo "make bench   speed, memory and accuracy against other accountants; some: CASES=\"poisson steps\""
	@echo "make docs    the documentation, into site/"
	@echo "make dist    wheel and sdist, checked and tried in clean environments"
	@echo "make release-check  everything that a release needs, short of uploading"
	@echo "make clean   remove everything that was generated"

demo: $(VENV)/.installed-demo
	$(BIN)/python -m hockeystick.report.demo
	$(BIN)/python examples/story.py

# apt needs its lists of packages for Fashion-MNIST; without them the command says what to do.
data: $(VENV)/.installed-plot
	@if [ "$$(id -u)" -eq 0 ]; then as_root=; else as_root="sudo -n"; fi; \
	  $$as_root apt-get update >/dev/null 2>&1 || true
	$(BIN)/hockeystick data all

test: $(VENV)/.installed-test browser
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations=10 -m "not long"

test-core: $(VENV)/.installed-test-core browser
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations=10 -m "not long"

# One environment for each Python. PyTorch where pip finds a build for the CPU alone: others bring
# gigabytes of CUDA libraries, and its tests skip.
test-all:
	@$(PYTHON) tests/pythons.py | while read -r version python suite; do \
	  echo "== Python $$version ($$python): make $$suite"; \
	  $(MAKE) PYTHON="$$python" VENV=".venv-$$version" "$$suite" </dev/null || exit 1; \
	done

# Floors of pyproject.toml; pip refuses if one of them cannot be had together with the others. Old
# releases use what newer ones of others have deprecated.
test-lowest:
	$(MAKE) VENV=.venv-lowest .venv-lowest/.created
	.venv-lowest/bin/python tests/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint .venv-lowest/lowest.txt --editable '.[test-core]'
	.venv-lowest/bin/python -m pytest -n 2 --dist loadfile -m "not long" -W ignore::DeprecationWarning

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

# One version of the site onto the branch gh-pages, pushed: VERSION=v0.2.0 ALIAS=latest, or dev.
docs-deploy: $(VENV)/.installed-docs
	PATH="$(abspath $(BIN)):$$PATH" NO_MKDOCS_2_WARNING=1 \
	  mike deploy --push --update-aliases $(VERSION) $(ALIAS)
	$(if $(ALIAS),$(BIN)/mike set-default --push $(ALIAS))

dist: $(VENV)/.installed-release
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/installed.py dist/*.whl dist/*.tar.gz

release-check: lint test-all test-lowest test-extras docs dist
	@echo "Everything but uploading is done: dist/ is what a release would contain."

clean:
	rm -rf $(VENV) $(EXTRAS) .venv-lowest .venv-3.* site build dist demo.png story.json story.png demo-statement.json
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
