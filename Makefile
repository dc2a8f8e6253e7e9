# Every target sets up what it needs, in .venv of this folder.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
unexport PYTHONDONTWRITEBYTECODE  # every worker would rewrite the assertions of all tests again
TEST := $(BIN)/python -m pytest --dist loadgroup -n

.PHONY: help demo test test-more test-model test-adapters test-interop check bench soak picture clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/.runs: pyproject.toml constraints.txt scripts/setup
	@scripts/setup run

.venv/.tests: pyproject.toml constraints.txt scripts/setup
	@scripts/setup dev

demo: .venv/.runs ## A tour: a list is written, worked through and completed (offline, no key)
	@$(BIN)/headway demo

test: .venv/.tests ## Run the tests
	@$(TEST) 3

test-more: .venv/.tests ## Run the tests that make test leaves out: more of the browser, terminals, slow cases
	@$(TEST) 3 -m "more and not smoke and not slow"

test-model: .venv/.tests ## Ask a small real model, served on this machine, through the provider path
	@scripts/test-model

test-adapters: .venv/.tests ## Test the adapters against the frameworks themselves, in an environment for each
	@scripts/test-adapters $(ONLY)

test-interop: .venv/.tests ## Test with the programs of other agents, offline: Claude Code
	@scripts/test-interop

check: .venv/.tests ## Lint, types, layers, file sizes and names
	@$(BIN)/ruff check src tests bench scripts
	@$(BIN)/ruff format --check src tests bench scripts
	@$(BIN)/pyright
	@$(BIN)/python scripts/check_examples.py
	@$(BIN)/lint-imports
	@$(BIN)/python scripts/check_sizes.py
	@$(BIN)/python scripts/check_names.py

bench: .venv/.tests ## Measure speed as ratios, side by side in one run
	@$(BIN)/python -m bench

soak: .venv/.tests ## The full counts: endurance tests, properties with all their examples, all sessions on disk (about 15 minutes)
	@$(TEST) 2 -m slow
	@HEADWAY_TESTS=full $(TEST) 2 -m "(hypothesis or full) and not slow"
	@HEADWAY_TESTS=disk $(TEST) 2 tests/agent tests/core tests/execute tests/tools/todos

picture: .venv/.tests ## Redraw the README's picture
	@$(BIN)/python scripts/picture.py

clean: ## Remove what the targets made
	rm -rf .venv .venv-adapters .bench build dist .coverage .hypothesis
