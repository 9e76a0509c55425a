import os
import re
import sys
import warnings
from copy import deepcopy
from functools import cache
from pathlib import Path

import yaml
from snakemake.utils import update_config

if " " in sys.executable:
    sys.exit(
        f"{sys.executable}: Snakemake cannot start scripts from a path with a blank; move this folder"
    )

# Snakemake computes the sizes of inputs that resources name. Where it writes a report it needs none,
# and drops the computation with a warning that no reader can act on.
warnings.filterwarnings("ignore", "coroutine 'InputFiles[.]_predicated_size", RuntimeWarning)

# The workflow runs the package of its own checkout, or the installed one if it is a remote module.
ROOT = Path(workflow.current_basedir, "../..").resolve()
if Path(ROOT, "src").is_dir():
    sys.path.insert(0, f"{ROOT}/src")
    search = [f"{ROOT}/src", os.environ.get("PYTHONPATH")]
    os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, search)))

from sampled_metrics import InputError
from sampled_metrics_study.config import (
    STORED_RANKS,
    REFERENCE,
    Study,
    departures,
    refuse_other_results,
    with_numbers,
)
from sampled_metrics_study.files import checksum
from sampled_metrics_study.steps import code_digest


def find_file(path):
    """Return a path in this folder; if it does not exist, the same file of the workflow."""
    is_shipped = str(path).startswith(("config/paper/", "results/reference/"))
    if not is_shipped or Path(path).exists():
        return path
    return str(ROOT / path) if ROOT.is_dir() else workflow.source_path(f"../../{path}")


# Studies in other folders, and studies that use this one as a module, set only what differs.
PAPERS = yaml.safe_load(Path(workflow.source_path("../../config/config.yaml")).read_text("utf-8"))
SETTINGS = deepcopy(PAPERS)
try:
    update_config(SETTINGS, config)
    STUDY = Study.of(with_numbers(SETTINGS), "config")
    refuse_other_results(STUDY)
except InputError as error:
    sys.exit(str(error))
except RecursionError:
    sys.exit("config: a list or mapping contains itself, or is nested too deeply")

# Parameters of rules come from here, so that a changed setting reruns the right steps.
config.update(STUDY.model_dump(mode="json", by_alias=True))

# Settings that differ from the paper's; if there is any, no published number is compared.
DEPARTURES = departures(STUDY, Study.of(PAPERS, "config"))


pathvars:
    results=config["results"],


wildcard_constraints:
    recommender="|".join(map(re.escape, STUDY.names)),


def scaled(base, per_mb):
    """Return a resource: a base, plus some for each MB of input, times the attempt."""
    return lambda wildcards, input, attempt: attempt * int(base + per_mb * input.size_mb)


def get_archive(wildcards):
    """Return the local archive, or nothing if it must be downloaded."""
    archive = STUDY.dataset.archive or os.environ.get("MOVIELENS_ARCHIVE") or []
    if archive and not os.path.exists(archive):  # false for a link to itself as well
        sys.exit(f"{archive}: no such file; expected a local archive of MovieLens")
    return archive


def get_recommender(wildcards):
    """Return kind and settings of a recommender."""
    return STUDY.recommender(wildcards.recommender).as_trained()


def get_external_file(wildcards):
    """Return the file of an external recommender; it exists, or another rule makes it."""
    recommender = STUDY.recommender(wildcards.recommender)
    if recommender.kind != "external":
        return []
    path = recommender.settings.path
    if not Path(path).exists() and not any(one.is_producer(path) for one in workflow.rules):
        sys.exit(recommender.settings.missing())
    return path


@cache
def sha256(path):
    """Return the checksum of a file; None if it is missing, which Snakemake reports itself."""
    return checksum(path) if Path(path).is_file() else None


# A step that fails loses its results, and Snakemake does not notice missing intermediate files if later
# results exist. So each rule has everything upstream as a parameter.
def get_data(wildcards):
    """Return what the split depends on: settings, and checksums of existing files."""
    files = STUDY.events
    if STUDY.dataset.is_movielens:
        files = [get_archive(wildcards)] if get_archive(wildcards) else []
    settings = {name: config[name] for name in ("dataset", "filters", "split")}
    return {**settings, "sha256": list(map(sha256, files))}


def get_source(wildcards):
    """Return what the ranks of a recommender depend on."""
    recommender = STUDY.recommender(wildcards.recommender)
    files = [recommender.settings.path] if recommender.kind == "external" else []
    return {"data": get_data(wildcards), "sha256": list(map(sha256, files))}


def get_origin(wildcards):
    """Return what all ranks depend on; nothing if they are those of the reference run."""
    if STUDY.ranks == "reference":
        return None
    files = [one.settings.path for one in STUDY.recommenders if one.kind == "external"]
    return {
        "code": code_digest("ranking"),
        "data": get_data(wildcards),
        "recommenders": [one.as_trained() for one in STUDY.recommenders],
        "ranking": config["ranking"],
        "sha256": list(map(sha256, files)),
    }


RANKS = [find_file(f"{STUDY.folder_of_ranks}/{name}.parquet") for name in STUDY.names]
# Inputs that belong to the paper's study; empty lists in others.
PUBLISHED = [] if DEPARTURES else find_file(STUDY.scorecard.published)
BAND = [] if DEPARTURES else find_file(STUDY.scorecard.band)  # Figure 6 of other starts of X
AUDIT = [find_file(f"{REFERENCE}/audit.csv")] if STUDY.is_papers_data else []
STORED = [find_file(f"{REFERENCE}/{name}.parquet") for name in STORED_RANKS if STUDY.is_papers_data]
