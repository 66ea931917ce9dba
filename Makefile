# seismo. `make` alone lists what can be done; every target starts from a clean clone.

PYTHON ?= python3
VENV ?= .venv
# The processes that tests are spread over.
JOBS ?= $(shell nproc)
# Those of pytest: some tests wait.
WORKERS ?= $(shell expr $(JOBS) + 1)
# More for pytest, e.g. make test T="tests/model -x".
T ?= tests
# Seconds of each fuzzer on each interpreter, and where it begins (at random unless it is given: CI repeats itself).
FOR ?= 30
SEED ?=

BIN := $(VENV)/bin
NATIVE := $(wildcard native/*/*.[ch] native/*/*/*.[ch])
# All but other people's code, which stays as they wrote it.
OURS := $(filter-out native/vendor/%,$(NATIVE))
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest
# Interpreters beside the machine's own, where this tool is there: one line each, a version and the command that runs it.
INTERPRETERS := ../shared/tools/pythons
# The development build has what only tests use; what users get is built without (tools/try_wheel.py).
export SEISMO_TESTING ?= 1
# Where this is set, each of the thousands of children compiles all that it imports, which takes longer than most tests.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test engines lint web webcheck editors bench matrix sanitize sanitizefuzz fuzz docs site dist wheels wheeltest wheelsuite release format clean
.DELETE_ON_ERROR:

help:  ## this list
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- environment and build ------------------------------------------------------------------------------------------

$(VENV)/.made: pyproject.toml
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(PIP) -U pip 'setuptools>=77'
	@touch $@

# Seismo itself, in place: edits to the Python files count at once, edits to the native ones at the next make.
$(VENV)/.built: $(VENV)/.made setup.py $(NATIVE)
	$(PIP) --no-build-isolation -e .
	@touch $@

# What tests and linters need besides.
$(VENV)/.ready: $(VENV)/.built pyproject.toml
	$(BIN)/python tools/requirements.py test arrow viewers dev >$(VENV)/requirements.txt
	$(PIP) -r $(VENV)/requirements.txt
	@touch $@

# --- the two commands of the README ---------------------------------------------------------------------------------

demo: $(VENV)/.built  ## profile a real program that is not ours and show the report
	@$(PIP) pygments
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tools/demo.sh

test: $(VENV)/.ready  ## the tests of seismo on the machine's python3, but what is left to the matrix
	$(PYTEST) -q -n $(WORKERS) --timeout 300 $(if $(filter tests,$(T)),-m "not matrix" --ignore tests/lint) $(T)

# Dask, Spark, Ray, joblib, Celery and RQ, beside what is in the other environment. PySpark is a large source distribution, of which pip
# builds a wheel and keeps it in its cache.
.venv-engines/.ready: $(VENV)/.ready
	rm -rf .venv-engines
	$(PYTHON) -m venv --without-pip .venv-engines
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  >"$$(.venv-engines/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/base.pth"
	$(BIN)/python tools/requirements.py dask spark ray queues >.venv-engines/requirements.txt
	$(BIN)/python -m pip --python .venv-engines/bin/python install -q --disable-pip-version-check -r .venv-engines/requirements.txt
	@touch $@

engines: .venv-engines/.ready  ## the tests of datasets and recordings on Dask, Spark (needs Java 17), Ray, joblib, Celery and RQ
	@command -v java >/dev/null || echo "Spark: NOT RUN: there is no Java here (apt-get install default-jre-headless)."
	.venv-engines/bin/python -m pytest -q --timeout 600 tests/dataset/engines
	.venv-engines/bin/python -m pytest -q -n $(JOBS) --dist loadfile --timeout 600 tests/engines  # starts engines of its own

# --- the rest -------------------------------------------------------------------------------------------------------

lint: $(VENV)/.ready  ## ruff, mypy in strict mode, clang-format, and the laws of the repository (tests/lint)
	@failed=0; for check in 'ruff check .' 'ruff format --check .' mypy 'clang-format --dry-run -Werror $(OURS)'; do \
	   echo "$${check%% native*}"; $(BIN)/$$check || failed=1; done; \
	   $(PYTEST) -q -n $(WORKERS) --timeout 300 tests/lint || failed=1; exit $$failed

format: $(VENV)/.ready  ## let the formatters write
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(OURS)

# What is installed for the front end: only its developers need it, and Node.
web/node_modules/.made: web/package.json web/package-lock.json
	cd web && npm ci --silent --no-audit --no-fund
	@touch $@

web: web/node_modules/.made  ## check the front end of the pages, and bundle it into the package (needs Node 20 and npm)
	cd web && npm run --silent lint && npm run --silent types && npm run --silent test && npm run --silent build

webcheck: web/node_modules/.made  ## the same without writing: fails if the bundles are not what the sources make
	cd web && npm run --silent check

editors/vscode/node_modules/.made: editors/vscode/package.json editors/vscode/package-lock.json
	cd editors/vscode && npm ci --silent --no-audit --no-fund
	@touch $@

editors: editors/vscode/node_modules/.made  ## check the extension for VS Code, and pack it: editors/vscode/build/seismo.vsix (needs Node 20 and npm)
	cd editors/vscode && npm run --silent check

# What exports are opened in, for tests/formats; where it cannot be had, those tests are skipped.
tests/formats/viewers/node_modules/.made: tests/formats/viewers/package.json tests/formats/viewers/package-lock.json
	cd tests/formats/viewers && npm ci --silent --no-audit --no-fund
	@touch $@

bench:  ## measure costs and accuracy into docs/performance*; make bench B="--quick --only truth" does less
	SEISMO_TESTING= $(PYTHON) benchmarks/run_all.py $(B)

dist: $(VENV)/.made  ## source distribution
	rm -rf dist
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/python setup.py -q sdist

# A line for each interpreter at hand: a label and a command.
AT_HAND = if [ -n "$(PYTHONS)" ]; then for p in $(PYTHONS); do echo "$${p\#\#*/} $$p"; done; \
	   elif [ -x $(INTERPRETERS) ]; then $(INTERPRETERS); \
	   else for v in 3.11 3.12 3.13 3.14 3.15; do ! command -v python$$v >/dev/null || echo "$$v python$$v"; done; fi
FREE_THREADED = [ -n "$(PYTHONS)" ] || [ ! -x $(INTERPRETERS) ] || $(INTERPRETERS) free-threaded | grep -v -e '-tsan ' || \
	   echo "No free-threaded interpreters can be had here: nothing is recorded on them." >&2

matrix: dist $(VENV)/.ready  ## the tests on every interpreter at hand; make matrix PYTHONS="python3.12 python3.14" picks
	@{ $(AT_HAND); [ -n "$(PYTHONS)" ] || [ ! -x $(INTERPRETERS) ] || \
	   $(INTERPRETERS) | sed -n 's|^\(3\.1[45]\)\.[0-9]* \(.*\)$$|\1-debug \2-dbg|p'; \
	   $(FREE_THREADED); } | $(BIN)/python tools/matrix.py --jobs $$(($(JOBS) + 2)) dist/*.tar.gz

# What builds and tries wheels: for the interpreters at hand, free-threaded ones too, or for this one (FOR=here).
FOR_WHEELS = $(if $(filter here,$(FOR)),: |,{ $(AT_HAND); $(FREE_THREADED); } |) $(BIN)/python
wheels: dist  ## wheels of every interpreter at hand, for x86_64 and aarch64, glibc and musl, into dist; make wheels FOR=here builds one
	@$(FOR_WHEELS) tools/wheels.py $(if $(filter here,$(FOR)),--here) dist/*.tar.gz

wheeltest:  ## install the wheels of dist for each interpreter at hand, without a compiler, and record a real program; FOR=here
	@$(FOR_WHEELS) tools/test_wheels.py $(if $(filter here,$(FOR)),--here) dist

# The tree of tools/emulated.sh, an interpreter of which runs the tests under emulation.
ARM64 ?= build/arm64
wheelsuite: dist  ## the tests of readers and sources with the wheels for musl (tools/musl_python.sh) and, emulated, for arm64 (ARM64=TREE)
	@{ $(AT_HAND); } | grep '^3\.14' | $(BIN)/python tools/wheels.py --testing --only 'musllinux_1_2_x86_64|manylinux_2_17_aarch64' dist/*.tar.gz
	@{ [ ! -x $(ARM64)/usr/bin/python3.14 ] || echo "3.14-arm64 tools/emulated.sh $(ARM64) /usr/bin/python3.14"; } | \
	   $(BIN)/python tools/test_wheels.py --suite build/wheels/testing

release: $(VENV)/.made  ## check version and changelog, tag, build and try all wheels, check them; docs/releasing.md has what follows
	$(BIN)/python tools/release.py prepare
	$(MAKE) --no-print-directory wheels
	$(MAKE) --no-print-directory wheeltest
	@$(FOR_WHEELS) tools/release.py check

FUZZ = $(foreach part,reader formats filter cover,--script "fuzz/fuzz_$(part).py --seconds $(FOR) $(SEED:%=--seed %)")
# The newest interpreter beside the machine's own, which the fuzzers run on as well.
NEWEST = [ ! -x $(INTERPRETERS) ] || $(INTERPRETERS) | sed -n '$$s/^/fuzz-/p'

sanitize: dist  ## the tests with a core that checks addresses and undefined behaviour, and with failing allocations
	@echo "sanitize $(PYTHON)" | $(BIN)/python tools/matrix.py --jobs $(JOBS) --sanitize $(SANITIZE) dist/*.tar.gz

fuzz: dist  ## damaged files into the readers and damaged filters into the core, under the sanitizers, and random programs against coverage.py; make fuzz FOR=600 goes on for ten minutes each
	@{ echo "fuzz $(PYTHON)"; $(NEWEST); } | $(BIN)/python tools/matrix.py --jobs $(JOBS) --sanitize $(FUZZ) dist/*.tar.gz

sanitizefuzz: SANITIZE = --tests $(FUZZ)
sanitizefuzz: sanitize  ## both on the machine's python3, with one build

docs: $(VENV)/.ready  ## bring the generated pages up to date and run every example
	$(BIN)/python tools/document.py
	$(PYTEST) -q -n $(WORKERS) --timeout 300 tests/docs

# What makes the documentation site needs nothing of ours.
.venv-site/.ready: pyproject.toml
	rm -rf .venv-site
	$(PYTHON) -m venv .venv-site
	$(PYTHON) tools/requirements.py site >.venv-site/requirements.txt
	.venv-site/bin/python -m pip install -q --disable-pip-version-check -r .venv-site/requirements.txt
	@touch $@

site: $(VENV)/.ready .venv-site/.ready  ## the documentation site into build/site, with the pages that its recipes write; any dead link fails
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	  $(PYTEST) -q -n $(WORKERS) --timeout 300 --basetemp "$$folder/recipes" tests/docs/test_examples.py -k cookbook && \
	  sh tools/pictures.sh $(BIN)/python "$$folder/report.svg" && \
	  RECIPES="$$folder" .venv-site/bin/mkdocs build --quiet

clean:  ## forget environments and builds
	rm -rf .venv .venv-engines .venv-site .venvs-matrix build dist demo web/node_modules web/build editors/vscode/node_modules editors/vscode/build tests/formats/viewers/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src native tests -name '__pycache__' -prune -exec rm -rf {} +
	find src -name '*.so' -delete
	rm -rf src/*.egg-info
