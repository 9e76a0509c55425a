import os
import re
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
    before = os.environ.get("PYTHONPATH")
    os.environ.update(PYTHONPATH=f"{ROOT}/src" + (f":{before}" if before else ""))

from sampled_metrics._base.errors import InputError
from sampled_metrics.study.config import Study
from sampled_metrics.study.resources import scaled, training_memory

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


def one_of(names):
    """A pattern for a wildcard that is one of these names."""
    return "|".join(map(re.escape, names)) or "(?!)"


pathvars:
    results=STUDY.results,


wildcard_constraints:
    recommender=one_of(STUDY.names),


scattergather:
    ranking=STUDY.ranking.pieces,


def table_files(*numbers):
    return expand(
        "<results>/tables/table{number}.{form}",
        number=numbers,
        form=("csv", "md", "tex"),
    )


def figure_files(*numbers):
    return expand(
        "<results>/figures/figure{number}.{form}",
        number=numbers,
        form=("csv", "svg", "pdf", "png"),
    )


def shown(files, kind, form):
    """Outputs of which those in one form are in the report of Snakemake."""
    mark = partial(report, caption=f"../report/{kind}.rst", category=f"{kind.title()}s")
    return [mark(path) if path.endswith(form) else path for path in files]


def folder_of(kind):
    """The folder of a rule's outputs of that name."""
    return lambda wildcards, output: str(Path(getattr(output, kind)[0]).parent)


def option(name, files):
    """An option of a command, or nothing where there is no such file."""
    return [name, files[0]] if files else []


def options(name, files):
    """An option of a command once for each file."""
    return [part for file in files for part in (name, file)]


def setting(value):
    """A value of the configuration as a parameter, in which braces name no wildcard."""
    return lambda wildcards: value


def local_archive(wildcards):
    """The local archive, so that a newer one is read again; `fetch` says if it is missing."""
    path = STUDY.archive
    is_followed = Path(path).is_file() and not set(path) & set("{}<>")
    return [path] if is_followed else []


def ranks_of(name):
    """File of the rank records of a recommender."""
    return own(f"{STUDY.folder_of_ranks}/{name}.parquet")


ALL_RANKS = [ranks_of(name) for name in STUDY.names]


def source_of_scores(wildcards):
    """The trained recommender, or the scores made elsewhere."""
    if wildcards.recommender in STUDY.external:
        return STUDY.recommender(wildcards.recommender).settings.path
    return f"<results>/models/{wildcards.recommender}.npz"
