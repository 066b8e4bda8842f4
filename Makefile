# Fathom: build, test, demo. Everything lands in build/, engine/target/ and .venv/.
#   make demo      from nothing to a report of the S3D kernel on 4 ranks
#   make test      quick suites; make test-full adds the long ones
#   make help      all targets

SHELL := /bin/bash
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help deps venv engine native build demo test test-full test-rust test-native test-python \
	lint lint-c lint-rust lint-python lint-shell format bench install wheel clean

PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CARGO  := cargo
CARGO_AT := --manifest-path engine/Cargo.toml
TIMED  := packaging/timed.sh

C_FILES := $(sort $(shell find runtime kernels tests bench -name '*.[ch]'))
SHELL_FILES := .ci/run $(sort $(shell find packaging tests examples -name '*.sh'))
PYTHON_FILES := python tests bench packaging kernels

help:
	@sed -n '2,4s/^# *//p' Makefile
	@echo 'targets: deps build demo test test-full lint format bench install wheel clean'
	@echo 'settings: JOBS=$(JOBS) PREFIX=$(PREFIX) PYTHON=$(PYTHON)'

deps:
	@packaging/install-deps.sh

# The venv is made anew only when a pin or the package's metadata changed.
venv: deps $(VENV)/.installed
$(VENV)/.installed: pyproject.toml packaging/requirements-dev.txt
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check \
		-r packaging/requirements-dev.txt -e .
	@touch $@

engine: deps
	$(CARGO) build --release --jobs $(JOBS) $(CARGO_AT)

build/build.ninja: | venv
	cmake -S . -B build -G Ninja -DPython3_EXECUTABLE=$(abspath $(BIN)/python)

native: build/build.ninja
	cmake --build build --parallel $(JOBS)

build: venv engine native

demo: build
	@FATHOM=build/fathom examples/s3d.sh build build/demo/s3d.fathom

# Each suite prints its runner's closing line and its seconds. A suite that ran no test fails:
# pytest by exit 5, ctest by --no-tests=error. FULL=1, set by test-full, adds the long tests.
test: test-rust test-native test-python

test-full:
	@$(MAKE) --no-print-directory FULL=1 test

test-rust: deps
	@$(if $(FULL),FATHOM_FUZZ=10000000) $(TIMED) 'cargo test' $(CARGO) test --release --jobs $(JOBS) $(CARGO_AT) --workspace --no-fail-fast \
		$(if $(FULL),-- --include-ignored)

test-native: native
	@$(TIMED) ctest ctest --test-dir build --output-on-failure --no-tests=error

test-python: build
	@$(if $(FULL),FATHOM_FORESTS=40) $(TIMED) pytest $(BIN)/python -m pytest -q $(if $(FULL),,-m 'not full')

lint: lint-c lint-rust lint-python lint-shell

# The warnings build is the build itself: CMake compiles with -Wall -Wextra -Werror.
lint-c: native
	$(BIN)/clang-format --dry-run -Werror $(C_FILES)

lint-rust: deps
	$(CARGO) fmt --check $(CARGO_AT) --all
	$(CARGO) clippy --release --jobs $(JOBS) $(CARGO_AT) --workspace --all-targets -- -D warnings

lint-python: venv
	$(BIN)/ruff check $(PYTHON_FILES)
	$(BIN)/ruff format --check $(PYTHON_FILES)
	$(BIN)/mypy --strict python/fathom bench

lint-shell: deps
	shellcheck $(SHELL_FILES)

format: venv
	$(BIN)/clang-format -i $(C_FILES)
	$(CARGO) fmt $(CARGO_AT) --all
	$(BIN)/ruff check --fix $(PYTHON_FILES)
	$(BIN)/ruff format $(PYTHON_FILES)

bench: build
	$(BIN)/python bench/run.py $(BENCH_ARGS)

install: build
	packaging/install.sh '$(PREFIX)'

wheel: build
	packaging/wheel.sh dist

clean:
	rm -rf build engine/target dist
