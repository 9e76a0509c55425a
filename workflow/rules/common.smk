import os
import sys
from functools import partial
from pathlib import Path

import yaml
from snakemake.utils import update_config

# The workflow runs the package of its own checkout, whether or not one is installed. Used as a
# module from afar it has no checkout and runs the package that is installed.
ROOT = Path(workflow.current_basedir, "../..").resolve()
if Path(ROOT, "src").is_dir():
    sys.path.insert(0, f"{ROOT}/src")
    path = [f"{ROOT}/src", os.environ.get("PYTHONPATH")]
    os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, path)))
    # If this is set, each of the twenty processes compiles the package again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False

from sampled_metrics._base.errors import InputError
from sampled_metrics.study.config import Study
from sampled_metrics.study.resources import scaled, training_memory
from sampled_metrics.study.rules import *

SHIPPED = ("config/paper/", "results/reference/", "workflow/")


def shipped(path):
    """A file that comes with the workflow."""
    here = Path(ROOT, path)
    return str(here) if ROOT.is_dir() else workflow.source_path(f"../../{path}")


def own(path):
    """The file of this folder, or else the one that comes with the workflow."""
    is_ours = path.startswith(SHIPPED) and not Path(path).exists()
    return shipped(path) if is_ours else path


with Path(shipped("config/config.yaml")).open(encoding="utf-8") as file:
    OF_THE_PAPER = yaml.safe_load(file)
# A study in another folder, or that uses this one as a module, sets only what differs.
update_config(OF_THE_PAPER, config)

try:
    STUDY = Study.of(OF_THE_PAPER, "config")
    STUDY.check_files(own)
except InputError as error:
    sys.exit(str(error))


pathvars:
    results=STUDY.results,


wildcard_constraints:
    recommender=one_of(STUDY.names),


scattergather:
    ranking=STUDY.ranking.pieces,


def shown(files, kind, form):
    """Outputs of which those in one form are in the report of Snakemake."""
    mark = partial(report, caption=f"../report/{kind}.rst", category=f"{kind.title()}s")
    return [mark(path) if path.endswith(form) else path for path in files]


def ranks_of(name):
    """File of the rank records of a recommender."""
    return own(f"{STUDY.folder_of_ranks}/{name}.parquet")


ALL_RANKS = [ranks_of(name) for name in STUDY.names]
