"""Which reading of the paper's text gives which of its printed numbers.

    MOVIELENS_ARCHIVE=ml-1m.zip python -m benchmarks.audit

Where the text of Krichene and Rendle leaves a choice, or says something else than the numbers
show, each reading is computed by the study's own functions and compared with the published cell.
Writes results/reference/audit.csv and audit.md; audit_readings.py has the readings.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pandas as pd

from benchmarks.audit_readings import TOPICS, Reading
from benchmarks.paper import REFERENCE, read_paper
from sampled_metrics._base.arrays import one_thread
from sampled_metrics._base.text import table_of

LONGEST_FIRST = sorted(TOPICS, key=lambda topic: "iterations" not in topic)
INTRODUCTION = """\
# Where the paper's text and its numbers part

Krichene and Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020, leaves some choices
open, and in a few places its text says something else than its numbers show. Each way to read such
a place is measured below on MovieLens 1M, beside the published number. `yes` marks a reading from
which the published number follows: to the printed digits where it is deterministic, within three
standard errors of the published mean of 100 repetitions, plus half a unit of the last digit, where
it is sampled (ours is then the closed-form expectation). For X, within two standard deviations of
the difference between its start and the mean of ours; where ties move an exact metric (Z), within
three standard deviations over random orders of the ties. Metrics are in percent.

Where the paper says nothing, a choice was made: 4 iterations of X because its AUC says so; the
paper gives no number (topic 3).

`make audit` writes this page."""


def page(table: pd.DataFrame) -> Iterator[str]:
    """Text and tables of the page, one table per topic."""
    yield INTRODUCTION
    for topic, rows in table.groupby("topic", sort=False):
        agreeing = [
            str(reading)
            for reading, cells in rows.groupby("reading", sort=False)
            if (cells["reproduces"] == "yes").all()
        ]
        yield f"\n## {topic}\n"
        yield f"Reproduced in all rows by: {'; '.join(agreeing) or 'no reading'}.\n"
        above = rows["reading"].shift()
        shown = pd.DataFrame()
        shown["reading"] = rows["reading"].mask(rows["reading"] == above, "")
        shown["quantity"] = rows["quantity"]
        shown["ours"] = [f"{value:.3f}".removesuffix(".000") for value in rows["value"]]
        shown["published"] = rows["published"]
        shown["reproduces it"] = rows["reproduces"]
        lines = [
            {str(name): cell for name, cell in row.items()} for row in shown.to_dict("records")
        ]
        yield table_of(lines, "pipe")


@one_thread()
def readings_of(topic: str) -> list[Reading]:
    """Measure the readings of a topic."""
    paper = read_paper()
    began = time.process_time()
    found = [Reading(topic, reading, quantity) for reading, quantity in TOPICS[topic](paper)]
    print(f"{topic}: {len(found)} rows, {time.process_time() - began:.0f} s CPU", flush=True)
    return found


def main() -> None:
    """Measure all readings, in the order of the paper's sections, and write both files."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = {topic: pool.submit(readings_of, topic) for topic in LONGEST_FIRST}
        readings = [one for topic in TOPICS for one in jobs[topic].result()]
    table = pd.DataFrame(
        {
            "topic": [one.topic for one in readings],
            "reading": [one.reading for one in readings],
            "quantity": [one.quantity.name for one in readings],
            "value": [f"{one.quantity.value:.4f}" for one in readings],
            "published": [one.quantity.published for one in readings],
            "tolerance": [f"{one.quantity.tolerance:.4f}" for one in readings],
            "reproduces": ["yes" if one.quantity.is_reproduced else "no" for one in readings],
        }
    )
    table.to_csv(REFERENCE / "audit.csv", index=False)
    table["value"] = [one.quantity.value for one in readings]
    (REFERENCE / "audit.md").write_text("\n".join(page(table)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
