"""Commands that evaluate on a budget, with scores from any program: start, ask, tell, result."""

import logging
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics._base import defaults
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import alone_in
from sampled_metrics._base.text import text_of
from sampled_metrics.cli import options
from sampled_metrics.cli.output import Format, emit, emit_columns, emit_text

NOTHING_LEFT = 3  # exit status of `ask` when the evaluation is complete
PAIR_KEYS = (
    "a b metric value_a value_b difference std_error ci_low ci_high order p_value verdict n_users"
)
app = typer.Typer(
    help="Estimate exact metrics from about a hundred scores per user, computed by any program."
)
_log = logging.getLogger("sampled_metrics")

_BUDGET = "Scores per user and recommender, at most; those of held-out items not counted."
_PROXY = (
    "Cheap scores that tell where to look: popularity, als (8 factors; needs implicit), or a table "
    "of user_id, item_id and score, in which items without a score come last."
)
_SEEN = "Items seen in training, which are no candidates: a table of user_id and item_id."
_CANDIDATES = (
    "Items ranked for each user: a table of user_id and item_id; by default all that the user has "
    "not seen."
)
_METRICS = "recall@k, ndcg@k or ap; by default recall@10, ndcg@10 and ap."

State = Annotated[Path, options.argument("FOLDER", "Folder of the evaluation.")]
Names = Annotated[list[str] | None, options.option("NAME", "Recommender; repeat to compare.")]
UntilDecided = Annotated[bool, options.option("", "Stop once decided.", "--until-decided")]


@app.command(
    epilog="Example: sampled-metrics budget start FOLDER --relevant test.csv --seen train.csv"
)
def start(
    folder: State,
    relevant: options.HeldOut,
    seen: Annotated[Path | None, options.option("FILE", _SEEN)] = None,
    candidates: Annotated[Path | None, options.option("FILE", _CANDIDATES)] = None,
    items: options.AllItems = None,
    name: Names = None,
    budget: Annotated[float, options.option("SCORES", _BUDGET)] = defaults.BUDGET,
    proxy: Annotated[str, options.option("PROXY", _PROXY)] = "popularity",
    metric: Annotated[list[str] | None, options.option("NAMES", _METRICS)] = None,
    until_decided: UntilDecided = False,
    confidence: options.Confidence = defaults.CONFIDENCE,
    seed: options.Seed = 0,
) -> None:
    """Begin an evaluation in a new folder, which keeps a copy of all that it needs.

    The same again with a larger --budget goes on in the folder; no pair is scored twice.

    Then, with a program that adds a column score to the pairs: `while sampled-metrics budget ask
    FOLDER --output pairs.csv; do score pairs.csv > scores.csv && sampled-metrics budget tell FOLDER
    scores.csv || break; done`, and `sampled-metrics budget result FOLDER`.

    A recommender that can score all candidates of all users is better ranked fully, see
    `sampled-metrics evaluate`. In Python the same is `sampled_metrics.evaluate_on_budget`.
    """
    from sampled_metrics.budget.candidates import Order, make_proxy
    from sampled_metrics.budget.evaluation import Settings, expectation
    from sampled_metrics.budget.folder import SETTINGS, Folder
    from sampled_metrics.budget.problem import Problem

    settings = {
        "names": name or ["score"],
        "metrics": metric or defaults.BUDGET_METRICS,
        "budget": budget,
        "confidence": confidence,
        "seed": seed,
        "until_decided": until_decided,
    }
    problem = Problem.of(relevant, seen, items, candidates)
    chosen = Settings.of(settings, "budget start")
    order = Order(problem, make_proxy(proxy, problem, chosen.seed))
    if (folder / SETTINGS).is_file() and chosen.budget > Folder(folder).settings.budget:
        with alone_in(folder):
            Folder.resume(folder, order, chosen)
    else:
        Folder.create(folder, order, chosen)
    _log.info(
        f"{folder}: {problem.user_ids.size:,} users, {problem.item_ids.size:,} items, "
        f"{problem.owner.size:,} of them held out; {expectation(order, chosen.budget)[1]}"
    )


@app.command(epilog="Example: sampled-metrics budget ask FOLDER --output pairs.csv")
def ask(folder: State, output: options.Output = None) -> None:
    """Write the pairs to score next as CSV; the same ones until their scores are told.

    Columns: user_id, item_id and, with several recommenders, recommender: the one to score the
    pair. A name ending in .parquet is written so.

    Exit status 3, and nothing is written, when no scores are wanted because the evaluation is
    complete; 2 for errors.
    """
    from sampled_metrics.budget.folder import Folder

    opened = Folder(folder)
    if opened.state.next is None:
        _log.info("%s: complete; `sampled-metrics budget result` prints the result", folder)
        raise typer.Exit(NOTHING_LEFT)
    emit_columns(opened.pairs, Format.CSV, output)


@app.command(epilog="Example: sampled-metrics budget tell FOLDER scores.csv")
def tell(
    folder: State,
    scores: Annotated[
        list[Path],
        options.argument(
            "FILE",
            "Tables with the columns that `ask` wrote and score, larger is better; rows in any "
            "order, each pair once.",
        ),
    ],
) -> None:
    """Take the scores of the pairs asked, all of them; print how many there are so far.

    Also the metrics that the model expects by them, which are not audited before the result.
    """
    from sampled_metrics.budget.folder import Folder

    opened = Folder(folder)
    with alone_in(folder):
        typer.echo(opened.tell(scores))


@app.command(epilog="Example: sampled-metrics budget result FOLDER")
def result(
    folder: State,
    pairs: Annotated[bool, options.option("", "Pairs, in JSON and CSV.", "--pairs")] = False,
    correction: options.Correction = "holm",
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Print metrics with intervals, orders, price and proxy of a complete evaluation.

    Intervals and orders are about the exact metrics of the users evaluated, as full rankings would
    give them. An order is decided if the interval of the difference excludes 0.

    Keys: recommender, metric, value (to rank by), std_error, ci_low, ci_high, model, n_users,
    n_held_out, n_candidates, n_asked, n_audited, proxy, depth, proxy_helps (by the first scores),
    weak_proxy (the audit disagrees with the model), notes. With --pairs: a, b, metric, value_a,
    value_b, difference (b - a), std_error, ci_low, ci_high, order (a, b or undecided), p_value,
    verdict, n_users. Values are fractions.
    """
    from sampled_metrics.budget.folder import Folder

    evaluated = Folder(folder).result()
    if form is Format.TABLE:
        emit_text(text_of(evaluated.parts(correction=correction)), output)
    elif not pairs:
        rows = [{**row, "notes": list(evaluated.notes)} for row in evaluated.rows()]
        emit(rows, form, output)
    elif len(evaluated.names) > 1:
        pairs_of = map(asdict, evaluated.compare(correction))
        emit([{key: row[key] for key in PAIR_KEYS.split()} for row in pairs_of], form, output)
    else:
        raise InputError("--pairs: the evaluation has one recommender")
