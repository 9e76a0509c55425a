"""How often warnings are false alarms, and what detects mistakes; `make measure PAGE=warnings`.

Writes docs/measured/warnings.md from the calls without a mistake in tests/helpers/clean_calls.py
and the mistakes that the tests make.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.markdown import markdown
from tests.helpers.cases import Noted, calls_of_forms, ending_of
from tests.helpers.clean_calls import clean_calls
from tests.refusals.test_mistakes import MISTAKES

PAGE = Path(__file__).parents[1] / "docs/measured/warnings.md"
NUMBER = re.compile(r"\d[\d,.]*\d|\d")
END_OF_STATEMENT = re.compile(r"[:;?]")
ABOUT = """---
description: How often each warning is a false alarm, and how many mistakes it detects.
---
# Warnings: false alarms and mistakes

`make measure PAGE=warnings` writes this page. {n_clean} calls have data as their owners mean it
(`tests/helpers/clean_calls.py`): scores, vectors, lists, ranks, samples, impressions, grades and
sessions of small and large catalogues, and of weak and strong recommenders. {n_mistakes} calls have
a mistake, in the first of the forms in which the tests make it (`tests/refusals`).

{n_warned} of the calls without a mistake ({share:.1f} %) have a warning, and none has two.
{n_noted} have a note that seen items may be candidates. Warnings that no call has are not listed.

"""
CLEAN_CALLS = """
The calls without a mistake that have a warning:

"""
OUTCOMES = """
The calls with a mistake are refused, have a warning, have the note that names the mistake, or give
the right number:

"""


def statement_of(message: str) -> str:
    """Return what a warning states, without the place, the numbers and the questions."""
    _, _, text = message.partition(": ")
    return END_OF_STATEMENT.split(NUMBER.sub("N", text))[0].strip()


def count_statements(warnings_by_call: Iterable[list[str]]) -> Counter[str]:
    """Count the calls with each warning."""
    return Counter(
        statement for warnings in warnings_by_call for statement in {*map(statement_of, warnings)}
    )


def endings_of_mistakes() -> tuple[Counter[str], list[list[str]]]:
    """Count how the mistakes end, and return the warnings of those that warn."""
    outcomes: Counter[str] = Counter()
    warnings_by_call = []
    for mistake in MISTAKES:
        with tempfile.TemporaryDirectory() as folder:
            first, *_ = calls_of_forms(mistake.call, Path(folder)).values()
            ending = ending_of(first)
        if ending.refusal:
            outcomes["refused"] += 1
        elif ending.warned:
            outcomes["warned"] += 1
            warnings_by_call.append(ending.warned)
        else:
            outcomes["noted" if isinstance(mistake.outcome, Noted) else "right"] += 1
    return outcomes, warnings_by_call


def with_share(count: int, total: int) -> str:
    """Write a number of calls and its share of all."""
    return f"{count} ({100 * count / total:.1f} %)" if count else "0"


def main() -> None:
    """Measure all calls, and write the page."""
    endings = {name: ending_of(call) for name, call in clean_calls().items()}
    false_alarms = count_statements(ending.warned for ending in endings.values())
    outcomes, warnings_of_mistakes = endings_of_mistakes()
    detections = count_statements(warnings_of_mistakes)
    n_clean, n_mistakes = len(endings), len(MISTAKES)
    statements = sorted({*false_alarms, *detections}, key=lambda each: (-detections[each], each))
    rates = [
        {
            "warning": statement,
            "calls without a mistake": with_share(false_alarms[statement], n_clean),
            "calls with a mistake": with_share(detections[statement], n_mistakes),
        }
        for statement in statements
    ]
    alarmed = {name: ending.warned for name, ending in endings.items() if ending.warned}
    assert all(len(warnings) == 1 for warnings in alarmed.values())
    about = ABOUT.format(
        n_clean=n_clean,
        n_mistakes=n_mistakes,
        n_warned=len(alarmed),
        share=100 * len(alarmed) / n_clean,
        n_noted=sum(bool({*(each.notes or ())} - {*each.warned}) for each in endings.values()),
    )
    alarms = [
        {"call": name, "warning": statement_of(warnings[0])} for name, warnings in alarmed.items()
    ]
    ends = [
        {"outcome": end, "calls": with_share(count, n_mistakes)}
        for end, count in outcomes.most_common()
    ]
    page = "".join(
        [about, markdown(rates), CLEAN_CALLS, markdown(alarms), OUTCOMES, markdown(ends)]
    )
    PAGE.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
