# `make help` lists the targets. The environment is created on first use.
SHELL := bash
PYTHON ?= python3
VENV := .venv
# Packages of the study; then those of tests, documentation, measurements and clusters as well.
STUDY_INSTALLED := $(VENV)/.study
INSTALLED := $(VENV)/.installed
CORES ?= all
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/sampled_metrics/__init__.py)
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# Ignore Python options that the user has set for other programs. Tests use PYTHONPATH to select a copy of the code.
unexport $(filter-out PYTHON PYTHONPATH,$(filter PYTHON%,$(.VARIABLES)))

.DEFAULT_GOAL := help
.PHONY: help reproduce verify test test-all docs bench measure quote dist reference lock schema clean

help: ## list these targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 11

# Show the names of packages as pip collects them. It takes a minute, and pip itself prints nothing or too much.
SHOW_NAMES = awk '/^Collecting/ { sub("==.*", ""); printf "%s ", $$2 } /^Installing/ { print "" } { fflush() }'
# Modules are compiled when they are first imported, as most never are; to compile all takes 17 seconds.
PIP = set -o pipefail; $(VENV)/bin/python -m pip install --progress-bar off --no-compile --require-hashes

$(STUDY_INSTALLED): requirements-study.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"{sys.executable} is Python {sys.version.split()[0]}, but 3.11 or later is needed; choose another one: make PYTHON=...")'
	@echo 'Installing packages in $(VENV): about a minute, 750 MB'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) --requirement requirements-study.lock | $(SHOW_NAMES)
	@$(VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@$(VENV)/bin/python -m compileall -q src # as pip does for installed packages
	@touch $@

# Not part of the study's packages: the plugin for clusters would make its start a quarter longer.
$(INSTALLED): $(STUDY_INSTALLED) requirements.lock
	@echo 'Installing packages for tests and documentation in $(VENV): about a minute'
	@$(PIP) --requirement requirements.lock | $(SHOW_NAMES)
	@touch $@

# Exists if the publisher's server could not be reached, and after no other failure.
UNREACHABLE := results/logs/fetch.log.unreachable
# A killed run leaves a lock. Only its user knows that it is over.
LOCKED = echo 'If no run is active in this directory, run $(VENV)/bin/snakemake --unlock, then make reproduce again.'
# On a terminal Snakemake shows its steps and a bar; all details are in .snakemake/log.
SNAKEMAKE = snakemake $$(test -t 2 && echo --logger=rich) --profile workflow/profiles/local --cores $(CORES)

TARGETS ?= # files to make; by default everything
reproduce: $(STUDY_INSTALLED) ## make every table and figure from MovieLens 1M: half a minute
	@rm -f $(UNREACHABLE)
	@$(SNAKEMAKE) $(TARGETS) || { test -e $(UNREACHABLE) \
	  && echo && echo 'GroupLens could not be reached: going on with the ranks of the reference run; nothing is trained.' && echo \
	  && $(SNAKEMAKE) $(TARGETS) --config ranks=reference; } \
	  || { test -z "$$(ls .snakemake/locks 2>/dev/null)" || $(LOCKED); exit 1; }
	@$(if $(TARGETS),:,echo; python -m sampled_metrics_study.summary results)

ARCHIVE ?= # of MovieLens 1M
verify: ## compare a run on your copy of MovieLens 1M: ARCHIVE=ml-1m.zip
	@test -f '$(strip $(ARCHIVE))' || { echo 'no such archive of MovieLens 1M; run make verify ARCHIVE=ml-1m.zip'; exit 2; }
	@$(MAKE) --no-print-directory $(STUDY_INSTALLED)
	@rm -rf results/verify
	@MOVIELENS_ARCHIVE='$(abspath $(strip $(ARCHIVE)))' snakemake --cores $(CORES) --config results=results/verify \
	  > results/verify.log 2>&1 || { tail -n 20 results/verify.log; exit 1; }
	@python -m sampled_metrics_study.reference verify results/verify results/reference

test: $(INSTALLED) ## check style and types, and run 6,000 tests: two minutes
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint types
	pytest -m "not long"

.PHONY: lint types
lint:
	ruff check
	ruff format --check
	snakefmt --check Snakefile workflow
	lint-imports
	snakemake --lint

types:
	mypy

-include tests/parts.mk
PARTS ?= $(ALL_PARTS)
test-all: $(INSTALLED) ## run all other tests, also of browsers and SLURM: half an hour
	@python -m tests.parts $(PARTS)

docs: $(INSTALLED) ## build the documentation in results/site
	NO_MKDOCS_2_WARNING=1 mkdocs build

bench: ## measure the time and memory of functions and commands
	@$(MAKE) --no-print-directory measure PAGE='speed cores'

PAGE ?= # of docs/measured
LIST ?= # anything, to list the pages
measure: $(INSTALLED) ## repeat a page of docs/measured: PAGE=estimators; list them: LIST=1
	python -m benchmarks.measure $(if $(strip $(LIST)),--list,$(PAGE))

quote: $(INSTALLED) ## write numbers into README and docs from the files of results
	python -m benchmarks.quote

dist: $(INSTALLED) ## build the wheel and the source archive in dist/
	@mkdir -p dist
	python -m hatchling build --directory dist

STUDY ?= paper # or ml-100k, global-time, ncf
NCF ?= # folder of the published weights and negatives, see config/ncf.yaml
reference: $(INSTALLED) ## update results/reference: STUDY=paper, ml-100k, global-time, ncf
	@$(MAKE) --no-print-directory reference-$(strip $(STUDY))

.PHONY: reference-paper reference-ml-100k reference-global-time reference-ncf
STORE = python -m sampled_metrics_study.reference store
reference-paper:
	snakemake --cores $(CORES) results/ranks/X.parquet results/ranks/Y.parquet results/ranks/Z.parquet
	python -m sampled_metrics_study.claims.starts results results/reference
	snakemake --cores $(CORES)
	$(STORE) results/reference/ranks results/ranks/*.parquet
	rm -rf results/reference/tables results/reference/figures
	cp -r results/tables results/figures results/reference/
	cp results/scorecard.* results/ranges.csv results/provenance.json results/reference/
	python -m tests.browser.picture results/report.html results/reference/report.png # needs Chromium
	python -m benchmarks.leaderboard results/reference
	python -m sampled_metrics_study.reference slope results/reference
	python -m sampled_metrics_study.reference lens results/reference
	python -m sampled_metrics_study.claims.ledger results results/reference docs/measured/claims.md

reference-ml-100k:
	snakemake --cores $(CORES) --configfile config/ml-100k.yaml
	$(STORE) results/reference/ml-100k/ranks results/ml-100k/ranks/*.parquet
	rm -rf results/reference/ml-100k/tables
	cp -r results/ml-100k/tables results/ml-100k/provenance.json results/reference/ml-100k/

reference-global-time:
	snakemake --cores $(CORES) --configfile config/global-time.yaml
	$(STORE) results/reference/global-time/ranks results/global-time/ranks/*.parquet

reference-ncf:
	python -m sampled_metrics_study.ncf '$(NCF)' "$$MOVIELENS_ARCHIVE"
	snakemake --cores $(CORES) --configfile config/ncf.yaml
	$(STORE) results/reference/ncf results/ncf/ranks/GMF.parquet results/ncf/ranks/MLP.parquet
	python -m sampled_metrics_study.published_negatives

UV_LOCK = uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-annotate --custom-compile-command 'make lock'
lock: ## update all pinned dependencies (needs uv)
	@command -v uv > /dev/null || { echo 'uv is not installed: pip install uv'; exit 2; }
	$(UV_LOCK) --all-extras --output-file requirements.lock pyproject.toml
	echo hatchling | $(UV_LOCK) --extra study --extra terminal --constraint requirements.lock \
	  --output-file requirements-study.lock pyproject.toml -

schema: $(INSTALLED) ## generate the schema of the configuration
	python -m sampled_metrics_study.reference schema workflow/schemas/config.schema.yaml

clean: ## remove the environments and all results except the reference run
	rm -rf .venv .venv-* dist .snakemake .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf $(filter-out results/reference,$(wildcard results/*))
