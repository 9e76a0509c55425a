import os
import re
import sys
from copy import deepcopy
from functools import cache
from pathlib import Path

import yaml
from snakemake.utils import update_config

if " " in sys.executable:
    sys.exit(
        f"{sys.executable}: Snakemake starts no script by a path with a blank; move this folder"
    )

# The workflow runs the package of its own checkout; used as a module from afar, the installed one.
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


def own(path):
    """The file of this folder, or else the one that comes with the workflow."""
    shipped = str(path).startswith(("config/paper/", "results/reference/"))
    if not shipped or Path(path).exists():
        return path
    return str(ROOT / path) if ROOT.is_dir() else workflow.source_path(f"../../{path}")


# A study in another folder, or that uses this one as a module, sets only what differs.
PAPERS = yaml.safe_load(Path(workflow.source_path("../../config/config.yaml")).read_text("utf-8"))
SETTINGS = deepcopy(PAPERS)
try:
    update_config(SETTINGS, config)
    STUDY = Study.of(with_numbers(SETTINGS), "config")
    refuse_other_results(STUDY)
except InputError as error:
    sys.exit(str(error))
except RecursionError:
    sys.exit("config: lists or mappings within themselves, or in too many others")

# Rules take their parameters from here, so that a changed setting makes the right steps again.
config.update(STUDY.model_dump(mode="json", by_alias=True))

# Settings that are not the paper's; with any, no published number stands beside ours.
DEPARTURES = departures(STUDY, Study.of(PAPERS, "config"))


pathvars:
    results=config["results"],


wildcard_constraints:
    recommender="|".join(map(re.escape, STUDY.names)),


def scaled(base, per_mb):
    """A resource: a base and more for each MB of the inputs, times the attempt."""
    return lambda wildcards, input, attempt: attempt * int(base + per_mb * input.size_mb)


def get_archive(wildcards):
    """A local archive, which is not downloaded."""
    archive = STUDY.dataset.archive or os.environ.get("MOVIELENS_ARCHIVE") or []
    if archive and not os.path.exists(archive):  # also of a link to itself
        sys.exit(f"{archive}: no such file; expected a local archive of MovieLens")
    return archive


def get_recommender(wildcards):
    """Kind and settings of a recommender."""
    return STUDY.recommender(wildcards.recommender).as_trained()


def get_file_made_elsewhere(wildcards):
    """Ranks or scores that are not computed here, by another rule of a workflow or by nobody yet."""
    recommender = STUDY.recommender(wildcards.recommender)
    if recommender.kind != "external":
        return []
    path = recommender.settings.path
    if not Path(path).exists() and not any(one.is_producer(path) for one in workflow.rules):
        sys.exit(recommender.settings.missing())
    return path


@cache
def sha256(path):
    """The checksum of a file; none of one that is missing, which Snakemake says itself."""
    return checksum(path) if Path(path).is_file() else None


# A step that fails loses its results, and Snakemake does not look for files that are missing between
# those asked for and those that are there. So all that is upstream is a parameter of each later rule.
def get_data(wildcards):
    """What a split is computed from: settings, and checksums of the files that are here."""
    files = STUDY.events
    if STUDY.dataset.is_movielens:
        files = [get_archive(wildcards)] if get_archive(wildcards) else []
    settings = {name: config[name] for name in ("dataset", "filters", "split")}
    return {**settings, "sha256": list(map(sha256, files))}


def get_source(wildcards):
    """What the ranks of a recommender are computed from."""
    recommender = STUDY.recommender(wildcards.recommender)
    files = [recommender.settings.path] if recommender.kind == "external" else []
    return {"data": get_data(wildcards), "sha256": list(map(sha256, files))}


def get_origin(wildcards):
    """What all ranks are computed from; nothing where they are those of the reference run."""
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


def get_model(wildcards):
    """What the pieces of a ranking share."""
    return get_file_made_elsewhere(wildcards) or f"<results>/models/{wildcards.recommender}.npz"


def get_ranks(wildcards):
    """Ranks of all recommenders, of this run or of the reference run."""
    return [own(f"{STUDY.folder_of_ranks}/{name}.parquet") for name in STUDY.names]


def get_published(wildcards):
    """The paper's tables, where they are comparable with ours."""
    return [] if DEPARTURES else own(STUDY.scorecard.published)


def get_band(wildcards):
    """Figure 6 of other starts of X, where it is comparable with ours."""
    return [] if DEPARTURES else own(STUDY.scorecard.band)


def get_audit(wildcards):
    """Readings of the paper, as `make measure PAGE=audit` measured them."""
    return [own(f"{REFERENCE}/audit.csv")] if STUDY.is_papers_data else []


def get_kept(wildcards):
    """Ranks of further recommenders on the paper's data, for the leaderboard."""
    return [own(f"{REFERENCE}/{name}.parquet") for name in STORED_RANKS if STUDY.is_papers_data]
