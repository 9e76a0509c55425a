import os
import re
import sys
from pathlib import Path

# The workflow runs the package of its own checkout, whether or not one is installed.
SOURCE = str(Path(workflow.basedir, "src"))
sys.path.insert(0, SOURCE)
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
)

from sampled_metrics._base.errors import InputError
from sampled_metrics.study.config import Study
from sampled_metrics.study.resources import scaled, training_memory

try:
    STUDY = Study.of(config, "config")
    STUDY.check_files()
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


def folder_of(kind):
    """The folder of a rule's outputs of that name."""
    return lambda wildcards, output: str(Path(getattr(output, kind)[0]).parent)


def option(name, files):
    """An option of a command, or nothing where there is no such file."""
    return f"{name} {files[0]}" if files else ""


def local_archive(wildcards):
    """The local archive, so that a newer one is read again; `fetch` says if it is missing."""
    return [STUDY.archive] if Path(STUDY.archive).is_file() else []


RANKS = f"{STUDY.folder_of_ranks}/{{recommender}}.parquet"
ALL_RANKS = expand(RANKS, recommender=STUDY.names)
