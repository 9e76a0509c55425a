import hashlib
import json
import os
import re
import sys
from pathlib import Path

import yaml

# The workflow runs the package of its own checkout, whether or not one is installed.
SOURCE = str(Path(workflow.basedir, "src"))
sys.path.insert(0, SOURCE)
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
)

from sampled_metrics.study.config import check_config
from sampled_metrics._base.errors import InputError

try:
    check_config(
        config,
        yaml.safe_load(
            Path(workflow.basedir, "workflow/schemas/config.schema.yaml").read_text()
        ),
    )
except InputError as error:
    sys.exit(str(error))

# With a slash at its end, say, the names below would not be those that Snakemake goes by.
config["results"] = os.path.normpath(config["results"])


pathvars:
    results=config["results"],


RECOMMENDERS = {
    recommender["name"]: {"settings": {}} | recommender
    for recommender in config["recommenders"]
}
EXTERNAL = [name for name, each in RECOMMENDERS.items() if each["kind"] == "external"]
TRAINED = [name for name in RECOMMENDERS if name not in EXTERNAL]
MOVIELENS = config["dataset"]["format"] == "movielens"
# What the paper published is about its own data; its toys and its theory are shown beside it.
PAPERS_DATA = MOVIELENS and config["dataset"]["name"] == "ml-1m"
TABLES = (1, 2, 3, 4) if PAPERS_DATA else (3, 4)
FIGURES = (1, 2, 3, 4, 5, 6) if PAPERS_DATA else (5, 6)
# Where a machine keeps its files and how steps are cut do not make another study.
PORTABLE = config | {
    "results": None,
    "dataset": config["dataset"] | {"archive": None, "cache": None, "path": None},
    "ranking": config["ranking"] | {"pieces": None},
    "experiment": config["experiment"] | {"pieces": None},
}
CONFIG_SHA256 = hashlib.sha256(
    json.dumps(PORTABLE, sort_keys=True).encode()
).hexdigest()
METRICS = ",".join(config["experiment"]["metrics"])
ESTIMATORS = ",".join(config["experiment"]["estimators"])
EXPERIMENT = json.dumps(
    {
        name: value
        for name, value in config["experiment"].items()
        if name not in ("metrics", "estimators", "pieces")
    }
)
STARTED = next(
    (name for name, each in RECOMMENDERS.items() if each["kind"] == "als"), ""
)
# What the data is, without where this machine keeps it and how it gets there.
DATASET = json.dumps(
    {
        key: value
        for key, value in config["dataset"].items()
        if key not in ("archive", "cache", "url", "timeout", "retries", "path")
    }
)
EVENTS = (
    f"<results>/data/{config['dataset']['name']}.zip"
    if MOVIELENS
    else config["dataset"]["path"]
)
if not MOVIELENS and not Path(EVENTS).is_file():
    sys.exit(
        f"config: dataset.path is {EVENTS!r}; no such file, expected a table of events"
    )
ARCHIVE = config["dataset"]["archive"] or os.environ.get("MOVIELENS_ARCHIVE") or ""
KEPT = sorted(path.stem for path in Path("results/reference/ranks").glob("*.parquet"))
if config["ranks"] == "reference" and not PAPERS_DATA:
    sys.exit(
        "config: ranks is 'reference', which keeps those of ml-1m; "
        f"dataset.name is {config['dataset']['name']!r}"
    )
if config["ranks"] == "reference" and not set(RECOMMENDERS) <= set(KEPT):
    sys.exit(
        f"config: ranks is 'reference', which keeps {', '.join(KEPT) or 'none'}; "
        f"recommenders are {', '.join(RECOMMENDERS)}"
    )


def one_of(names):
    """A pattern for a wildcard that may be one of these names, of which there may be none."""
    return "|".join(map(re.escape, names)) or "(?!)"


wildcard_constraints:
    recommender=one_of(RECOMMENDERS),


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


def final_targets():
    return [
        *table_files(*TABLES),
        *figure_files(*FIGURES),
        "<results>/tables/exact.csv",
        *(["<results>/scorecard.csv"] if PAPERS_DATA else []),
        "<results>/provenance.json",
        "<results>/report.html",
    ]


def audit_tables():
    """The audit of this run, once `snakemake audit` has made it; else that of the reference run."""
    if not PAPERS_DATA:
        return []
    own = f"{config['results']}/audit.csv"
    return [own if Path(own).exists() else "results/reference/audit.csv"]


def local_archive(wildcards):
    """The local archive, so that a newer one is read again; its absence is the command's to say."""
    return [ARCHIVE] if ARCHIVE and Path(ARCHIVE).exists() else []


def path_of_ranks(name):
    folder = (
        "results/reference/ranks"
        if config["ranks"] == "reference"
        else "<results>/ranks"
    )
    return f"{folder}/{name}.parquet"


def rank_record(wildcards):
    return path_of_ranks(wildcards.recommender)


def rank_records(wildcards):
    return [path_of_ranks(name) for name in RECOMMENDERS]


def provenance_inputs(wildcards):
    if config["ranks"] == "reference":
        return {"reference": "results/reference/provenance.json"}
    return {"data": "<results>/data/source.json", "split": "<results>/split/split.json"}


def seeds():
    own = {
        name: recommender["settings"]["seed"]
        for name, recommender in RECOMMENDERS.items()
        if "seed" in recommender["settings"]
    }
    shared = {
        name: config[name]["seed"] for name in ("split", "exact", "toy", "experiment")
    }
    return shared | own
