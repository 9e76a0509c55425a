import atexit
import fcntl
import gc
import marshal
import os
import re
import sys
from pathlib import Path

import yaml
from snakemake.utils import min_version, update_config

min_version("9.19")


def remove_truncated(package):
    """Remove compiled files that a full disk cut off: Python neither runs nor renews them."""
    for path in Path(package).rglob(f"*.{sys.implementation.cache_tag}*.pyc"):
        try:
            marshal.loads(path.read_bytes()[16:])
        except (EOFError, TypeError, ValueError):
            path.unlink(missing_ok=True)


# The workflow runs the package of its own checkout; used as a module from afar, the installed one.
ROOT = Path(workflow.current_basedir, "..").resolve()
if Path(ROOT, "src").is_dir():
    remove_truncated(f"{ROOT}/src")
    sys.path.insert(0, f"{ROOT}/src")
    search = [f"{ROOT}/src", os.environ.get("PYTHONPATH")]
    os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, search)))

from sampled_metrics._base.errors import InputError
from sampled_metrics.study import forks
from sampled_metrics.study.config import Study
from sampled_metrics.study.resources import has_all_pairs, memory_of, minutes_of
from sampled_metrics.study.departures import departures


def own(path):
    """The file of this folder, or else the one that comes with the workflow."""
    shipped = str(path).startswith(("config/paper/", "results/reference/", "workflow/"))
    if not shipped or Path(path).exists():
        return path
    return str(ROOT / path) if ROOT.is_dir() else workflow.source_path(f"../{path}")


# A study in another folder, or that uses this one as a module, sets only what differs.
SETTINGS = yaml.safe_load(Path(own("workflow/../config/config.yaml")).read_text("utf-8"))
update_config(SETTINGS, config)


def typed(value):
    """A mapping or list of `--config`, in which Snakemake leaves numbers as texts."""
    if isinstance(value, dict):
        return {key: part if key == "name" else typed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [typed(part) for part in value]
    number = yaml.safe_load(value) if isinstance(value, str) else value
    return number if number is None or isinstance(number, (bool, int, float)) else value


GIVEN = workflow.config_settings.config or {}
GIVEN = {key: value for key, value in GIVEN.items() if isinstance(value, (dict, list))}
update_config(SETTINGS, {key: typed(value) for key, value in GIVEN.items() if key in config})
try:
    STUDY = Study.of(SETTINGS, "config")
    STUDY.check_files(own)
except InputError as error:
    sys.exit(str(error))


def plain(settings):
    """Settings as a dictionary, which Snakemake compares with that of the last run."""
    return settings.model_dump(mode="json", by_alias=True)


FORMS = ("csv", "svg", "pdf", "png")
SCORED = ["scorecard", "claims"] if STUDY.is_papers_data else []


# Settings that are not the paper's, on its data.
DEPARTURES = departures(STUDY) if STUDY.is_papers_data else []


def departures_in(*tables):
    """Those that change some of these tables, or Figure 6, as Snakemake compares them."""
    return [list(departure) for departure in DEPARTURES if {*departure.tables} & {*tables}]


def of_paper(path):
    return [own(path)] if STUDY.is_papers_data else []


def ranks_of(name):
    return own(f"{STUDY.folder_of_ranks}/{name}.parquet")


def source_of(name):
    """What ranks are computed from: a file made elsewhere, or a model that several jobs need."""
    entry = STUDY.recommender(name)
    if entry.kind == "external":
        return entry.settings.path
    return f"<results>/models/{name}.npz" if len(PIECES) > 1 else []


def files(folder, stem, names, forms):
    return [
        f"<results>/{folder}/{stem}{n}.{form}".replace("//", "/") for n in names for form in forms
    ]


# As many jobs rank the users of a recommender, each a piece of them.
PIECES = [f"{n + 1}-of-{STUDY.ranking.pieces}" for n in range(STUDY.ranking.pieces)]
PIECE = "{recommender}" if len(PIECES) == 1 else "{recommender}.{piece}"
RANKED = f"<results>/ranks/{PIECE}.parquet"
ALL_RANKS = [ranks_of(name) for name in STUDY.names]


# So many jobs pay for a server that they fork from. Each environment has its own Python.
SERVED = 4


def steps_may_fork(workflow):
    deployed = workflow.deployment_settings.deployment_method
    is_local = workflow.local_exec and not deployed and sys.platform == "linux"
    return is_local and len(list(workflow.dag.needrun_jobs())) >= SERVED


pathvars:
    results=STUDY.results,


wildcard_constraints:
    recommender="|".join(map(re.escape, STUDY.names)),
    piece="|".join(PIECES),


gc.freeze()  # of what is loaded by now nothing is garbage, and a third of a second goes into looking

# Held until this process ends, so that `make reproduce` clears the lock of a killed run only.
if workflow.is_main_process:
    Path(".snakemake").mkdir(exist_ok=True)
    ACTIVE = Path(".snakemake/active").open("w")
    fcntl.flock(ACTIVE, fcntl.LOCK_SH)
