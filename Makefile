# `make help` lists the targets. The environment is made on first use.
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed
CORES ?= all
TARGETS ?= # files to make; everything where none is named
comma := ,
SMALL ?= # 1 for the synthetic study only
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

.DEFAULT_GOAL := help
.PHONY: help reproduce test test-cluster peers bench-peers bench bench-large coverage verdicts kills mutants reference reference-ml-100k reference-global-time reference-ncf dist docs picture graph schema lock clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 19

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or later is needed, {sys.executable} is {sys.version.split()[0]}; name another one: make PYTHON=...")'
	$(PYTHON) -m venv --clear $(VENV)
	$(VENV)/bin/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Written if the publisher's server cannot be reached, and on no other failure.
UNREACHABLE := results/logs/fetch.log.unreachable

# A run after one that was killed makes again what that left unfinished.
# On a terminal it shows its steps and a bar; all details are in .snakemake/log.
SNAKEMAKE = snakemake $$(test -t 2 && echo --logger=rich) --profile workflow/profiles/local --cores $(CORES)

reproduce: $(STAMP) ## run the study on config/config.yaml
	@rm -f $(UNREACHABLE)
	@sampled-metrics study unlock
	@$(SNAKEMAKE) $(TARGETS) || { test -e $(UNREACHABLE) \
	  && echo && echo 'GroupLens could not be reached: going on with the ranks of the reference run; nothing is trained.' && echo \
	  && $(SNAKEMAKE) $(TARGETS) --config ranks=reference; }
	@$(if $(TARGETS),:,echo; cat results/tables/exact.md; echo; sed -n 1$(comma)12p results/scorecard.md)

test: $(STAMP) ## lint, types and tests, as in continuous integration
	ruff check
	ruff format --check
	snakefmt --check Snakefile workflow
	mypy
	lint-imports
	snakemake --lint
	pytest

test-cluster: $(STAMP) ## the study on a SLURM started on this machine (Debian, root); SMALL=1 without MovieLens
	python -m tests.cluster $(if $(SMALL),--small)

.venv-%/.installed: tests/peers/%.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --requirement $<
	@touch $@

peers: $(STAMP) .venv-rectools/.installed .venv-recbole/.installed ## export again from RecTools and RecBole and compare (downloads PyTorch)
	RECTOOLS_PYTHON=.venv-rectools/bin/python RECBOLE_PYTHON=.venv-recbole/bin/python pytest tests/unit/test_peer_exports.py

PEERS := cornac pytrec_eval ranx recbole rectools
bench-peers: $(STAMP) $(PEERS:%=.venv-%/.installed) ## time evaluations by other packages beside ours (downloads PyTorch)
	python tests/benchmarks/peers.py $(foreach peer,$(PEERS),$(peer)=.venv-$(peer)/bin/python)

bench: $(STAMP) ## time and memory of commands and stages, size and speed of the page
	python tests/benchmarks/own.py
	python tests/benchmarks/stages.py
	python tests/benchmarks/page.py

bench-large: $(STAMP) ## time and memory of reading, splitting and ranking large datasets, and of estimators
	python tests/benchmarks/large.py
	python tests/benchmarks/sizes.py

coverage: $(STAMP) ## measure how often ranges and intervals hold what they should
	python tests/benchmarks/coverage.py

.venv-mutants/.installed: tests/mutants/requirements.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --requirement $<
	@touch $@

MODULES ?= # such as inference/moments.py; all where none is named
SAMPLE ?= 200 # mutants, spread over the code; nothing for all of them, which takes days
mutants: $(STAMP) .venv-mutants/.installed ## change the code in one place at a time and list what no test notices
	python -m tests.mutants --tools .venv-mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(MODULES)

kills: $(STAMP) ## kill 25 small runs, finish each by one command, and compare the results
	python -m tests.benchmarks.kills

SEEDS ?= 50
verdicts: $(STAMP) ## measure how often pairs of recommenders are put in order, and wrongly
	python tests/benchmarks/verdicts.py --seeds $(SEEDS)

reference: $(STAMP) ## run the study and keep its results in results/reference
	snakemake --cores $(CORES) spread
	cp results/spread.csv results/starts.csv results/band.csv results/reference/
	snakemake --cores $(CORES)
	snakemake --cores $(CORES) audit
	sampled-metrics study reversal results/ranks/*.parquet --output results/reference/reversal.png
	sampled-metrics study reference results/ranks/*.parquet --output results/reference/ranks
	rm -rf results/reference/tables results/reference/figures
	cp -r results/tables results/figures results/reference/
	$(MAKE) picture
	cp results/scorecard.* results/claims.* results/audit.* results/ranges.csv results/provenance.json results/reference/

reference-ml-100k: $(STAMP) ## the same for the study on MovieLens 100K
	snakemake --cores $(CORES) --configfile config/ml-100k.yaml
	sampled-metrics study reference results/ml-100k/ranks/*.parquet --output results/reference/ml-100k/ranks
	rm -rf results/reference/ml-100k/tables
	cp -r results/ml-100k/tables results/ml-100k/provenance.json results/reference/ml-100k/

reference-global-time: $(STAMP) ## the same for the split of MovieLens 1M at one time
	snakemake --cores $(CORES) --configfile config/global-time.yaml
	sampled-metrics study reference results/global-time/ranks/*.parquet --output results/reference/global-time/ranks

NCF ?= # folder of the published weights and negatives, see config/ncf.yaml
reference-ncf: $(STAMP) ## the same for the models of Neural Collaborative Filtering; NCF=FOLDER, MOVIELENS_ARCHIVE
	python tests/benchmarks/ncf.py '$(NCF)' "$$MOVIELENS_ARCHIVE"
	snakemake --cores $(CORES) --configfile config/ncf.yaml
	sampled-metrics study reference results/ncf/ranks/GMF.parquet results/ncf/ranks/MLP.parquet --output results/reference/ncf
	sampled-metrics study reference --sampled results/ncf/negatives/*.parquet --output results/reference/ncf
	cp results/ncf/negatives/*.csv results/ncf/negatives/negatives.md results/reference/ncf/

dist: $(STAMP) ## build the wheel and the source archive in dist/
	@mkdir -p dist
	python -c 'from flit_core import buildapi; buildapi.build_wheel("dist"); buildapi.build_sdist("dist")'

docs: $(STAMP) ## build the documentation in results/site, running its notebooks
	NO_MKDOCS_2_WARNING=1 mkdocs build

graph: $(STAMP) ## draw the rules for the page (needs Graphviz and GNU sed), after a rule was added
	python -m tests.workflow.graph > workflow/rulegraph.dot
	tred workflow/rulegraph.dot | dot -Tsvg | sed -z 's/<!--[^>]*-->\n//g' > workflow/rulegraph.svg

picture: $(STAMP) ## take the picture of the page in the README (needs Chromium)
	python -m tests.browser.picture results/report.html results/reference/report.png

schema: $(STAMP) ## generate the schema and the table of the configuration
	sampled-metrics study schema --schema workflow/schemas/config.schema.yaml --readme config/README.md

lock: ## pin all dependencies again (needs uv); then update environment.yml
	uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --all-extras \
	  --generate-hashes --no-emit-index-url --no-annotate \
	  --custom-compile-command 'make lock' --output-file requirements.lock pyproject.toml

clean: ## remove the environment and all results but the reference run
	rm -rf $(VENV) .venv-mutants $(PEERS:%=.venv-%) .snakemake .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf $(filter-out results/reference,$(wildcard results/*))
