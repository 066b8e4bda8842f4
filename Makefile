# Fathom: build, test, demo. Everything lands in build/, engine/target/ and .venv/.
#   make demo      from nothing to a report of the S3D kernel on 4 ranks
#   make test      quick suites; make test-full adds the long ones; make check: lint and units, below 5 minutes
#   make help      all targets

SHELL := /bin/bash
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help deps deps-demo deps-test venv engine native web no-npm build demo test test-full test-rust test-native test-python test-alone test-web \
	torture lint lint-c lint-rust lint-python lint-tests lint-sql lint-shell lint-web lint-docs format bench pictures gallery golden site install uninstall wheel clean check facts

PREFIX ?= /usr/local
# Not as many as OpenMP may use: nproc looks at its variables too.
JOBS   ?= $(shell env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CARGO  := cargo
CARGO_AT := --manifest-path engine/Cargo.toml
TIMED  := packaging/timed.sh
DEPS   := deps
PYTEST  = $(BIN)/python -m pytest -q --durations 20 --durations-min 5 $(if $(FULL),,-m 'not full')

C_FILES := $(sort $(shell find runtime forward kernels examples tests bench engine/encoder/src engine/kernel/bpf engine/record/src python/fathom -name '*.[ch]'))
SHELL_FILES := .ci/run $(sort $(shell find packaging runtime tests examples -name '*.sh'))
WEB_FILES := web/index.html web/package.json web/tsconfig.json web/vite.config.ts $(sort $(shell find web/src -type f))
PYTHON_FILES := conftest.py python tests bench packaging kernels forward runtime
# What is in the repository and no package that was installed, nor what was built.
SPELT := *.md bench catalog docs examples forward kernels packaging python runtime tests web/src web/browser $(wildcard engine/*/src)
DOC_FILES := $(sort $(wildcard *.md) $(shell find bench catalog docs examples engine forward kernels packaging python runtime tests web -name '*.md' -not -path '*/node_modules/*' -not -path '*/target/*'))

help:
	@sed -n '2,4s/^# *//p' Makefile
	@echo 'targets: deps build web demo check facts test test-full test-ROOM torture lint format bench pictures gallery golden site install uninstall wheel clean'
	@echo 'settings: JOBS=$(JOBS) PREFIX=$(PREFIX) PYTHON=$(PYTHON)'

# Debian's packages: of all, of the demo, of the tests too.
deps deps-demo deps-test: deps%:
	@packaging/install-deps.sh $(if $*,-$*)

# What Fathom itself needs, and what lint and tests do. Installed anew only when a pin or the package's metadata changed.
PIP = $(BIN)/python -m pip install -q --disable-pip-version-check
$(BIN)/python: | $(DEPS)
	$(PYTHON) -m venv $(VENV)
$(VENV)/.package: pyproject.toml packaging/requirements.txt | $(BIN)/python
	$(PIP) -r packaging/requirements.txt -e .
	@touch $@
$(VENV)/.installed: $(VENV)/.package packaging/requirements-dev.txt
	$(PIP) -r packaging/requirements-dev.txt
	@touch $@
venv: $(VENV)/.installed

# PART of it packs runs and no more (engine/cli/src/more.rs).
engine: $(DEPS)
	$(CARGO) build --release --jobs $(JOBS) $(CARGO_AT) $(ENGINE)

build/build.ninja: | $(BIN)/python
	cmake -S . -B build -G Ninja -DPython3_EXECUTABLE=$(abspath $(BIN)/python)

native: build/build.ninja
	cmake --build build --parallel $(JOBS) $(if $(TARGETS),--target $(TARGETS))

# Without npm, or with one whose Node is too old (Debian 12's), all but the web UI is built, and that is said.
NPM := $(shell command -v npm >/dev/null && printf '%s\n' v20.19 "$$(node --version)" | sort -VC && echo npm)
web: $(if $(NPM),web/dist/index.html,no-npm)
no-npm:
	@echo 'web: no npm with Node 20.19 or newer here, so `fathom view` and `fathom report` are left out' >&2

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@cd web && npm ci --silent
	@touch $@

web/dist/index.html: $(WEB_FILES) | web/node_modules/.package-lock.json
	@cd web && npm run --silent build

build: venv engine native web

# Only what it shows, side by side; the rest is built by `make build`, and stays where it was.
PART := $(if $(wildcard engine/target/release/libfathom_forward.rlib),,-p fathom-engine --no-default-features)
DEMO := $(VENV)/.package engine native
demo: deps-demo
	@$(MAKE) --no-print-directory --jobs 3 DEPS=deps-demo ENGINE='$(PART)' \
		TARGETS='fathom libfathom program_s3d_mpiio_mpich' $(DEMO)
	@FATHOM=build/fathom examples/s3d.sh build build/demo/s3d.fathom
	@build/fathom doctor --facts

# All parts run though one fails; what failed comes last. A part that ran no test fails. FULL=1, set by test-full, adds the long tests.
PARTS = rust native python alone web
test:
	@MAKE='$(MAKE)' packaging/tests.sh $(PARTS)

test-full:
	@$(MAKE) --no-print-directory FULL=1 test

test-rust: deps-test
	@$(if $(FULL),FATHOM_FUZZ=10000000) $(TIMED) 'cargo test' $(CARGO) test --release --jobs $(JOBS) $(CARGO_AT) --workspace --no-fail-fast \
		$(if $(FULL),-- --include-ignored)

test-native: deps-test native
	@$(TIMED) ctest ctest --test-dir build --parallel $(JOBS) --output-on-failure --no-tests=error

# Tests wait for programs most of the time and run side by side; the programs of ALONE have the machine for themselves: what
# findings say are seconds, a browser and its server share the processors, instructions are counted.
ALONE = tests/test_findings.py tests/gates tests/browser

test-python: deps-test build
	@$(if $(FULL),FATHOM_FORESTS=40) $(TIMED) pytest $(PYTEST) --numprocesses $(JOBS) --dist loadfile $(ALONE:%=--ignore %) bench python/tests tests

test-alone: deps-test build
	@$(TIMED) 'pytest, one by one' $(PYTEST) $(ALONE)

test-web: web/node_modules/.package-lock.json
	@$(TIMED) vitest npm --prefix web run --silent test
	$(if $(FULL),@$(MAKE) --no-print-directory web && $(TIMED) browser npm --prefix web run --silent browser)

# The tests of one room: make test-ROOM.
TESTS_analysis = python/tests/latency $(addprefix python/tests/test_,$(addsuffix .py,answers breakdown call_findings collective_tables conflict_findings diff distribution \
	findings_engine findings_shared interference landscape landscapes load_findings many_ranks patterns rank_findings server_findings stack_findings summary vast_collective))
TESTS_webapi   = python/tests/screens python/tests/serve python/tests/test_report.py
TESTS_tune     = tests/tune $(addprefix python/tests/test_,$(addsuffix .py,knobs model patternstore proof remedy study tune))
TESTS_codegen  = tests/generate tests/test_replay.py python/tests/test_hints.py
TESTS_imports  = $(wildcard tests/test_import_*.py) tests/test_strace.py
TESTS_exports  = $(wildcard tests/test_export_*.py) python/tests/test_export_nesting.py
TESTS_record   = tests/see tests/test_all_bytes.py tests/test_limited.py tests/test_unrecorded.py tests/test_injected.py
TESTS_attach   = tests/attach
TESTS_forward  = tests/forward
TESTS_doctor   = python/tests/test_doctor.py
ROOMS = analysis webapi tune codegen imports exports record attach forward doctor
test-%: deps-test build
	@$(TIMED) $* $(PYTEST) --numprocesses $(JOBS) --dist loadfile \
		$(or $(TESTS_$*),$(error no room '$*'; there are $(PARTS) $(ROOMS)))

# Kills, faults, damage and odd programs for SECONDS, or one ROUND='--part NAME --seed N --rounds 1'; docs/reliability.md.
torture: deps-test build
	@PYTHONPATH=tests $(BIN)/python -P -m torture $(or $(ROUND),--seconds $(or $(SECONDS),1800))

# While one works, below 5 minutes: lint, and the tests that start no MPI program.
check: lint test-native test-web
	@$(TIMED) pytest $(PYTEST) --numprocesses $(JOBS) --dist loadfile --ignore python/tests/screens/test_tiles.py \
		python/tests/catalog python/tests/screens $(UNIT:%=python/tests/test_%.py)
UNIT = answers api breakdown diff distribution export_nesting findings_engine hints interference keeping landscape live macros model numbers patterns \
	polite proof selection study summary whole

lint: lint-c lint-rust lint-python lint-tests lint-sql lint-shell lint-web lint-docs

# The warnings build is the build itself: CMake compiles with -Wall -Wextra -Werror.
lint-c: native
	$(BIN)/clang-format --dry-run -Werror $(C_FILES)

lint-rust: deps
	$(CARGO) fmt --check $(CARGO_AT) --all
	$(CARGO) clippy --release --jobs $(JOBS) $(CARGO_AT) --workspace --all-targets -- -D warnings
	$(CARGO) clippy --release --jobs $(JOBS) $(CARGO_AT) -p fathom-engine --no-default-features -- -D warnings

lint-python: venv
	$(BIN)/ruff check $(PYTHON_FILES)
	$(BIN)/ruff format --check $(PYTHON_FILES)
	$(BIN)/mypy --strict python/fathom bench
	$(BIN)/lint-imports

# A file of tests that does not import leaves out all its tests, and says so only at the end of an hour.
lint-tests: deps-test build
	@$(PYTEST) --collect-only -qq >build/collected.txt || { tail -n 40 build/collected.txt; exit 1; }

lint-sql: venv
	$(BIN)/python -m sqlfluff lint --disable-progress-bar --processes $(JOBS) python/fathom/analysis/sql catalog/findings

lint-shell: deps-test
	shellcheck $(SHELL_FILES)

lint-web: web/node_modules/.package-lock.json
	npm --prefix web run --silent lint

# Sentences of at most 25 words; misspelt words, in code too.
lint-docs: venv
	@$(BIN)/python packaging/prose.py $(DOC_FILES)
	$(BIN)/codespell $(SPELT)

format: venv
	$(BIN)/clang-format -i $(C_FILES)
	$(CARGO) fmt $(CARGO_AT) --all
	$(BIN)/ruff check --fix $(PYTHON_FILES)
	$(BIN)/ruff format $(PYTHON_FILES)

# What other languages and the docs have of catalog/*.toml; committed, so that no build needs Python for it.
facts: venv
	@PYTHONPATH=python $(BIN)/python -m fathom.catalog facts .
	@PYTHONPATH=python $(BIN)/python -m fathom.run.macros >docs/macros.md
	@PYTHONPATH=python $(BIN)/python -m fathom.pages.findings_page >docs/findings.md
	@PYTHONPATH=python $(BIN)/python -m fathom.pages.stores_page >docs/stores.md

bench: deps-test build
	$(BIN)/python bench/run.py $(BENCH_ARGS)

# Pictures of the web UI's screens for the docs, and what the notebooks show.
pictures: deps-test demo
	cd tests && ../$(BIN)/python -m harness.pictures ../docs/pictures --other ../build/demo/s3d.fathom
	cd tests && ../$(BIN)/python -m harness.notebooks

# Pages of the docs whose commands are run, and what they print written into them.
gallery: deps-test build
	cd tests && ../$(BIN)/python -m harness.gallery

# Pages of `fathom show` that a test compares, in tests/golden.
golden: deps-test build
	cd tests && ../$(BIN)/python -m harness.golden

# The docs as pages, in build/site; a link to nothing ends it.
site: venv
	$(BIN)/mkdocs build --strict --quiet --config-file packaging/site/mkdocs.yml

install: build
	packaging/install.sh '$(PREFIX)'

uninstall:
	packaging/install.sh --remove '$(PREFIX)'

wheel: build
	packaging/wheel.sh dist

clean:
	rm -rf build engine/target dist web/dist web/node_modules
