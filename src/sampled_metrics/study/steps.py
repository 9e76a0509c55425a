"""The steps of the workflow, each a function of the job that Snakemake's `script:` passes.

A job has `input`, `output`, `params`, `log`, `threads` and `wildcards`, as in the rule. Imports are
in the functions, because a step needs few of them and some take long.
"""

import logging
import os
import platform
import sys
from collections import Counter
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sampled_metrics import __version__
from sampled_metrics._base.arrays import generator
from sampled_metrics._base.errors import InputError, UnreachableError, reading
from sampled_metrics._base.files import (
    read_json,
    read_table,
    sweep,
    write_json,
    write_table,
    write_text,
)
from sampled_metrics.study.job import Job

if TYPE_CHECKING:
    import pandas as pd

    from sampled_metrics.ranks import Ranks
    from sampled_metrics.study.datasets.split import Split
    from sampled_metrics.study.recommenders import Recommender
    from sampled_metrics.study.settings import ExperimentSettings

_log = logging.getLogger("sampled_metrics")
_PACKAGES = ("numpy", "scipy", "implicit", "pandas", "pyarrow", "snakemake", "matplotlib")


def run(job: Job) -> None:
    """Run a step with its messages in the log of its rule, and errors in one line."""
    file = logging.FileHandler(job.log[0], "w", encoding="utf-8")
    handlers: list[logging.Handler] = [logging.StreamHandler(), file]
    logging.basicConfig(format="%(message)s", handlers=handlers, level=logging.INFO, force=True)
    for path in map(Path, job.output):
        sweep(path)
    try:
        globals()[job.params.step](job)
    except UnreachableError as error:
        write_text(Path(f"{job.log[0]}.unreachable"), f"{error}\n")
        sys.exit(f"ERROR: {error}")
    except (InputError, OSError, MemoryError) as error:
        _log.error("ERROR: %s", error)
        sys.exit(2)


def _paths(names: str | list[str]) -> list[Path]:
    """Paths of an input or output, which Snakemake passes as text if there is only one."""
    if isinstance(names, str):
        return [Path(names)]
    return list(map(Path, names))


def _maybe(names: str | list[str]) -> Path | None:
    """Path of an input that is one file or none."""
    return next(iter(_paths(names)), None)


def _ranks(job: Job) -> "dict[str, Ranks]":
    """Read the ranks of the recommenders."""
    from sampled_metrics.inputs.full import read_by_name

    return read_by_name(_paths(job.input.ranks))


def _split(job: Job) -> "Split":
    """Read the split."""
    from sampled_metrics.study.datasets.split import load_split

    return load_split(Path(job.input.split))


def _experiment(job: Job) -> "ExperimentSettings":
    """Read the settings of the experiment."""
    from sampled_metrics.study.settings import ExperimentSettings

    return ExperimentSettings(**job.params.experiment)


def fetch(job: Job) -> None:
    """Get an archive of MovieLens, or describe the tables of another dataset."""
    from sampled_metrics.study.datasets import fetch
    from sampled_metrics.study.datasets.settings import DatasetSettings

    settings = DatasetSettings(**job.params.dataset)
    if settings.is_movielens:
        local = settings.replaced(archive=next(iter(job.input), None))
        source = fetch.fetch(Path(job.output[0]), local)
    else:
        source = fetch.describe_tables(_paths(job.input), settings)
    write_json(Path(job.output.source), asdict(source))
    source.log_terms()


def split(job: Job) -> None:
    """Read the events of an archive, or of one or two tables, filter and split them."""
    from sampled_metrics.study.datasets import archives, events, settings
    from sampled_metrics.study.datasets import split as study

    dataset = settings.DatasetSettings(**job.params.dataset)
    filters = settings.FilterSettings(**job.params.filters)
    how = settings.SplitSettings(**job.params.split)
    removed = Counter[str]()
    parts = []
    for path in _paths(job.input.events):
        whole = archives.read_dataset(path, dataset, filters.min_rating is not None)
        kept, dropped = events.apply_filters(whole, filters, how.least_events)
        parts.append(kept)
        removed.update(dropped)
    rng = generator(how.seed, "split")
    if how.method == "given":
        result = study.given_split(parts[0], parts[1], how.tie_break, rng)
    else:
        result = study.hold_out(parts[0], how, rng)
    if how.users is not None:
        result = study.sample_users(result, how.users, generator(how.seed, "users"))
    study.save_split(Path(job.output.split), result)
    counts = result.counts()
    expected = as_expected = None
    if dataset.published:
        expected = dataset.published.counts
        if not filters.on:
            as_expected = expected.items() <= counts.items()
    record = {
        "method": how.method,
        "tie_break": how.tie_break if how.method != "random" else None,
        **counts,
        "filters": {name: {"value": v, "removed": removed[name]} for name, v in filters.on.items()},
        "expected": expected,
        "as_expected": as_expected,
    }
    write_json(Path(job.output.counts), record)
    _log.info("split: %s", ", ".join(f"{count} {name}" for name, count in counts.items()))


def train(job: Job) -> None:
    """Train a recommender."""
    from sampled_metrics.study.recommenders import save_recommender

    save_recommender(Path(job.output[0]), _trained(job, _split(job)))


def _trained(job: Job, data: "Split") -> "Recommender":
    from sampled_metrics.study.recommenders import create

    entry = job.params.entry
    return create(entry["kind"], entry["settings"]).fit(data.train, job.threads)


def rank(job: Job) -> None:
    """Rank each held-out item among all candidates of its user, by a recommender or from a file."""
    from sampled_metrics.study import pieces
    from sampled_metrics.study.datasets.split import require_candidates
    from sampled_metrics.study.recommenders import load_recommender
    from sampled_metrics.study.recommenders.external import read_scores

    data = _split(job)
    require_candidates(data, job.input.split)
    entry = job.params.entry
    piece = job.wildcards.get("piece", "1-of-1")
    users = pieces.users_of_piece(piece, data.held_out.size)
    path: Any = _maybe(job.input.source)  # None: trained here
    form = None
    source = "trained in this run"
    score: Any
    if entry["kind"] == "external":
        form = entry["settings"]["format"]
        source = f"{form} from {path.name}"
    with reading(path):
        if form == "ranks":
            records = pieces.read_aligned(path, data).take(users)
        else:
            if form == "scores":
                score = read_scores(path, data)
            elif path:
                score = load_recommender(path).scorer
            else:
                score = _trained(job, data).scorer
            records = pieces.rank_piece(score, data, piece, block_size=job.params.block_size)
    records.replace(source=source).write(job.output[0], items=data.held_out_ids[users])
    _log.info("rank: %d users, %d with ties", len(records), (records.n_tied > 0).sum())


def gather(job: Job) -> None:
    """Concatenate the ranks of all pieces of a recommender's users."""
    from sampled_metrics.study.pieces import gather_ranks

    data = _split(job)
    records = gather_ranks(_paths(job.input.pieces), data)
    records.write(job.output[0], items=data.held_out_ids)


def ranges(job: Job) -> None:
    """Ranges of the exact metrics that samples of several sizes allow."""
    from sampled_metrics.study.against_samples import allowed_ranges

    settings = _experiment(job)
    table = allowed_ranges(_ranks(job), settings.metrics, settings.seed)
    write_table(table, Path(job.output[0]), "%.6f")


def exact(job: Job) -> None:
    """Compute the exact metrics under each tie policy."""
    from sampled_metrics.ranks.records import sources
    from sampled_metrics.study.printed import write_exact
    from sampled_metrics.study.settings import ExactSettings
    from sampled_metrics.study.tables import exact_table

    ranks = _ranks(job)
    table = exact_table(ranks, ExactSettings(**job.params.exact))
    write_exact(table, sources(records.source for records in ranks.values()), *_paths(job.output))


def tables(job: Job) -> None:
    """Compute Tables 3 and 4, Figures 5 and 6, and what other orders of ties make of the tables."""
    from sampled_metrics.study import tables as study
    from sampled_metrics.study.starts import uniform_ties

    ranks = _ranks(job)
    settings = _experiment(job)
    experiments = {}
    for path, name in zip(_paths(job.output.samples), ranks, strict=True):
        experiments[name] = study.run_experiment(name, ranks[name], settings)
        study.save_experiment(path, experiments[name])
    _tables(job, {3: study.table3(experiments), 4: study.table4(experiments)})
    figures(job)
    for path in _paths(job.output.uniform):
        write_table(uniform_ties(ranks, settings), path, "%.17g")


def theory(job: Job) -> None:
    """Compute what needs no data: Tables 1 and 2, Figures 1 to 4."""
    from sampled_metrics.study.settings import ToySettings
    from sampled_metrics.study.tables import toy_tables

    _tables(job, toy_tables(ToySettings(**job.params.toy)))
    figures(job)


def _tables(job: Job, made: "dict[int, pd.DataFrame]") -> None:
    """Write the cells of some tables, and each table as the paper prints it."""
    from sampled_metrics.study.departures import notes
    from sampled_metrics.study.printed import write_printed
    from sampled_metrics.study.tables import read_published

    published = None
    if path := _maybe(job.input.published):
        published = read_published(path)
        published = published[[not note for note in notes(published, job.params.departures)]]
    for path, (number, table) in zip(_paths(job.output.cells), made.items(), strict=True):
        write_table(table, path, "%.17g")
        stem = Path(job.output.tables[0]).with_name(f"table{number}")
        write_printed(number, table, published, stem)


def figures(job: Job) -> None:
    """Compute what the figures plot, and draw them."""
    from sampled_metrics.study.curves import figure_data
    from sampled_metrics.study.figures import draw

    ranks = _ranks(job)
    settings = _experiment(job)
    for number in job.params.numbers:
        table, note = figure_data(number, ranks, settings, _maybe(job.input.band))
        stem = Path(job.output.figures[0]).with_name(f"figure{number}")
        write_table(table, stem.with_suffix(".csv"), "%.10g")
        draw(number, table, stem, note)


def scorecard(job: Job) -> None:
    """Compare every published cell with ours, and measure every claim."""
    from sampled_metrics.ranks.records import sources
    from sampled_metrics.study import claims, departures, figures, run, starts, tables
    from sampled_metrics.study import scorecard as study

    inputs = job.input
    changed = job.params.departures
    ranks = _ranks(job)
    ours = tables.read_cells(_paths(inputs.cells))
    published = tables.read_published(Path(inputs.published))
    spread = read_table(Path(inputs.spread), tables.SPREAD_COLUMNS, tables.TEXTS)
    uniform = read_table(_paths(inputs.uniform)[0], (*tables.KEY, "uniform"), tables.TEXTS)
    card = study.scorecard(ours, published, spread, uniform, changed)
    study.write_scorecard(card, sources(ours["ranks"]), *_paths(job.output.scorecard))
    z = study.z_scores(card)
    path = Path(job.output.z[0])
    write_table(z, path, "%.6g")
    figures.draw("z", z, path.with_suffix(""))
    by_start = read_table(Path(inputs.starts), starts.COLUMNS, tables.TEXTS).groupby("start")
    figure6 = read_table(Path(inputs.figure6), ["kind"])
    if 6 in departures.changed_tables(changed):
        figure6 = figure6[:0]
    ledger = claims.ledger(
        run.comparable_run(ours[ours["table"] >= 3], card, ranks, figure6),
        run.printed_run(published),
        [run.Run(rows) for _, rows in by_start],
    )
    source = sources(records.source for records in ranks.values())
    claims.write_claims(ledger, source, *_paths(job.output.claims))
    totals = (table["verdict"].value_counts().to_dict() for table in (card, ledger))
    _log.info("cells: %s; claims: %s", *totals)


def spread(job: Job) -> None:
    """Measure how far cells move with the start of an als recommender and with tied ranks."""
    from sampled_metrics.study import starts
    from sampled_metrics.study.config import Entry

    entry = Entry(**job.params.entry)
    settings = _experiment(job)
    others = _ranks(job)
    trained = starts.ranks_by_start(entry, _split(job), job.params.starts, job.threads)
    numbers = starts.table_of_starts(entry.name, trained, others, settings)
    band = starts.band_over_starts(entry.name, trained, settings)
    spread = starts.spread_table(entry.name, numbers, others, settings)
    write_table(numbers, Path(job.output.starts), "%.6g")
    write_table(band, Path(job.output.band), "%.10g")
    write_table(spread, Path(job.output.spread), "%.6g")


def page(job: Job) -> None:
    """Record where numbers come from, and put all on one page."""
    from sampled_metrics.pages import render
    from sampled_metrics.study.page import collect

    study = job.params.study
    record = {
        "ranks": study["ranks"],
        **{path.stem: read_json(path) for path in _paths(job.input.origin)},
        **job.params.identity,
        # The workflow runs the package of its checkout, which need not be installed.
        "versions": {
            "python": platform.python_version(),
            "sampled-metrics": __version__,
            **{name: version(name) for name in _PACKAGES},
        },
        "host": {
            "system": platform.system(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
        },
    }
    write_json(Path(job.output.provenance), record)
    path = Path(job.output.page)
    content = collect(
        path.parent,
        ranks=_paths(job.input.ranks),
        config=study,
        is_paper=bool(job.input.scorecard),
        audit=_maybe(job.input.audit),
        orders=_maybe(job.input.orders),
        kept=_paths(job.input.kept),
    )
    write_text(path, render(content))
