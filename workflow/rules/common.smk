import hashlib
import json
import os
import sys
from pathlib import Path

import yaml

# The workflow runs the package of its own checkout, whether or not one is installed.
SOURCE = str(Path(workflow.basedir, "src"))
sys.path.insert(0, SOURCE)
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
)

from sampled_metrics.config import check_config
from sampled_metrics.errors import InputError

try:
    check_config(
        config,
        yaml.safe_load(
            Path(workflow.basedir, "workflow/schemas/config.schema.yaml").read_text()
        ),
    )
except InputError as error:
    sys.exit(str(error))

RECOMMENDERS = {
    recommender["name"]: recommender for recommender in config["recommenders"]
}
CONFIG_SHA256 = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
ARCHIVE = config["dataset"]["archive"] or os.environ.get("MOVIELENS_ARCHIVE") or ""


wildcard_constraints:
    recommender="|".join(RECOMMENDERS),


def final_targets():
    return ["results/tables/exact.csv", "results/provenance.json"]


def local_archive(wildcards):
    """The local archive, so that a newer one is read again; its absence is the command's to say."""
    return [ARCHIVE] if ARCHIVE and Path(ARCHIVE).exists() else []


def rank_records(wildcards):
    folder = (
        "results/reference/ranks" if config["ranks"] == "reference" else "results/ranks"
    )
    return [f"{folder}/{name}.parquet" for name in RECOMMENDERS]


def provenance_inputs(wildcards):
    if config["ranks"] == "reference":
        return {"reference": "results/reference/provenance.json"}
    return {"data": "results/data/source.json", "split": "results/split/split.json"}


def seeds():
    own = {
        name: recommender["settings"]["seed"]
        for name, recommender in RECOMMENDERS.items()
        if "seed" in recommender["settings"]
    }
    return {"split": config["split"]["seed"], "exact": config["exact"]["seed"], **own}
