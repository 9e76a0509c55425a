"""The steps of the study above the split: getting the data, and holding out events of it."""

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import write_json
from sampled_metrics.cli.paper import Input, Output, mapping

if TYPE_CHECKING:
    from sampled_metrics.datasets.definition import Definition
    from sampled_metrics.datasets.split import Split

app = typer.Typer()
_log = logging.getLogger("sampled_metrics")

Record = Annotated[Path, typer.Option(help="Where to record its origin.", show_default=False)]
Dataset = Annotated[
    str, typer.Option(help="Format and name; columns and separator of a table, as JSON.")
]


@app.command()
def fetch(
    output: Output,
    source: Record,
    dataset: Annotated[str, typer.Option(help="Which MovieLens.")] = "ml-1m",
    archive: Annotated[
        str, typer.Option(envvar="MOVIELENS_ARCHIVE", help="Local archive to use.")
    ] = "",
    cache: Annotated[str, typer.Option(help="Folder for downloads.")] = "",
    url: Annotated[str, typer.Option(help="Address to download from.")] = "",
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds without a byte.")] = 30.0,
    retries: Annotated[int, typer.Option(min=0, help="Attempts after the first.")] = 3,
) -> None:
    """Get an archive of MovieLens: a local file, else the cache, else the publisher's server."""
    from sampled_metrics.datasets import fetch as fetching
    from sampled_metrics.datasets.catalogue import movielens
    from sampled_metrics.datasets.download import Download

    chosen = movielens(dataset)
    found = fetching.fetch(
        output,
        Path(archive) if archive else None,
        Path(cache) if cache else None,
        chosen,
        Download.of(chosen, url, timeout, retries),
    )
    write_json(source, found.as_dict())
    found.log_terms()
    official = {True: "the official", False: "not the official", None: "maybe the official"}
    file = Path(chosen.member).name
    _log.info("fetch: %s, %s %s", found.origin, official[found.ratings_is_official], file)


@app.command()
def describe(
    table: Input,
    source: Record,
    dataset: Dataset = '{"format": "table"}',
) -> None:
    """Record the origin of a table of interactions: its checksum, licence and citation."""
    from sampled_metrics.datasets.definition import Definition
    from sampled_metrics.datasets.source import describe_table

    chosen = Definition.of(mapping(dataset, "--dataset"))
    if chosen.table is None:
        raise InputError("--dataset: format is 'movielens'; allowed: table (`fetch` is for others)")
    found = describe_table(table, chosen.name, chosen.licence, chosen.citation)
    write_json(source, found.as_dict())
    found.log_terms()
    _log.info("describe: %s, %d bytes", table.name, found.bytes)


@app.command()
def split(
    data: Input,
    output: Output,
    counts: Annotated[Path, typer.Option(help="Where to record the counts.", show_default=False)],
    dataset: Dataset = '{"format": "movielens", "name": "ml-1m"}',
    filters: Annotated[str, typer.Option(help="Which events to leave out, as JSON.")] = "{}",
    method: Annotated[str, typer.Option(help="leave-last-out or random.")] = "leave-last-out",
    tie_break: Annotated[str, typer.Option(help="Which of several last events.")] = "ncf",
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is random.")] = 0,
) -> None:
    """Read the events of an archive or table, filter them, hold out one of each user."""
    from sampled_metrics._base.seeds import generator
    from sampled_metrics.datasets.definition import Definition
    from sampled_metrics.datasets.filters import Filters
    from sampled_metrics.datasets.split import hold_out, save_split

    chosen = Definition.of(mapping(dataset, "--dataset"))
    wanted = Filters.of(mapping(filters, "--filters"))
    began = time.perf_counter()
    interactions, removed = wanted.apply(chosen.read(data, wanted.min_rating is not None))
    parsed = time.perf_counter()
    made = hold_out(interactions, method, tie_break, generator(seed, "split"))
    seconds = f"parsed in {parsed - began:.2f} s, split in {time.perf_counter() - parsed:.2f} s"
    save_split(output, made)
    record = {
        "method": method,
        "tie_break": tie_break if method == "leave-last-out" else None,
        **made.counts(),
        "filters": {
            name: {"value": value, "removed": removed[name]} for name, value in wanted.on.items()
        },
        **_expectation(chosen, made, filtered=bool(wanted.on)),
    }
    write_json(counts, record)
    _log.info("split: %s; %s", _in_words(made.counts()), seconds)


def _expectation(chosen: "Definition", made: "Split", filtered: bool) -> dict[str, Any]:
    """What the publisher counts, and whether we count the same; None where that says nothing."""
    if chosen.expected is None:
        return {"expected": None, "as_expected": None}
    expected, found = chosen.expected._asdict(), made.counts()
    alike = None if filtered else all(found[name] == count for name, count in expected.items())
    if alike is False:
        _log.warning("split: published counts of %s differ: %s", chosen.name, _in_words(expected))
    return {"expected": expected, "as_expected": alike}


def _in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
