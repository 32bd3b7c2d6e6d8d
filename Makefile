# Two commands matter: `make demo` shows memfs at work, `make test` proves it. Both install what is missing.
.DEFAULT_GOAL := help
.PHONY: help setup tools demo test test-long check lint types house format bench-fs bench-pulls bench-server docs lock clean

export PYTHON ?= python3
bin := .venv/bin

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup:  ## make .venv, install the pinned packages, find libfuse 2 and fusermount
	@.ci/setup

demo: setup  ## two stores, two mounts, one embedded server: the main job, in under a minute
	@$(bin)/memfs demo

test: tools check  ## lint, types, layers and the whole test suite
	@$(bin)/python -m pytest -n 2 --dist loadgroup -m "not long"

test-long: tools check  ## the same with the long fault, kill and model tests
	@$(bin)/python -m pytest -n 2 --dist loadgroup --hypothesis-profile=long

tools: setup
	@.ci/test-tools

check: lint types house  ## what needs no running code

lint: setup
	@$(bin)/ruff check .
	@$(bin)/ruff format --check .

types: setup
	@$(bin)/mypy

house: setup
	@$(bin)/lint-imports --no-logo

format: setup  ## format and mend what ruff can mend
	@$(bin)/ruff check --fix .
	@$(bin)/ruff format .

bench-fs: setup  ## the mount beside ext4, bindfs and rclone over the same files, as ratios
	@.ci/bench-tools
	@$(bin)/python bench/filesystem.py
	@$(bin)/python bench/starting.py

bench-pulls: setup  ## how soon a remote edit, once applied, is seen through the mount
	@$(bin)/python bench/pulls.py

bench-server: tools  ## the store server beside a bare FastAPI endpoint, as ratios; listings and the feed's wake
	@$(bin)/python bench/server.py

docs: setup  ## write the generated pages again
	@$(bin)/python -m memfs.config.reference > docs/CONFIGURATION.md
	@$(bin)/typer memfs.cli.app utils docs --name memfs --title Commands | sed "s/&#x27;/'/g" > docs/COMMANDS.md

lock:  ## pin every dependency with its hashes (needs uv)
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --upgrade -q -o requirements.lock

clean:  ## remove what the other commands made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
