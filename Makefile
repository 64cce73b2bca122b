# The newcomer's two commands are `make demo` and `make test`; both set up what is missing first.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
# Images of Python often set it. Then each of the thousand processes compiles all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'

.PHONY: setup
setup: ## Install what is missing: system packages, .venv, Kafka, versitygw (part of each target that needs it)
	@deploy/setup.sh

.PHONY: demo
demo: setup ## Two regions on this machine mirror a year of real flights, and every record is checked
	@$(BIN)/python -m deploy.lab.demo

# Live tests wait more than they compute: more of them run at once than there are cores.
LIVE := $(BIN)/pytest -q --dist loadfile --no-loadscope-reorder --reruns 1 -rR

.PHONY: test
test: check core ## Check, then the live core

.PHONY: check
check: setup ## Format, lint, types, import contracts, unit tests: minutes, no servers
	@$(MAKE) --no-print-directory -j 2 lint unit

.PHONY: lint
lint: # Part of check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Each process collects all tests: 7 CPU seconds, 17 in a new checkout. One more than there are cores
# computes while another waits.
.PHONY: unit
unit: # Part of check
	$(BIN)/pytest -q -n 3 --dist worksteal --ignore=tests/live

.PHONY: core
core: setup ## Each rule and record shape, and the commands, once against real servers
	$(LIVE) -n 4 -m 'core and not soak' tests/live

.PHONY: live
live: setup ## All tests against real servers, those of the core included
	$(LIVE) -n 4 -m 'not soak and not drill' tests/live

.PHONY: rest
rest: setup ## Live tests that are not in the core (CI runs them behind `make test`)
	$(LIVE) -n 4 -m 'not core and not soak and not drill' tests/live

.PHONY: drills
drills: setup ## Lose whole regions under load, fail over and back, and account for every record
	$(BIN)/pytest -q --reruns 1 -rR -m drill tests/live

.PHONY: soak
soak: setup ## Kill and pause everything for hours, and count the records afterwards
	$(BIN)/python -m bench.simulation --minutes 60
	$(BIN)/pytest -q -n 2 --ignore=tests/live --hypothesis-profile thorough
	$(BIN)/pytest -q -m soak tests/live
	$(BIN)/python -m bench.campaign --min-isr 2
	$(BIN)/python -m bench.campaign --min-isr 1
	$(BIN)/python -m bench.feed_campaign

.PHONY: bench
bench: setup ## Measure Sluice and its rivals: mirroring, failover, ClickHouse, upsert tables, objects
	$(BIN)/python -m bench
	$(BIN)/pip install --quiet --disable-pip-version-check --no-cache-dir -r bench/requirements.txt
	$(BIN)/python -m bench.feeds
	$(BIN)/python -m bench.upsert
	$(BIN)/python -m bench.rivals
	$(BIN)/python -m bench.object_feeds

.PHONY: pictures
pictures: setup ## Draw the pictures of the console in docs/pictures anew, from one recording
	$(BIN)/python -m deploy.pictures

.PHONY: lab
lab: setup ## Start two regions of real servers and leave them running
	$(BIN)/python -m deploy.lab up

.PHONY: lab-down
lab-down: ## End the servers that `make lab` started
	@$(BIN)/python -m deploy.lab down

.PHONY: clean
clean: ## End the lab, remove its data and all caches (keeps .venv, Kafka, versitygw)
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m deploy.lab down; fi
	rm -rf .lab/run .lab/demo .lab/go .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build *.egg-info
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
