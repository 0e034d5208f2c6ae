# Choir's commands. `make run` and `make test` do all set-up by themselves.
.DEFAULT_GOAL := help
# Some fast tests of every feature: rules and services; what starts nodes, sandboxes and browsers is left to `make test`.
QUICK := $(addprefix tests/,foundation features \
	storage/test_tasks.py storage/test_outbox.py storage/test_migrations.py \
	objects/test_putting_and_reading.py objects/test_keeping.py objects/test_signatures.py \
	ledger/test_accounts.py ledger/test_entries.py ledger/test_holds.py ledger/test_notes.py \
	ledger/test_keys.py ledger/test_reading.py ledger/test_explaining.py ledger/test_deciding.py \
	identity/test_delegations.py identity/test_tokens.py identity/test_spending.py identity/test_phrases.py \
	identity/test_people_rules.py identity/test_clusters.py \
	bazaar/contracts bazaar/test_pricing.py bazaar/test_absences.py bazaar/test_summaries.py \
	bazaar/providers/test_assigning.py bazaar/providers/test_fallback.py bazaar/providers/test_registration.py \
	bazaar/verification/test_reading.py bazaar/verification/test_code_reading.py \
	bazaar/verification/test_versions.py bazaar/workers/test_profiles.py \
	sandbox/test_builders.py sandbox/test_files.py sandbox/test_seccomp.py sandbox/test_uids.py \
	auditor/test_rules.py auditor/test_receipts.py auditor/test_proofs.py \
	doors/test_cli_usage.py doors/test_cli_terminal.py doors/test_web_tokens.py doors/mesh/test_job_words.py)
.PHONY: help setup browser go run test test-deep quick lint format bench docs screenshots sbom lock clean

BIN := .venv/bin
# Some images forbid Python to keep what it compiled, and then every process that a test starts compiles it anew.
export PYTHONDONTWRITEBYTECODE :=

help: ## Show the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' Makefile

setup: ## Install what the project needs into .venv (done by the others too)
	@bash tools/setup.sh

run: setup ## Start a node with embedded defaults; Ctrl-C stops it
	@$(BIN)/choir up

browser: ## Install the browser that the tests need (done by `make test` too)
	@bash tools/setup_browser.sh

go: ## Install the Go toolchain that the deep tests need (done by `make test-deep` too)
	@bash tools/setup_go.sh

test: setup browser lint ## Run the checks and tests: every promise of every feature
	@$(BIN)/python -m pytest -n auto -m "not deep" $(ARGS)

test-deep: setup browser go ## Run what takes long: many kills, every byte, odd machines
	@CHOIR_TEST_DEEP=1 $(BIN)/python -m pytest -n auto -m "deep or scaled" $(ARGS)

quick: setup ## Run style and some fast tests of every feature, in under a minute
	@$(BIN)/ruff check .
	@$(BIN)/python -m pytest -n logical -q -m "not deep and not slow" $(QUICK) $(ARGS)

lint: setup ## Check style, types and layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache | tail -n 3

format: setup ## Rewrite the code in house style
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

bench: setup ## Measure, and write plots into docs/benchmarks.md (ARGS="ledger pages" for some)
	@$(BIN)/python tools/write_benchmarks.py $(ARGS)

docs: setup ## Write the generated parts of the documentation again, and the site into build/docs
	@$(BIN)/python tools/generate_docs.py
	@$(BIN)/python -m choir.doors.docs.site build/docs

screenshots: setup browser ## Take the pictures of the documentation again
	@$(BIN)/python tools/screenshots.py

sbom: setup ## Write a bill of materials (CycloneDX) into build
	@$(BIN)/python tools/sbom.py build/choir.cdx.json

lock: setup ## Resolve the dependencies anew (needs uv)
	uv pip compile --generate-hashes --no-header --python-version 3.11 --universal --extra dev pyproject.toml -o requirements.lock

clean: ## Remove what set-up and tests made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
