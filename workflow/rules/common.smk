import os
import re
import sys
from copy import deepcopy
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

from sampled_metrics._base.errors import InputError
from sampled_metrics_study.config import KEPT, REFERENCE, Study, departures, with_numbers
from sampled_metrics_study.steps import code_of


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
    return STUDY.recommender(wildcards.recommender).model_dump(mode="json", by_alias=True)


def get_file_made_elsewhere(wildcards):
    """Ranks or scores that are not computed here."""
    recommender = STUDY.recommender(wildcards.recommender)
    return recommender.settings.path if recommender.kind == "external" else []


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


def get_tables(wildcards):
    """The tables of this study; those of the theory belong to the paper's data."""
    forms = ["csv", "md", "tex"]
    printed = expand("<results>/tables/table{n}.{form}", n=STUDY.tables, form=forms)
    return [*printed, rules.tables.output.likely]


def get_figures(wildcards):
    """The figures of this study, likewise."""
    forms = ["svg", "pdf", "csv"]
    return expand("<results>/figures/{name}.{form}", name=STUDY.figures, form=forms)


def get_audit(wildcards):
    """Readings of the paper, as `make measure PAGE=audit` measured them."""
    return [own(f"{REFERENCE}/audit.csv")] if STUDY.is_papers_data else []


def get_kept(wildcards):
    """Ranks of further recommenders on the paper's data, for the leaderboard."""
    return [own(f"{REFERENCE}/{name}.parquet") for name in KEPT if STUDY.is_papers_data]


def get_chain(wildcards):
    """What results were computed from, so that an edited file is refused, and a removed one made."""
    chain = [*rules.tables.output.cells]
    if STUDY.is_papers_data:
        chain += rules.theory.output.cells
    if STUDY.ranks == "trained":
        chain += [*STUDY.events, *rules.split.output]
        if STUDY.ranking.pieces > 1:
            trained = [one.name for one in STUDY.recommenders if one.kind != "external"]
            chain += expand("<results>/models/{name}.npz", name=trained)
    return chain


def get_scorecard(wildcards):
    """The scorecard and its figure, for a study on the paper's data."""
    return rules.scorecard.output if STUDY.is_papers_data else []
