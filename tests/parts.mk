# The parts of `make test-all`, each also a target. A part whose packages are not in the lock file has its
# own environment, .venv-PART.
ALL_PARTS := long robustness wheel lowest docs engines recbole cluster
.PHONY: $(ALL_PARTS:%=test-%) mutants

# Tests marked long: whole studies, processes, pages in a browser, the site, simulations.
test-long: $(INSTALLED)
	pytest -m long

# Wrong values, damaged files and killed runs. Wrong values of other packages are part of `engines`.
test-robustness: $(INSTALLED)
	pytest --dist=load -m long tests/robustness
	python -m tests.robustness.kills

# LIBRARY_TESTS: tests of the library that need neither the study nor the documents. ALONE: those of them that read
# no other file of the repository.
OF_THE_STUDY := sampled_metrics_study|(from|import) (benchmarks|tests\.(browser|helpers\.(environments|interactions)|parts|pythons|robustness|study|workflow)|yaml)|def script|CONTRIBUTING
OF_THE_LIBRARY := base read refusals ranks metrics sampling estimators intervals evaluation printed budget pages cli contract engines project
LIBRARY_FILES = $(OF_THE_LIBRARY:%=tests/%/test_*.py)
LIBRARY_TESTS = $$(grep -LE '$(OF_THE_STUDY)' $(LIBRARY_FILES))
ALONE = $$(grep -LE '$(OF_THE_STUDY)|ROOT' $(LIBRARY_FILES))

# The wheel of `make dist`, without the repository: that all files are there and found. Long tests, of what the code
# does, are run by the parts `long` and `lowest`.
WHEEL = dist/sampled_metrics-$(VERSION)-py3-none-any.whl
test-wheel: dist
	rm -rf .venv-wheel dist/unpacked
	$(PYTHON) -m venv .venv-wheel
	mkdir dist/unpacked
	tar --extract --file dist/sampled_metrics-$(VERSION).tar.gz --directory dist/unpacked --strip-components 1
	rm -r dist/unpacked/src
	.venv-wheel/bin/python -m pip install --quiet --no-compile 'sampled-metrics[plot] @ file://$(CURDIR)/$(WHEEL)' \
	  hypothesis pytest pytest-xdist pytrec-eval-terrier scikit-learn
	cd dist/unpacked && PATH="$(CURDIR)/.venv-wheel/bin:$$PATH" pytest -q -m "not long" $(ALONE)
	.venv-wheel/bin/python -m pip install --quiet --force-reinstall --no-deps dist/sampled_metrics-$(VERSION).tar.gz
	.venv-wheel/bin/sampled-metrics --version

# The library's tests with the lowest versions that pyproject.toml allows; all of these exist for Python 3.11.
define LOWEST
import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
chosen = project["dependencies"] + extras["plot"] + [r for r in extras["study"] if r.startswith("implicit")]
print(*(r.replace(" >=", "==") for r in chosen), sep="\n")
endef
export LOWEST

# Old packages warn of deprecations in newer ones; in all other parts, warnings are errors.
test-lowest:
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -c "$$LOWEST" > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --no-compile --requirement .venv-lowest/lowest.txt \
	  hatchling hypothesis pytest pytest-xdist pytrec-eval-terrier scikit-learn
	.venv-lowest/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	PATH="$(CURDIR)/.venv-lowest/bin:$$PATH" pytest -W default src/sampled_metrics tests/golden $(LIBRARY_TESTS)

test-docs: docs

# Arrays of PyTorch, bfloat16, Dask, Ray and Spark (which needs a Java runtime), and data of polars, ranx and xarray;
# also as wrong values. A second run of pytest needs a report of its own, as it would overwrite that of the first.
test-engines: tests/engines/requirements.txt requirements.lock
	$(PYTHON) -m venv --clear .venv-engines
	.venv-engines/bin/python -m pip install --quiet --no-compile --requirement requirements.lock
	.venv-engines/bin/python -m pip install --quiet --no-compile --requirement tests/engines/requirements.txt
	.venv-engines/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	PATH="$(CURDIR)/.venv-engines/bin:$$PATH" pytest \
	  $$(grep -l 'torch\|ml_dtypes\|dask\|pyspark\|polars\|ranx' $(LIBRARY_FILES))
	PYTEST_ADDOPTS="$(PYTEST_ADDOPTS:.xml=-robustness.xml)" PATH="$(CURDIR)/.venv-engines/bin:$$PATH" \
	  pytest --dist=load -m long tests/robustness -k function

# The metric for RecBole in the released package, and the documented PyTorch loop.
test-recbole: tests/recbole/requirements.txt pyproject.toml
	$(PYTHON) -m venv --clear .venv-recbole
	.venv-recbole/bin/python -m pip install --quiet --no-compile --requirement $< pytest "pyarrow<24" "sampled-metrics @ file://$(CURDIR)"
	PYTHONPATH="$(CURDIR)/src" .venv-recbole/bin/python -m pytest -q -c /dev/null --rootdir . --noconftest -p no:cacheprovider tests/recbole

# The study on a SLURM of two virtual nodes, started on this machine (Debian, root), while some jobs fail.
CLUSTER ?= --small --if-possible # nothing, for the study of MOVIELENS_ARCHIVE
test-cluster: $(INSTALLED)
	python -m tests.cluster $(CLUSTER)

# Before a release: change the code in SAMPLE places drawn by SEED, one at a time, and show what no test detects.
SAMPLE ?= 160
SEED ?= 0
MODULE ?= # only these modules, below src/
TESTS ?= # paths of tests that should detect the changes; by default all
mutants: $(INSTALLED)
	$(PYTHON) -m venv --clear .venv-mutants
	.venv-mutants/bin/python -m pip install --quiet --no-compile --requirement tests/mutants/requirements.txt
	python -m tests.mutants .venv-mutants/bin/python --sample $(SAMPLE) --seed $(SEED) \
	  $(if $(strip $(MODULE)),--modules $(MODULE)) $(if $(strip $(TESTS)),--tests $(TESTS))
