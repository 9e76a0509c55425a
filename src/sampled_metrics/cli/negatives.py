"""Commands for negatives: draw them, check those that somebody else drew."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampled_metrics._base.errors import reading
from sampled_metrics.cli import options
from sampled_metrics.cli.output import Format, Row, emit, emit_columns, row_of

if TYPE_CHECKING:
    from sampled_metrics.sampling.soundness import Check

app = typer.Typer()

SeenPairs = Annotated[
    Path, typer.Option("--seen", help="Items seen in training: a table of user_id and item_id.")
]
AllItems = Annotated[
    Path | None,
    typer.Option("--items", help="All items: a table with item_id, if some are in no other file."),
]


@app.command()
def negatives(
    relevant: options.HeldOut,
    seen: SeenPairs,
    n_negatives: options.Negatives,
    items: AllItems = None,
    strata: Annotated[
        int,
        typer.Option(
            min=1, help="Groups of equally popular items from which equally many are drawn."
        ),
    ] = 1,
    seed: options.Seed = 0,
    form: options.Form = Format.CSV,
    output: options.Output = None,
) -> None:
    """Draw negatives for each user, uniformly and without replacement.

    Seen and held-out items are no negatives. The same seed gives the same negatives, so that all
    recommenders can be ranked against them; add the held-out item of the user before scoring.

    Keys: user_id, item_id, a row for each negative.
    """
    import numpy as np

    from sampled_metrics.ranks.relevant_items import read_known_items
    from sampled_metrics.sampling.negatives import draw_negatives

    known = read_known_items(relevant, seen, items)
    with reading(relevant):
        drawn = draw_negatives(known.seen + known.held_out, n_negatives, seed=seed, strata=strata)
    columns = {
        "user_id": np.repeat(known.user_ids, n_negatives),
        "item_id": known.item_ids[drawn.ravel()],
    }
    emit_columns(columns, form, output)


@app.command("check-negatives")
def check_negatives(
    file: Annotated[Path, typer.Argument(help="Negatives: a table of user_id and item_id.")],
    relevant: options.HeldOut,
    seen: SeenPairs,
    items: AllItems = None,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Test whether negatives are as corrections and ranges assume.

    Looks for held-out and seen items and duplicates among them, users with another number and
    negatives shared by users, and tests whether they are uniform over the items, over their ids
    and over their popularity. The p-values of these three are adjusted by Holm's method.

    Keys: name, passed, found, expected, p_value (of three), remark.
    """
    from sampled_metrics.ranks.relevant_items import read_known_items
    from sampled_metrics.sampling import soundness
    from sampled_metrics.tables.ids import ITEM, USER
    from sampled_metrics.tables.reading import read_table

    table = read_table(file, "negatives (user_id, item_id)")
    table.require(USER, ITEM)
    known = read_known_items(relevant, seen, items, [table])
    drawn = soundness.Drawn(*known.pairs(table), known.seen, known.held_out)
    checks = soundness.check_negatives(drawn)
    rows, note = [row_of(check) for check in checks], ""
    if form is Format.TABLE:
        rows = [_shown(check) for check in checks]
        remarks = [f"{check.name}: {check.remark}." for check in checks if not check.passed]
        sound = "Sound: distinct, unseen and uniform as far as these tests can tell."
        note = "\n".join(remarks) or sound
    emit(rows, form, output, note)


def _shown(check: "Check") -> Row:
    """Show counts as whole numbers, and mean places in an order of the items in percent."""
    number = "{:,.0f}" if isnan(check.p_value) or check.expected > 1.0 else "{:.1%}"
    return {
        "check": check.name,
        "passed": "yes" if check.passed else "NO",
        "found": number.format(check.found),
        "if sound": number.format(check.expected),
        "p": "" if isnan(check.p_value) else f"{check.p_value:.2g}",
    }
