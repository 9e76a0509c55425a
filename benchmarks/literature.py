"""What printed sampled metrics say: ranges of the exact HR@10 in the literature; `make literature`.

Reads config/literature.csv and writes docs/measured/literature.md.
"""

from itertools import combinations
from pathlib import Path

import pandas as pd

from sampled_metrics import InputError, reported
from sampled_metrics._base.text import table_of
from sampled_metrics.metrics.measures import parse_measure

ROOT = Path(__file__).parents[1]
HEAD = """# What the literature's numbers say

Sampled metrics printed in papers and repositories, and the range that they leave for the exact
metric over all items ([method](../reported.md)); `make literature` writes this page from
`config/literature.csv`, which has the place of every number, n, m, and how they are known. Only
numbers seen in a named source are in it. A range assumes that no rank is likelier than the one
before it, at 95 %.

{summary}

"""


def parse(text: str) -> dict[str, str]:
    """Split `HR@10=0.82 MRR=0.5`."""
    return dict(pair.split("=") for pair in text.split())


def ranges(row: pd.Series, metrics: list[str], confidence: float) -> list:
    """Ranges of exact metrics for one row."""
    drawn = row["sampling"].replace("unknown-uniform", "without")
    drawn += "-replacement" * (drawn in ("with", "without"))
    counts = {name: int(row[name]) for name in ("n_items", "n_negatives", "n_users")}
    return reported(parse(row["printed"]), metrics, **counts, sampling=drawn, confidence=confidence)


def main() -> None:
    """Write the page."""
    table = pd.read_csv(ROOT / "config/literature.csv", dtype=str, keep_default_na=False)
    lines, refused, inside, pairs = [], [], [0, 0], [0, 0]
    for (source, data), rows in table.groupby(["source_id", "data_set"], sort=False):
        shown, ends = [], []
        for _, row in rows.iterrows():
            exact = parse(row["exact"])
            try:
                found = {r.metric: r for r in ranges(row, ["HR@10", *exact], 0.95)}
                ends.append(ranges(row, ["HR@10"], 0.975)[0])
            except InputError as error:
                refused.append(f"- {source}, {data}, {row['model']}: {error}")
                continue
            of_exact = [(found[str(parse_measure(name))], float(v)) for name, v in exact.items()]
            held = [r.range_low <= value <= r.range_high for r, value in of_exact]
            ten = found["hit@10"]
            inside[0], inside[1] = inside[0] + sum(held), inside[1] + len(held)
            shown.append({
                "model": row["model"],
                "printed": row["printed"],
                "HR@10 of all items": f"{ten.range_low:.3f} to {ten.range_high:.3f}",
                "middle": f"{ten.range_middle or 0:.3f}",
                "measured": exact.get("HR@10", ""),
            })  # fmt: skip
        decided = sum(a.range_high < b.range_low or b.range_high < a.range_low
                      for a, b in combinations(ends, 2))  # fmt: skip
        orders = len(ends) * (len(ends) - 1) // 2
        pairs[0], pairs[1] = pairs[0] + decided, pairs[1] + orders
        first = rows.iloc[0]
        about = f"n = {first['n_items']}, m = {first['n_negatives']}, {first['n_users']} users"
        lines.append(
            f"## {source}: {data}\n\n{first['paper']}, {first['year']}. {first['source']}. "
            f"{about}; negatives: {first['sampling']}. Of {orders} orders by HR@10, {decided} are "
            "decided.\n\n"
            f"{table_of(shown, 'github') if shown else 'No range, see the end.'}\n"
        )
        print(source, data, flush=True)
    summary = (
        f"{len(table)} rows of {table['source_id'].nunique()} sources and "
        f"{table['data_set'].nunique()} data sets. Where the exact metrics were measured too, "
        f"{inside[0]} of {inside[1]} lie inside. What was printed decides {pairs[0]} of {pairs[1]} "
        "orders by HR@10 within a table."
    )
    last = "## No range\n\n" + "\n".join(refused) + "\n"
    page = HEAD.format(summary=summary) + "\n".join(lines) + "\n" + last
    (ROOT / "docs/measured/literature.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
