"""Write the numbers that pages quote from the files of results, in place: `make quote`.

A comment directly after a number, or after a text in backquotes, says where it comes from:

    They were wrong in 10<!-- verdicts: cls wrong --> % of the draws.

Here, the function `verdicts` of this module reads a file, and returns a number called `cls wrong`.
A tag cannot contain comments; a comment before it lists its numbers with what they are:

    <!-- below: 66.1 = recall: X sampled, 7.75 = recall: X exact -->
    <img src="slope.svg" alt="Recall@10 of X: 66.1 % against 100 random items, 7.75 % over all.">

Tables are between two comments, `table` with the same names, and `end`:

    <!-- table peers: Exact metrics -->
    <!-- end -->
"""

import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pandas as pd

import sampled_metrics as sm
from benchmarks import measure
from sampled_metrics.read.kinds import KINDS
from sampled_metrics_study import reference
from sampled_metrics_study.figures.lens import compute_lens
from sampled_metrics_study.scorecard import verdicts_of_numbers
from sampled_metrics_study.verdicts import VERDICTS, verdict_line

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "results/reference"
PAGES = [
    ROOT / "README.md",
    *sorted(ROOT.glob("docs/*.md")),
    ROOT / "benchmarks/README.md",
    ROOT / "paper/paper.md",
]
NUMBER = r"\d(?:[\d.,]*\d)?"
AFTER_NUMBER = re.compile(rf"(`[^`\n]+`|{NUMBER})<!-- (\w+): ([^>]+) -->")
BEFORE_TAG = re.compile(r"<!-- below: (.+?) -->(\s*<[^>]+>)")
IN_TAG = re.compile(rf"({NUMBER}) = (\w+): (.+)")
TABLE = re.compile(r"(?s)<!-- table (\w+): ([^>]+) -->\n(.*?)<!-- end -->")
COMMENT = re.compile(r"<!-- (?:table )?\w+: .*?-->")


def main() -> None:
    """Write the quoted numbers of all pages."""
    for page in PAGES:
        text = page.read_text("utf-8")
        try:
            written = quoted(text)
        except ValueError as error:
            sys.exit(f"{page}: {error}")
        if written != text:
            page.write_text(written, "utf-8")
            print(f"{page.relative_to(ROOT)} has other numbers now")


def quoted(text: str) -> str:
    """Return the text of a page with its numbers as the sources have them."""
    rest = text
    for pattern, write in ((AFTER_NUMBER, number), (BEFORE_TAG, tag), (TABLE, table)):
        text = pattern.sub(write, text)
        rest = pattern.sub("", rest)
    misplaced = COMMENT.search(rest)
    if misplaced:
        raise ValueError(f"{misplaced[0]} is not after a number, or not before a tag or a table")
    return text


def value(source: str, key: str) -> str:
    """Return a number of a source."""
    values = SOURCES[source]() if source in SOURCES else {}
    if key not in values:
        raise ValueError(f"nothing is called '{source}: {key}' in {Path(__file__).name}")
    return values[key]


def number(quote: re.Match[str]) -> str:
    """Return a number with its comment, or a text in backquotes."""
    old, source, key = quote.groups()
    quotes = "`" if old[0] == "`" else ""
    return f"{quotes}{value(source, key)}{quotes}<!-- {source}: {key} -->"


def tag(quote: re.Match[str]) -> str:
    """Return a tag with the comment before it."""
    listed, text = quote.groups()
    new_of, comment = {}, []
    for item in listed.split(", "):
        one = IN_TAG.fullmatch(item)
        if one is None or re.findall(NUMBER, text).count(one[1]) != 1:
            raise ValueError(f"{item!r} is not a number that is once in the tag, and its source")
        new_of[one[1]] = value(one[2], one[3])
        comment.append(f"{new_of[one[1]]} = {one[2]}: {one[3]}")
    text = re.sub(NUMBER, lambda old: new_of.get(old[0], old[0]), text)
    return f"<!-- below: {', '.join(comment)} -->{text}"


def table(quote: re.Match[str]) -> str:
    """Return a table between its comments."""
    source, key, _ = quote.groups()
    return f"<!-- table {source}: {key} -->\n{value(source, key)}<!-- end -->"


# The sources, each with the file that it reads.


def scorecard() -> dict[str, str]:
    """Verdicts on the published numbers."""
    card = pd.read_csv(REFERENCE / "scorecard.csv", keep_default_na=False)
    counts = Counter(verdicts_of_numbers(card))
    n_std = sum(card["std verdict"] != "")
    return {
        "all": f"{counts.total()}",
        "values": f"{counts.total() - n_std}",
        "standard deviations": f"{n_std}",
        "line": verdict_line(counts),
        **{verdict: f"{counts[verdict]}" for verdict in VERDICTS},
    }


def claims() -> dict[str, str]:
    """Verdicts on sentences of the paper, and in how many of 20 other starts of X some hold."""
    table = pd.read_csv(REFERENCE / "claims.csv")
    depends = table["verdict"] == "depends on the start"
    starts = table.loc[depends, "note"].str.extract(r"(\d+) of 20 others")[0].astype(int)
    return {
        "all": f"{len(table)}",
        **table["verdict"].value_counts().astype(str),
        **{f"start {i}": f"{n}" for i, n in enumerate(sorted(starts), 1)},
    }


def recall() -> dict[str, str]:
    """Recall@10 in percent, exact and among 100 negatives, as in the chart of the README."""
    table = pd.read_csv(REFERENCE / "tables/table3.csv")
    rows = table[(table["metric"] == "Recall@10") & table["column"].isin(["Exact", "Sampled"])]
    digits = {"Exact": 2, "Sampled": 1}
    return {
        f"{row.row} {row.column.lower()}": f"{row[7]:.{digits[row.column]}f}"
        for row in rows.itertuples()
    }


def lens() -> dict[str, str]:
    """The cut-off that Recall@10 among 100 negatives acts like."""
    *_, measured = compute_lens(*reference.ranks_and_settings(REFERENCE)).headline
    return {"cut-off": measured.partition("@")[2]}


def figure6() -> dict[str, str]:
    """Negatives from which on X and Y are in the right order: on average, and in 95 % of runs."""
    table = pd.read_csv(REFERENCE / "figures/figure6.csv")
    starts = pd.read_csv(REFERENCE / "starts.csv")
    sizes = {}
    for estimator in ("Sampled", "BV 0.1"):
        of_pair = table[(table["recommender"] == "X vs Y") & (table["estimator"] == estimator)]
        by_kind = of_pair.set_index("kind")["n_negatives"]
        is_pair = (starts["table"] == 6) & (starts["row"] == "X vs Y")
        of_starts = starts.loc[is_pair & (starts["column"] == estimator), "value"]
        sizes |= {
            f"{estimator} average": by_kind["ordered"],
            f"{estimator} least": of_starts.min(),
            f"{estimator} most": of_starts.max(),
            f"{estimator} sure": by_kind["sure"],
        }
    return {key: f"{size:,.0f}" for key, size in sizes.items()}


def verdicts() -> dict[str, str]:
    """Percent of draws whose order of two known recommenders is wrong."""
    table = pd.read_csv(REFERENCE / "verdicts.csv")
    draws = table["seeds"].sum()
    wrong = [f"{method} wrong" for method in ("range", "cls", "bv:0.1")]
    return {key: f"{100 * table[key].sum() / draws:.0f}" for key in wrong}


def orders() -> dict[str, str]:
    """The fewest runs with a right order of a pair by about 100 scores per user."""
    table = pd.read_csv(REFERENCE / "beyond/orders.csv")
    budgets = table[table["method"] == "budget"]
    (runs,) = set(budgets["runs"])
    return {"runs": f"{runs}", **budgets.groupby("proxy")["right"].min().astype(str)}


def audit() -> dict[str, str]:
    """AUC of Y from the rank estimate, with two divisors."""
    table = pd.read_csv(REFERENCE / "audit.csv")
    table = table[table["quantity"] == "Y, AUC, Rank Estimate"].set_index("reading")["value"]
    return {
        f"m{plus}": f"{table[f'divided by m{text}; floor']:.2f}"
        for plus, text in {"": ", as printed", " + 1": "+1"}.items()
    }


def coverage() -> dict[str, str]:
    """Percent of intervals of estimates from 100 negatives with the expectation, of X, Y and Z."""
    page = (REFERENCE / "coverage.md").read_text("utf-8")
    section = page.partition("\n## Estimates from 100 negatives\n")[2]
    rows = [row for row in rows_of(section) if row["population"] in "XYZ"]
    least = min(float(row["least"]) for row in rows)
    return {"least": f"{least}", "greatest": f"{max(float(row['greatest']) for row in rows)}"}


def nearest() -> dict[str, str]:
    """Cases of the paper's study in which an estimator has the smallest error, without AUC."""
    table = pd.read_csv(REFERENCE / "tables/likely.csv")
    table = table[(table["estimator"] != "Exact") & (table["metric"] != "AUC")]
    errors = table.pivot(index=["metric", "recommender"], columns="estimator", values="error")
    counts = Counter(errors.idxmin(axis=1))
    return {"cases": str(len(errors))} | {name.lower(): str(n) for name, n in counts.items()}


def reported() -> dict[str, str]:
    """Percent of ranges from printed numbers with the exact value; in brackets, of refusals."""
    rows = rows_of((ROOT / "docs/measured/reported.md").read_text("utf-8"))
    cells = [cell for row in rows for column, cell in row.items() if column.startswith("m = ")]
    held = [float(cell.partition(" (")[0]) for cell in cells]
    return {"least": f"{min(held):.0f}", "greatest": f"{max(held):.0f}"}


def warnings() -> dict[str, str]:
    """Calls without a mistake, and those of them with a warning."""
    page = (ROOT / "docs/measured/warnings.md").read_text("utf-8")
    calls = re.search(r"(\d+) calls have data", page)
    alarms = re.search(r"(\d+) of the calls without a mistake", page)
    return {"calls": calls[1], "alarms": alarms[1]}


def negatives() -> dict[str, str]:
    """Percent of pairs of recommenders in the wrong order, pairs that ranges decide, and cells.

    Pairs are those of all designs and data; cells those where the worst of three is printed first.
    """
    page = (ROOT / "docs/measured/negatives.md").read_text("utf-8")
    counts = {
        title.partition(",")[0]: [int(count) for count in line.split()]
        for title, line in re.findall(r"(?m)^(.*), in all (\d+ \d+ \d+):$", page)
    }
    printed_wrong, estimates_wrong = (
        100 * counts[title][1] / sum(counts[title]) for title in ("Printed", "Estimates")
    )
    right, wrong, undecided = counts["Ranges with tastes"]
    worst_first = re.search(r"is printed first in (\d+) of (\d+) cells", page)
    return {
        "printed wrong": f"{printed_wrong:.0f}",
        "estimates wrong": f"{estimates_wrong:.0f}",
        "worst first": worst_first[1],
        "cells": worst_first[2],
        "decided": f"{right + wrong}",
        "wrong": f"{wrong}",
        "pairs": f"{right + wrong + undecided:,}",
    }


def cores() -> dict[str, str]:
    """Time of exact HR@10 and NDCG@10 as multiples of 100 negatives: 6,000 users or more, and few.

    The few users are 2,000, beside a million items of lognormal or equal lengths.
    """
    page = (ROOT / "docs/measured/cores.md").read_text("utf-8")
    section = page.partition("\n## Exact metrics and 100 negatives\n")[2].partition("\n## ")[0]
    seconds = {(row["vectors"], row["what"]): float(row["CPU s"]) for row in rows_of(section)}
    ratios = {
        vectors: of_exact / seconds[vectors, "100 negatives, drawn and scored"]
        for (vectors, what), of_exact in seconds.items()
        if what == "evaluate @10"
    }
    few_users = "2,000 x 1,000,000"
    many_users = [ratio for vectors, ratio in ratios.items() if not vectors.startswith(few_users)]
    return {
        "least": f"{min(many_users):.1f}",
        "greatest": f"{max(many_users):.1f}",
        "few users": f"{ratios[f'{few_users}, lognormal lengths']:.1f}",
        "few users, equal": f"{ratios[f'{few_users}, equal lengths']:.0f}",
    }


def future() -> dict[str, str]:
    """Percent of training events that are later than the held-out event of a user."""
    page = (ROOT / "docs/measured/future.md").read_text("utf-8")
    return {"share": re.search(r"([\d.]+) % on average", page)[1]}


def peers() -> dict[str, str]:
    """Times beside other packages: the tables of the page by their headings."""
    page = (REFERENCE / "peers.md").read_text("utf-8")
    sections = (section.split("\n", 1) for section in page.split("\n## ")[1:])
    return {heading: lines_of(text) for heading, text in sections}


def splits() -> dict[str, str]:
    """Recall@10 and the decided orders, by split."""
    lines = ["| Recall@10 | users | X | Y | Z | decided |", "| :-- | --: | --: | --: | --: | :-- |"]
    folders = {"`leave-last-out`": "ranks", "`global-time`, `cut: 0.9`": "global-time/ranks"}
    for name, folder in folders.items():
        files = {each: REFERENCE / folder / f"{each}.parquet" for each in "XYZ"}
        exact = [sm.evaluate(file, "recall@10")[0] for file in files.values()]
        values = " | ".join(f"{result.value:.4f}".removeprefix("0") for result in exact)
        lines.append(f"| {name} | {exact[0].n_users:,} | {values} | {decided(files)} |")
    return {"recall": "".join(f"{line}\n" for line in lines)}


def decided(files: dict[str, Path]) -> str:
    """Return the recommenders that are above others, in words."""
    above: dict[str, list[str]] = {}
    for result in sm.compare(files, "recall@10"):
        if result.order in ("a", "b"):
            best, worst = (result.a, result.b) if result.order == "a" else (result.b, result.a)
            above.setdefault(worst, []).append(best)
    return "; ".join(f"{' and '.join(best)} above {worst}" for worst, best in above.items())


def rules() -> dict[str, str]:
    """What rules of the workflow request: a base, and an amount for each MB of input."""
    lines = [
        "| rule | MB | MB of memory for each MB | minutes | minutes for each MB |",
        "| :-- | --: | --: | --: | --: |",
    ]
    by_rule = requests()
    for numbers in dict.fromkeys(by_rule.values()):
        names = ", ".join(f"`{name}`" for name in by_rule if by_rule[name] == numbers)
        lines.append(f"| {names} | {' | '.join(f'{number:,g}' for number in numbers)} |")
    return {"requests": "".join(f"{line}\n" for line in lines)}


def requests() -> dict[str, tuple[float, ...]]:
    """Return what each rule requests: MB and MB for each MB, minutes and minutes for each MB."""
    pair = r"scaled\(([\d.]+), ([\d.]+)\)"
    form = rf"(?ms)^rule (\w+):(?:(?!^rule ).)*?mem_mb={pair},\s+runtime={pair},"
    by_rule: dict[str, tuple[float, ...]] = {}
    workflow = ROOT / "workflow"
    for file in re.findall(r"rules/\w+\.smk", (workflow / "Snakefile").read_text("utf-8")):
        for name, *numbers in re.findall(form, (workflow / file).read_text("utf-8")):
            found = tuple(map(float, numbers))
            if by_rule.setdefault(name, found) != found:
                raise ValueError(f"rule {name} requests other resources in {file}")
    return by_rule


def kinds() -> dict[str, str]:
    """Forms of data in the order in which they are tried."""
    rows = [f"| {row.kind.value} | `{row.example}` | {row.meaning} |" for row in KINDS]
    lines = ["| kind | example | data |", "| :-- | :-- | :-- |", *rows]
    return {"all": "".join(f"{line}\n" for line in lines)}


def pages() -> dict[str, str]:
    """Pages of measurements, their scripts and minutes."""
    lines = ["| page | file | scripts | minutes |", "| :-- | :-- | :-- | --: |"]
    for row in measure.rows():
        scripts = ", ".join(f"`{script}`" for script in row["scripts"].split(", "))
        lines.append(f"| {row['page']} | `{row['file']}` | {scripts} | {row['minutes']} |")
    return {"all": "".join(f"{line}\n" for line in lines)}


def lines_of(text: str) -> str:
    """Return the lines of the tables of a text."""
    return "".join(f"{line}\n" for line in text.splitlines() if line.startswith("|"))


def rows_of(text: str) -> list[dict[str, str]]:
    """Return the rows of the first table of a text, by column."""
    lines = re.search(r"(?m)(?:^\|.*\n)+", text)[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(head, row, strict=True)) for row in rows]


READERS = (scorecard, claims, recall, lens, figure6, verdicts, orders, audit, coverage, nearest)
READERS += (reported, warnings, negatives, cores, future, peers, splits, rules, kinds, pages)
SOURCES = {reader.__name__: cache(reader) for reader in READERS}

if __name__ == "__main__":
    main()
