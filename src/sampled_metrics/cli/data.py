"""The steps of the study above the split: getting the data, and holding out events of it."""

import logging
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics._base.files import write_json, write_text
from sampled_metrics.cli.steps import Inputs, Json, Output, settings_of

if TYPE_CHECKING:
    from sampled_metrics.datasets.settings import DatasetSettings
    from sampled_metrics.datasets.split import Split

app = typer.Typer()
_log = logging.getLogger("sampled_metrics")

Record = Annotated[Path, typer.Option(help="Where to record its origin.")]


@app.command()
def fetch(
    output: Output,
    source: Record,
    dataset: Json = "{}",
    archive: Annotated[
        str, typer.Option(envvar="MOVIELENS_ARCHIVE", help="Local archive to use.")
    ] = "",
    unreachable: Annotated[
        Path | None, typer.Option(help="File to write if the server cannot be reached.")
    ] = None,
) -> None:
    """Get an archive of MovieLens: a local file, else the cache, else the publisher's server."""
    from sampled_metrics.datasets import fetch as fetching
    from sampled_metrics.datasets.settings import DatasetSettings

    settings = settings_of(DatasetSettings, dataset, "--dataset")
    try:
        origin = fetching.fetch(
            output, settings.replaced(archive=archive or settings.archive or None)
        )
    except UnreachableError as error:
        if unreachable is not None:
            write_text(unreachable, f"{error}\n")
        raise
    write_json(source, asdict(origin))
    origin.log_terms()
    official = {True: "the official", False: "not the official", None: "maybe the official"}
    _log.info("fetch: %s, %s ratings", origin.origin, official[origin.ratings_is_official])


@app.command()
def describe(tables: Inputs, source: Record, dataset: Json) -> None:
    """Record the origin of tables of interactions: checksums, licence and citation."""
    from sampled_metrics.datasets.fetch import describe_tables
    from sampled_metrics.datasets.settings import DatasetSettings

    settings = settings_of(DatasetSettings, dataset, "--dataset")
    if settings.is_movielens:
        raise InputError("--dataset: format is movielens, which `fetch` is for")
    origin = describe_tables(tables, settings)
    write_json(source, asdict(origin))
    origin.log_terms()
    _log.info("describe: %s, %d bytes", origin.archive, origin.bytes)


@app.command()
def split(
    data: Inputs,
    output: Output,
    counts: Annotated[Path, typer.Option(help="Where to record the counts.")],
    dataset: Json = "{}",
    filters: Json = "{}",
    settings: Json = "{}",
) -> None:
    """Read the events of an archive, or of one or two tables, filter and split them."""
    from sampled_metrics._base.seeds import generator
    from sampled_metrics.datasets.filters import apply_filters
    from sampled_metrics.datasets.holding_out import hold_out, sample_users
    from sampled_metrics.datasets.later_events import given_split
    from sampled_metrics.datasets.reading import read_dataset
    from sampled_metrics.datasets.settings import DatasetSettings, FilterSettings, SplitSettings
    from sampled_metrics.datasets.split import save_split

    data_settings = settings_of(DatasetSettings, dataset, "--dataset")
    filtering = settings_of(FilterSettings, filters, "--filters")
    holding_out = settings_of(SplitSettings, settings, "--settings")
    began = time.perf_counter()
    events, removed = [], Counter[str]()
    for path in data:
        whole = read_dataset(path, data_settings, filtering.min_rating is not None)
        kept, dropped = apply_filters(whole, filtering, holding_out.least_events)
        events.append(kept)
        removed.update(dropped)
    read, rng = time.perf_counter(), generator(holding_out.seed, "split")
    if holding_out.method == "given":
        train, test = events
        result = given_split(train, test, holding_out.tie_break, rng)
    else:
        (interactions,) = events
        result = hold_out(interactions, holding_out, rng)
    if holding_out.users is not None:
        result = sample_users(result, holding_out.users, generator(holding_out.seed, "users"))
    seconds = f"parsed in {read - began:.2f} s, split in {time.perf_counter() - read:.2f} s"
    save_split(output, result)
    record = {
        "method": holding_out.method,
        "tie_break": holding_out.tie_break if holding_out.method != "random" else None,
        **result.counts(),
        "later_training_events": result.later_training_events,
        "filters": {
            name: {"value": value, "removed": removed[name]} for name, value in filtering.on.items()
        },
        **_expectation(data_settings, result, filtered=bool(filtering.on)),
    }
    write_json(counts, record)
    _log.info("split: %s; %s", _in_words(result.counts()), seconds)
    if result.later_training_events:
        _log.info(
            "split: %s trains on events later than other users' held-out ones, on average %.1f %% "
            "of all training events; global-time trains on earlier ones only",
            *(holding_out.method, 100 * result.later_training_events),
        )


def _expectation(dataset: "DatasetSettings", result: "Split", filtered: bool) -> dict[str, Any]:
    """Return the published counts and whether ours are equal; None where that says nothing."""
    if dataset.published is None:
        return {"expected": None, "as_expected": None}
    expected, counts = dataset.published.counts._asdict(), result.counts()
    equal = None if filtered else all(counts[name] == count for name, count in expected.items())
    if equal is False:
        words = _in_words(expected)
        _log.warning("split: published counts of %s differ: %s", dataset.name, words)
    return {"expected": expected, "as_expected": equal}


def _in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
