# `make help` lists the targets. The environment is made on first use.
PYTHON ?= python3
VENV := .venv
STUDY := $(VENV)/.study
STAMP := $(VENV)/.installed
CORES ?= all
TARGETS ?= # files to make; everything where none is named
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/sampled_metrics/__init__.py)
comma := ,
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

.DEFAULT_GOAL := help
.PHONY: help verify reproduce test test-long test-cluster test-pythons test-lowest test-recbole bench bench-large bench-peers exports coverage coverage-reported check-coverage llm estimators shapes power plans proxies verdicts audit claims price future literature kills fuzz mutants reference reference-ml-100k reference-global-time reference-ncf ways dist test-dist conda docs picture schema lock clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 19

# What the study needs; the plugin for clusters alone would make its start a quarter longer.
$(STUDY): requirements-study.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or later is needed, {sys.executable} is {sys.version.split()[0]}; name another one: make PYTHON=...")'
	$(PYTHON) -m venv --clear $(VENV)
	$(VENV)/bin/python -m pip install --quiet --require-hashes --requirement requirements-study.lock
	$(VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(VENV)/bin/python -m compileall -q src # as pip does with what it copies
	@touch $@

# And what tests, documentation, benchmarks and clusters need.
$(STAMP): $(STUDY) requirements.lock
	$(VENV)/bin/python -m pip install --quiet --require-hashes --requirement requirements.lock
	@touch $@

# Written if the publisher's server cannot be reached, and on no other failure.
UNREACHABLE := results/logs/fetch.log.unreachable

# A run that was killed leaves a lock. Only who started it can say that it is over.
LOCKED = echo 'If no run is active in this folder: $(VENV)/bin/snakemake --unlock; then make reproduce again.'
# On a terminal it shows its steps and a bar; all details are in .snakemake/log.
SNAKEMAKE = snakemake $$(test -t 2 && echo --logger=rich) --profile workflow/profiles/local --cores $(CORES)

reproduce: $(STUDY) ## run the study on config/config.yaml
	@rm -f $(UNREACHABLE)
	@$(SNAKEMAKE) $(TARGETS) || { test -e $(UNREACHABLE) \
	  && echo && echo 'GroupLens could not be reached: going on with the ranks of the reference run; nothing is trained.' && echo \
	  && $(SNAKEMAKE) $(TARGETS) --config ranks=reference; } \
	  || { test -z "$$(ls .snakemake/locks 2>/dev/null)" || $(LOCKED); exit 1; }
	@$(if $(TARGETS),:,echo; cat results/tables/exact.md; echo; sed -n 1$(comma)12p results/scorecard.md)

# Compiled modules are kept, or each of the commands that the tests start would compile its own.
test test-long: export PYTHONDONTWRITEBYTECODE :=

test: $(STAMP) ## lint, types and all tests but the long ones
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint types
	pytest -m "not long"

test-long: $(STAMP) ## the tests marked long: whole studies, processes, pages in a browser, the site, simulations
	pytest -m long

.PHONY: lint types
lint:
	ruff check
	ruff format --check
	snakefmt --check Snakefile workflow
	lint-imports
	snakemake --lint

types:
	mypy

# The lowest versions that pyproject.toml allows, with what plots and the proxy als need.
define LOWEST
import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
chosen = project["dependencies"] + extras["plot"] + [r for r in extras["study"] if r.startswith("implicit")]
print(*(r.replace(" >=", "==") for r in chosen), sep="\n")
endef
export LOWEST

# Old packages warn of what is deprecated in newer ones; nowhere else are warnings let through.
test-lowest: ## the library's tests in an environment of the lowest versions (Python 3.11)
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -c "$$LOWEST" > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --requirement .venv-lowest/lowest.txt \
	  hatchling hypothesis pytest pytest-xdist pytrec-eval-terrier scikit-learn
	.venv-lowest/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	PATH="$(CURDIR)/.venv-lowest/bin:$$PATH" pytest -W default src/sampled_metrics \
	  tests/golden $$(grep -L 'sampled_metrics_study\|import yaml\|def script' tests/unit/test_*.py tests/contract/test_*.py)

# Ways that take too long for the tests, or need more than they have. The table of all is tests/ways/ways.tsv.
WAYS ?= bench bench-large bench-peers exports coverage coverage-reported check-coverage llm estimators shapes power plans proxies audit claims price future literature verdicts kills fuzz mutants test-pythons test-lowest test-dist test-recbole
ways: $(STAMP) ## run the ways that the tests leave out, one after another
	@failed=; for way in $(WAYS); do echo "== make $$way"; $(MAKE) --no-print-directory $$way || failed="$$failed $$way"; done; \
	  if test -n "$$failed"; then echo "failed:$$failed"; exit 1; fi

test-pythons: $(STAMP) ## `make reproduce` and `make test` under each Python that is found, in copies of the files
	python -m tests.pythons

test-cluster: $(STAMP) ## the study on a SLURM started on this machine (Debian, root)
	python -m tests.cluster

bench: $(STAMP) ## write docs/measured/speed.md: time and memory of functions and commands
	python benchmarks/speed.py
	python benchmarks/cores.py

bench-large: $(STAMP) ## time and memory of the workflow at the size of MovieLens 1M, 10M and 20M
	python benchmarks/large.py

# Packages that evaluate, each in an environment of its own.
PEERS ?= cornac ranx pytrec_eval rectools recbole
PACKAGE_pytrec_eval := pytrec-eval-terrier
PACKAGE_rectools := --requirement benchmarks/exports/rectools.txt
PACKAGE_recbole := --requirement benchmarks/exports/recbole.txt
.venv-peers/%/.installed:
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet $(or $(PACKAGE_$*),$*)
	@touch $@
.PRECIOUS: .venv-peers/%/.installed

bench-peers: $(STAMP) $(PEERS:%=.venv-peers/%/.installed) ## write results/reference/peers.md: times of evaluations by this package and by others
	python benchmarks/peers.py $(foreach name,$(PEERS),$(name)=.venv-peers/$(name)/bin/python)

.venv-exports/%/.installed: benchmarks/exports/%.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --requirement $<
	@touch $@
.PRECIOUS: .venv-exports/%/.installed

PACKAGES ?= rectools recbole # whose exports to make
exports: $(STAMP) $(foreach name,$(PACKAGES),.venv-exports/$(name)/.installed) ## make the exports of RecTools and RecBole again (PyTorch), and compare them with those of the tests
	for name in $(PACKAGES); do \
	  .venv-exports/$$name/bin/python benchmarks/exports/export_$$name.py results/exports/$$name \
	  && python benchmarks/exports/compare.py results/exports/$$name tests/golden/peers/$$name || exit 1; done

# RecBole beside the package, in an environment of the versions that both allow.
.venv-recbole/.installed: benchmarks/exports/recbole.txt pyproject.toml
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --requirement $< pytest "pyarrow<24" "sampled-metrics @ file://$(CURDIR)"
	@touch $@

test-recbole: .venv-recbole/.installed ## test the metric for RecBole in the released package (PyTorch), and the page's loop of PyTorch
	PYTHONPATH="$(CURDIR)/src" .venv-recbole/bin/python -m pytest -q -c /dev/null --rootdir . --noconftest -p no:cacheprovider tests/recbole

coverage: $(STAMP) ## measure how often ranges and intervals hold what they should
	python benchmarks/coverage.py --experiments 400 --expectations 2000 --users 1000 \
	  --shapes non-increasing --negatives 10 100 500 --populations Z "100K BPR" "100K BM25" GMF
	python benchmarks/outside.py

.venv-mutants/.installed: tests/mutants/requirements.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --requirement $<
	@touch $@

SAMPLE ?= 160 # mutants, spread over the rooms
SEED ?= 0 # of their places
MODULE ?= # of this module only, below src/sampled_metrics
TESTS ?= # that are to notice the changes, below tests, instead of those of tests/mutants/tests.tsv
mutants: $(STAMP) .venv-mutants/.installed ## change the package in SAMPLE places drawn by SEED, one at a time, and show what no test notices (MODULE=, TESTS=)
	python -m tests.mutants .venv-mutants/bin/python --sample $(SAMPLE) --seed $(SEED) \
	  $(if $(strip $(MODULE)),--modules $(MODULE)) $(if $(strip $(TESTS)),--tests $(TESTS))

kills: $(STAMP) ## kill 25 small runs, unlock and finish each, and compare the results
	python -m benchmarks.kills

CALLS ?= 30000 # of the API
RUNS ?= 20000 # of commands
fuzz: $(STAMP) ## call the API with wrong values, and commands with damaged files, and show errors that are not one line (CALLS=, RUNS=)
	python -m benchmarks.fuzz --calls $(CALLS) --runs $(RUNS)

SEEDS ?= 5
verdicts: $(STAMP) ## measure how often pairs of recommenders are put in order, and wrongly
	python benchmarks/verdicts.py --seeds $(SEEDS)

coverage-reported: $(STAMP) ## measure how often ranges from printed numbers hold the exact value
	python benchmarks/reported.py

check-coverage: $(STAMP) ## measure how often planted errors are flagged by `check`, for docs/check.md
	python -m benchmarks.check

estimators: $(STAMP) ## measure how far estimators are from exact metrics, and where the number to quote fails
	python -m benchmarks.estimators
	python -m benchmarks.quoting

shapes: $(STAMP) ## measure the factor of the true ranks of real recommenders
	python benchmarks/shapes.py

power: $(STAMP) ## measure how often negatives that are not as stated are seen, and how often they could be
	python benchmarks/power.py

plans: $(STAMP) ## measure how often comparisons decide an order as `plan` promises
	python benchmarks/plans.py

proxies: $(STAMP) ## measure intervals of a budget with good, weak and useless proxies
	python benchmarks/proxies.py

llm: $(STAMP) ## compute what few candidates and small budgets leave, for docs/llm.md
	python -m benchmarks.llm

audit: $(STAMP) ## measure which reading of the paper gives which of its numbers (MOVIELENS_ARCHIVE)
	python -m sampled_metrics_study.audit

price: $(STAMP) ## count right orders of X, Y and Z by 100 scores per user (MOVIELENS_ARCHIVE)
	python benchmarks/price.py

future: $(STAMP) ## count training events that are later than held-out ones (MOVIELENS_ARCHIVE)
	python -m sampled_metrics_study.audit future

literature: $(STAMP) ## compute the ranges of the numbers in config/literature.csv for docs/atlas.html and docs/measured/literature.md
	python -m benchmarks.literature

ARCHIVE ?= # of MovieLens 1M
.PHONY: verify
verify: $(STUDY) ## say in one line whether the study of ARCHIVE gives the tables, figures and scorecard of the reference run
	@test -f '$(strip $(ARCHIVE))' || { echo 'name the archive of MovieLens 1M: make verify ARCHIVE=ml-1m.zip'; exit 2; }
	@rm -rf results/verify
	@MOVIELENS_ARCHIVE='$(abspath $(strip $(ARCHIVE)))' snakemake --cores $(CORES) --config results=results/verify \
	  > results/verify.log 2>&1 || { tail -n 20 results/verify.log; exit 1; }
	@python -m sampled_metrics_study.reference verify results/verify results/reference

reference: $(STAMP) ## run the study and keep its results in results/reference
	snakemake --cores $(CORES) results/ranks/X.parquet results/ranks/Y.parquet results/ranks/Z.parquet
	python -m sampled_metrics_study.claims.starts results results/reference
	snakemake --cores $(CORES)
	python -m sampled_metrics_study.reference keep results/reference/ranks results/ranks/*.parquet
	rm -rf results/reference/tables results/reference/figures
	cp -r results/tables results/figures results/reference/
	$(MAKE) picture
	cp results/scorecard.* results/ranges.csv results/provenance.json results/reference/
	$(MAKE) claims

claims: $(STAMP) ## measure the sentences of the paper on the study, for docs/measured/claims.md (MOVIELENS_ARCHIVE)
	snakemake --cores $(CORES)
	python -m sampled_metrics_study.claims.ledger results results/reference docs/measured/claims.md

reference-ml-100k: $(STAMP) ## the same for the study on MovieLens 100K
	snakemake --cores $(CORES) --configfile config/ml-100k.yaml
	python -m sampled_metrics_study.reference keep results/reference/ml-100k/ranks results/ml-100k/ranks/*.parquet
	rm -rf results/reference/ml-100k/tables
	cp -r results/ml-100k/tables results/ml-100k/provenance.json results/reference/ml-100k/

reference-global-time: $(STAMP) ## the same for the split of MovieLens 1M at one time
	snakemake --cores $(CORES) --configfile config/global-time.yaml
	python -m sampled_metrics_study.reference keep results/reference/global-time/ranks results/global-time/ranks/*.parquet

NCF ?= # folder of the published weights and negatives, see config/ncf.yaml
reference-ncf: $(STAMP) ## the same for the models of Neural Collaborative Filtering; NCF=FOLDER, MOVIELENS_ARCHIVE
	python -m sampled_metrics_study.ncf '$(NCF)' "$$MOVIELENS_ARCHIVE"
	snakemake --cores $(CORES) --configfile config/ncf.yaml
	python -m sampled_metrics_study.reference keep results/reference/ncf results/ncf/ranks/GMF.parquet results/ncf/ranks/MLP.parquet
	python benchmarks/gallery.py
	python -m sampled_metrics_study.reference gallery src/sampled_metrics_study/gallery results/reference

dist: $(STAMP) ## build the wheel and the source archive in dist/
	@mkdir -p dist
	python -m hatchling build --directory dist

# Tests of the library that read no other file of the repository. They are run in a folder that has none, from
# the source archive, with the wheel and with what it needs.
DIST_TESTS ?= $$(grep -L 'sampled_metrics_study\|ROOT' tests/unit/test_*.py tests/contract/test_*.py)
test-dist: dist ## install what `make dist` built in a fresh environment and test it without the repository
	rm -rf .venv-dist dist/unpacked
	$(PYTHON) -m venv .venv-dist
	mkdir dist/unpacked
	tar --extract --file dist/sampled_metrics-$(VERSION).tar.gz --directory dist/unpacked --strip-components 1
	rm -r dist/unpacked/src
	.venv-dist/bin/python -m pip install --quiet 'sampled-metrics[plot] @ file://$(CURDIR)/dist/sampled_metrics-$(VERSION)-py3-none-any.whl' \
	  hypothesis pytest pytest-xdist pytrec-eval-terrier scikit-learn
	cd dist/unpacked && PATH="$(CURDIR)/.venv-dist/bin:$$PATH" pytest -q $(DIST_TESTS)
	.venv-dist/bin/python -m pip install --quiet --force-reinstall --no-deps dist/sampled_metrics-$(VERSION).tar.gz
	.venv-dist/bin/sampled-metrics --version

conda: ## build the conda package of conda/meta.yaml in dist/conda, where conda-build is installed
	@if command -v conda-build > /dev/null; then \
	  VERSION=$(VERSION) conda-build conda --channel conda-forge --output-folder dist/conda; \
	else \
	  echo 'conda-build is not installed, so no conda package is built: conda install conda-build'; \
	fi

docs: $(STAMP) ## build the documentation in results/site, running its notebooks
	NO_MKDOCS_2_WARNING=1 mkdocs build

picture: $(STAMP) ## take the picture of the page (needs Chromium), and draw the leaderboard of the README
	python -m tests.browser.picture results/report.html results/reference/report.png
	python -m benchmarks.leaderboard results/reference

schema: $(STAMP) ## generate the schema of the configuration
	python -m sampled_metrics_study.reference schema workflow/schemas/config.schema.yaml

lock: ## pin all dependencies again (needs uv); then update environment.yml
	uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --all-extras \
	  --generate-hashes --no-emit-index-url --no-annotate \
	  --custom-compile-command 'make lock' --output-file requirements.lock pyproject.toml
	echo hatchling | uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 \
	  --extra study --extra terminal --constraint requirements.lock \
	  --generate-hashes --no-emit-index-url --no-annotate \
	  --custom-compile-command 'make lock' --output-file requirements-study.lock pyproject.toml -

clean: ## remove the environment and all results but the reference run
	rm -rf $(VENV) .venv-lowest .venv-dist .venv-recbole dist .venv-mutants .venv-peers .venv-exports .snakemake .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf $(filter-out results/reference,$(wildcard results/*))
