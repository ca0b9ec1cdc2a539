# The project's own commands. Each makes the .venv it needs; only Python >= 3.11, git and make must be there.
# Another interpreter: make PYTHON=/path/to/python test        Another folder for the environment: make VENV=... test

VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
STAMP := $(VENV)/.up-to-date
JOBS ?= auto

# pytest keeps what it made of each test file: without that, every run reads them all anew
export PYTHONDONTWRITEBYTECODE :=

GUARDS := tests/scenarios tests/protocols tests/tools tests/git tests/disk tests/merge/test_status.py
LAWS := tests/merge/test_laws.py tests/protocols/workflow/test_merge.py tests/protocols/skill/test_rotation.py \
  tests/tools/merges/test_judge.py tests/tools/merges/test_judge_own.py tests/tools/merges/test_repair.py
# Left out are the stories that start git, hooks and commands: three quarters of the time, and git's work.
WITH_PYTHON := tests/test_api.py tests/test_conformance.py tests/test_mergefile.py tests/core tests/disk tests/merge \
  tests/net tests/cli tests/packaging tests/architecture/test_import_budget.py tests/protocols/memory \
  tests/protocols/pipeline tests/protocols/skill tests/protocols/workflow tests/protocols/restore/mechanisms/test_sqlite.py \
  tests/tools/agents tests/tools/diff tests/tools/session tests/tools/status tests/tools/validate \
  tests/tools/doctor/test_driver_trial.py tests/hooks/test_commit.py tests/mcp/test_server.py
WITH_GIT := tests/git tests/hooks tests/scenarios/test_git_operations.py tests/scenarios/test_mergetool.py \
  tests/scenarios/test_met_conflicts.py tests/scenarios/test_repository_kinds.py tests/scenarios/test_hook_managers.py

.DEFAULT_GOAL := help
.PHONY: help test test-deep test-guards test-python test-git demo lint format types wheel-test release-check docs bench picture clean

help: ## this list
	@echo 'make WHAT, where WHAT is one of'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | while IFS='|' read -r name text; do \
	    printf '  %-12s %s\n' "$$name" "$$text"; done

test: $(STAMP) ## run the tests; TESTS='tests/merge tests/core' runs some, and takes any word of pytest
	@$(BIN)/python -m pytest -n $(JOBS) --costs $(TESTS)

test-deep: $(STAMP) ## run the long tests too: kills, laws at full count, growth, all agents; TESTS as above
	@$(BIN)/python -m pytest -n $(JOBS) --costs -m 'not wheel' --hypothesis-profile=deep $(TESTS)

test-guards: $(STAMP) ## of the long tests those that guard data: deaths, kills, fleets, laws on four times the histories
	@$(BIN)/python -m pytest -n $(JOBS) --costs -m deep $(GUARDS)
	@$(BIN)/python -m pytest -n $(JOBS) --costs -m 'hypothesis and not deep' --hypothesis-profile=ci $(LAWS)

test-python: $(STAMP) ## what can differ with the Python: imports, start-up, standard library; PYTHON=... VENV=... names one
	@$(BIN)/python -m pytest -n $(JOBS) --costs $(WITH_PYTHON)

test-git: $(STAMP) ## what can differ with the git: how we talk to it, hooks, drivers, kinds of repositories
	@$(BIN)/python -m pytest -n $(JOBS) --costs $(WITH_GIT)

demo: $(INSTALLED) ## two lines of work on one checkpoint, merged, guarded and resumed in a scratch repository
	@$(BIN)/python -m demo

lint: $(STAMP) ## ruff: rules and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(STAMP) ## let ruff rewrite what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(STAMP) ## mypy --strict, tests too
	@$(BIN)/mypy

wheel-test: $(STAMP) ## build the wheel, install it into a fresh environment, try it there
	@$(BIN)/python -m pytest -m wheel tests

release-check: ## whether what would be published is in order; nothing is uploaded
	@PYTHON='$(PYTHON)' .ci/make-venv '$(VENV)-release' # with the publishing action's tools, which the tests' ones exclude
	@.ci/make-venv '$(VENV)-release' release
	@.ci/release-check '$(VENV)-release'

docs: $(STAMP) ## the site with tutorial, how-to, reference and explanation, in docs/_build/html
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench: $(STAMP) ## the figures of docs/internals/figures.md, measured here
	@$(BIN)/python -m benchmarks.driver
	@$(BIN)/python -m benchmarks.commands
	@$(BIN)/python -m benchmarks.hooks

picture: $(STAMP) ## draw docs/picture.svg from a real run
	@$(BIN)/python -m docs.make_picture

clean: ## remove the environment, caches and build results
	@rm -rf $(VENV) $(VENV)-release dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml .ci/make-venv
	@PYTHON='$(PYTHON)' .ci/make-venv '$(VENV)'
	@touch $(INSTALLED)

$(STAMP): $(INSTALLED)
	@.ci/make-venv '$(VENV)' dev
	@touch $(STAMP)
