# `make demo` and `make test` need Python 3.11 or newer and make, nothing else. uv is used when it is there and works.
.DEFAULT_GOAL := help
SHELL := /bin/sh
export PATH ?= /usr/local/bin:/usr/bin:/bin
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)

WITH_UV = uv venv --quiet --allow-existing --python "$(PYTHON)" $(VENV) && \
	uv pip install --quiet --python $(BIN)/python --compile-bytecode -e . --group dev
# uv reads no pip.conf: where packages come from a mirror that only pip knows, uv is there and fails.
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
WITH_PIP = "$(PYTHON)" -m venv $(VENV) && $(PIP_INSTALL) 'pip>=25.1' && $(PIP_INSTALL) -e . --group dev

.PHONY: help demo evals-run evals-gate test check soak bench peers docs pictures oracle clean

help:
	@echo "make demo        see it work, offline"
	@echo "make evals-run   run the release harness in evals/ (ARGS='--samples 3' adds options)"
	@echo "make evals-gate  fail if the latest harness run is worse than the one before it"
	@echo "make test        lint, types, import rules and all tests"
	@echo "make check       lint, types and import rules only"
	@echo "make soak        repeat simulations, kills and races many more times than make test"
	@echo "make bench       measure speed and memory against their limits, and beside other tools"
	@echo "make peers       install the other tools to measure beside, each in an environment of its own"
	@echo "make oracle      check the LLM metrics' recordings against DeepEval, in an environment of its own"
	@echo "make docs        write the generated reference pages again"
	@echo "make pictures    make the example reports and take the pictures in docs/pictures/ again; needs Chromium"

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3"; exit 1; }
	@echo "Setting up $(VENV) (once) ..."
	@if command -v uv >/dev/null 2>&1; then $(WITH_UV) || { echo "uv failed; trying venv and pip ..."; $(WITH_PIP); }; \
	else $(WITH_PIP); fi
	@"$(PYTHON)" -m compileall -q src  # else every command compiles them again where bytecode is not written
	@touch $(READY)

demo: $(READY)
	@$(BIN)/prompt-evaluator evaluate-dataset --dataset examples/datasets/sample.yaml --system-prompt prompts/system.txt
	@echo
	@echo "That was offline. docs/quick-start.md goes on from here, with cases of your own."

evals-run: $(READY)
	@$(BIN)/prompt-evaluator evals run $(ARGS)

evals-gate: $(READY)
	@$(BIN)/prompt-evaluator evals gate $(ARGS)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: check
	$(BIN)/pytest -n auto --dist worksteal

soak: $(READY)
	PROMPT_EVALUATOR_SOAK=1 $(BIN)/pytest -n auto --dist worksteal -m soak

bench: $(READY)
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

docs: $(READY)
	$(BIN)/python docs/generate.py

pictures: $(READY)
	PYTHONPATH=tests/support $(BIN)/python docs/pictures.py
	PYTHONPATH=tests/support $(BIN)/python docs/dashboard_pictures.py

clean:
	rm -rf $(VENV) .oracle .peers dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
