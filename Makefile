# `make demo` and `make test` need Python 3.11 or newer and make, nothing else. uv is used when it is there and works.
.DEFAULT_GOAL := help
SHELL := /bin/sh
export PATH ?= /usr/local/bin:/usr/bin:/bin
# Every worker and command of the tests reads bytecode that is written once.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.ready-for-tests
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)

# What is installed is named in constraints.txt to the version, tools that build and check included.
PINNED = --constraint constraints.txt --build-constraint constraints.txt
WITH_UV = uv venv --quiet --allow-existing --python "$(PYTHON)" $(VENV) && \
	uv pip install --quiet --python $(BIN)/python --compile-bytecode $(PINNED) -e .
# uv reads no pip.conf: where packages come from a mirror that only pip knows, uv is there and fails.
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
WITH_PIP = "$(PYTHON)" -m venv $(VENV) && $(PIP_INSTALL) --constraint constraints.txt pip && $(PIP_INSTALL) $(PINNED) -e .
# The product alone, or with `--group dev` what tests need as well.
SET_UP = test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3"; exit 1; }; \
	if command -v uv >/dev/null 2>&1; then $(WITH_UV) $(1) || { echo "uv failed; trying venv and pip ..."; $(WITH_PIP) $(1); }; \
	else $(WITH_PIP) $(1); fi && \
	"$(PYTHON)" -m compileall -q src  # else every command compiles them again where bytecode is not written

.PHONY: help demo evals-run evals-gate test check lint types collected nightly pins bench peers docs pictures prices clean

help:
	@echo "make demo        see it work, offline"
	@echo "make evals-run   run the release harness in evals/ (ARGS='--samples 3' adds options)"
	@echo "make evals-gate  fail if the latest harness run is worse than the one before it"
	@echo "make test        lint, types, import rules and all tests that a change needs"
	@echo "make check       lint, types and import rules only"
	@echo "make nightly     what takes longer: simulations, fuzzing, many kills, clusters, DeepEval as an oracle"
	@echo "make pins        renew constraints.txt: the newest versions of all that is installed here"
	@echo "make bench       measure speed and memory against their limits, and beside other tools"
	@echo "make peers       install the other tools to measure beside, each in an environment of its own"
	@echo "make docs        write the generated reference pages again"
	@echo "make prices      write the table of list prices again, from the installed genai-prices"
	@echo "make pictures    make the example reports and take the pictures in docs/pictures/ again; needs Chromium"

$(READY): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once) ..."
	@$(call SET_UP,)
	@touch $(READY)

$(DEV): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) with what tests need (once) ..."
	@$(call SET_UP,--group dev)
	@touch $(READY) $(DEV)

# Two versions of a small program, asked 24 questions each: real answers, so a real verdict, without a key or a network.
demo: $(READY)
	@cd examples/demo && PATH="$(CURDIR)/$(BIN):$$PATH" && say() { echo; echo "$$ $$*"; "$$@"; } && \
	for version in v1 v2; do \
		prompt-evaluator evaluate-dataset -d questions.jsonl -s prompt.txt --rubric none \
			--generator-model python:desk:$$version > /dev/null || exit; \
	done && say prompt-evaluator compare @last~1 @last && say prompt-evaluator gate @last --baseline @last~1
	@echo
	@echo "That was offline, with real answers of examples/demo/desk.py. docs/quick-start.md goes on, with cases of your own."

evals-run: $(READY)
	@$(BIN)/prompt-evaluator evals run $(ARGS)

evals-gate: $(READY)
	@$(BIN)/prompt-evaluator evals gate $(ARGS)

check: $(DEV) lint types

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(DEV)
	$(BIN)/mypy

# Every test file is compiled once, by one process, instead of by each worker.
collected: $(DEV)
	@$(BIN)/pytest --collect-only --quiet > $(VENV)/collected.txt || { cat $(VENV)/collected.txt; exit 1; }

# A crashed worker fails the run: nothing that it left out is taken to have passed.
PYTEST = $(BIN)/pytest -n 2 --dist worksteal --max-worker-restart=0

test: $(DEV)
	@$(MAKE) --no-print-directory --jobs 2 --output-sync types lint collected
	$(PYTEST)

# tests/nightly/, and many more examples of every property.
nightly: $(DEV) oracle
	$(PYTEST) --timeout 1800 tests/nightly
	$(PYTEST) --timeout 1800 --hypothesis-profile nightly -m hypothesis

# In an environment of its own, so that only what is asked for by name is in it.
pins:
	@rm -rf $(VENV)-pins && "$(PYTHON)" -m venv $(VENV)-pins
	@$(VENV)-pins/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(VENV)-pins/bin/python -m pip install --quiet --disable-pip-version-check -e . --group dev
	@$(VENV)-pins/bin/python -m pip list --format freeze --exclude-editable --exclude setuptools > constraints.txt
	@rm -rf $(VENV)-pins && echo "Wrote constraints.txt."

bench: $(DEV)
	@for b in $(filter-out bench/bench_peers.py,$(wildcard bench/bench_*.py)) bench/bench_peers.py; do \
		echo "== $$b"; $(BIN)/python $$b || failed=1; done; exit $${failed:-0}

# Other tools, each in an environment of its own, for the table that `make bench` prints last.
PEER_PIP = -m pip install --quiet --disable-pip-version-check
peers:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3"; exit 1; }
	@peer() { name=$$1; shift; echo "Setting up .peers/$$name ..."; "$(PYTHON)" -m venv ".peers/$$name" && \
		".peers/$$name/bin/python" $(PEER_PIP) "$$@" || echo "$$name could not be installed."; }; \
	peer prompt-evaluator .; \
	peer inspect inspect-ai openai; \
	peer pydantic-evals pydantic-evals 'pydantic-ai-slim[openai]'; \
	peer lm-eval 'lm-eval[api]'; \
	peer deepeval deepeval openai
	@if command -v npm >/dev/null 2>&1; then echo "Setting up .peers/promptfoo ..."; \
		npm install --silent --no-fund --no-audit --prefix .peers/promptfoo promptfoo || echo "promptfoo could not be installed."; \
	else echo "promptfoo needs npm."; fi

# DeepEval is never installed beside us: it is asked offline, with its telemetry off, by the script itself.
oracle:
	@test -x .oracle/bin/python || "$(PYTHON)" -m venv .oracle
	@.oracle/bin/python -m pip install --quiet --disable-pip-version-check 'deepeval==4.3.1'
	.oracle/bin/python tests/oracle/deepeval_oracle.py --check

docs: $(DEV)
	$(BIN)/python docs/generate.py

# Before a release: `tools/make_prices.py --check` fails if the table is older than a month.
prices: $(DEV)
	$(BIN)/python tools/make_prices.py

pictures: $(DEV)
	PYTHONPATH=tests/support $(BIN)/python docs/pictures.py
	PYTHONPATH=tests/support $(BIN)/python docs/dashboard_pictures.py

clean:
	rm -rf $(VENV) $(VENV)-pins .oracle .peers dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
