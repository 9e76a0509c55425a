"""Commands that evaluate on a budget, with scores from any program: start, ask, tell, result."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics._base import defaults
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.text import text_of
from sampled_metrics.cli import options
from sampled_metrics.cli.output import Format, emit, emit_columns, emit_text, row_of

NOTHING_LEFT = 3  # exit status of `ask` when the evaluation is complete
# Of a comparison: what is the same for all pairs, or says the same as another key.
_NOT_SHOWN = (
    *("estimator", "range_low", "range_high", "behaves_like"),
    *("paired", "n_items", "n_negatives", "sampling"),
)
app = typer.Typer(
    help="Estimate exact metrics from about a hundred scores per user, computed by any program."
)
_log = logging.getLogger("sampled_metrics")

_positive = options.number(lambda value: 0.0 < value < float("inf"), "above 0")

State = Annotated[Path, typer.Argument(help="Folder of the evaluation.")]


def _require_outside(folder: Path, output: Path | None) -> None:
    if output is not None and output.resolve().parent == folder.resolve():
        raise InputError("is where the evaluation keeps its state; write elsewhere", path=folder)


@app.command()
def start(
    folder: State,
    seen: Annotated[
        Path,
        typer.Option(
            help="What users have seen, so that it is no candidate: a table of user_id and "
            "item_id, or .npz of a sparse matrix (scipy.sparse.save_npz), whose row and column "
            "numbers --relevant then holds."
        ),
    ],
    relevant: options.HeldOut,
    items: Annotated[
        Path | None, typer.Option(help="Table of item_id: items that nobody has seen.")
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(help="Name of a recommender; repeat for several, which are compared."),
    ] = None,
    budget: Annotated[
        float,
        typer.Option(
            help="Scores per user and recommender, at most; those of held-out items not counted.",
            callback=_positive,
        ),
    ] = defaults.BUDGET,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="Cheap scores that tell where to look: popularity, als (8 factors), .npz with "
            "scores, user_ids and item_ids, or .npy where --seen is a matrix. Of several, a pilot "
            "takes the one that fits best.  [default: popularity]"
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="recall@k, ndcg@k or ap, such as recall@10,ap.  [default: recall@10, ndcg@10, ap]",
            callback=options.parsed_by(
                "metrics.parse_measures", "inference.budget.values.parse_metrics"
            ),
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="adaptive; or scan, which scores in the proxy's order and stops.",
            callback=options.one_of("inference.budget.evaluation.METHODS"),
        ),
    ] = "adaptive",
    until_decided: Annotated[
        bool, typer.Option("--until-decided", help="Stop early, once the orders are decided.")
    ] = False,
    half_width: Annotated[
        float | None,
        typer.Option(
            help="Stop early, once no interval of a recommender is wider than twice this.",
            callback=_positive,
        ),
    ] = None,
    confidence: options.Confidence = defaults.CONFIDENCE,
    seed: options.Seed = 0,
) -> None:
    """Begin an evaluation in a new folder, which keeps a copy of all that it needs.

    Then, from a shell, with a program that adds a column score to the pairs:

    `while sampled-metrics budget ask FOLDER --output pairs.csv; do score pairs.csv > scores.csv &&
    sampled-metrics budget tell FOLDER scores.csv || break; done`, and `sampled-metrics budget
    result FOLDER`.

    It takes a dozen rounds or two. A recommender that can score all candidates of all users is
    better ranked fully, see `sampled-metrics evaluate`. In Python the same is
    `sampled_metrics.evaluate_on_budget`.
    """
    from sampled_metrics.inference.budget.folder import Folder, Options
    from sampled_metrics.inference.budget.problem import read_problem

    names = name or ["score"]
    if len(set(names)) < len(names):
        raise InputError("--name: recommenders need different names")
    chosen = Options(
        names=names,
        metrics=metric or list(defaults.BUDGET_METRICS),
        budget=budget,
        method=method,  # type: ignore[arg-type]  # checked by its option
        confidence=confidence,
        seed=seed,
        until_decided=until_decided,
        half_width=half_width,
    )
    problem = read_problem(seen, relevant, items)
    evaluation = Folder.create(folder, problem, proxy or ["popularity"], chosen)
    _log.info(
        "%s: %s users, %s items; at most %s scores, and %s of held-out items",
        folder,
        *(f"{ids.size:,}" for ids in (problem.user_ids, problem.item_ids)),
        f"{evaluation.n_allowed:,}",
        f"{problem.owner.size * len(names):,}",
    )


@app.command()
def ask(folder: State, output: options.Output = None) -> None:
    """Write the pairs to score next as CSV; the same ones until their scores are told.

    Columns: user_id, item_id and, with several recommenders, recommender: the one to score the
    pair. A name ending in .parquet is written so.

    Exit status 3, and nothing is written, when no scores are wanted because the evaluation is
    complete; 2 for errors.
    """
    from sampled_metrics.inference.budget.folder import Folder

    _require_outside(folder, output)
    opened = Folder(folder)
    if opened.pending is None:
        _log.info("%s: complete; `sampled-metrics budget result` prints the result", folder)
        raise typer.Exit(NOTHING_LEFT)
    emit_columns(opened.asked.columns(), Format.CSV, output)


@app.command()
def tell(
    folder: State,
    scores: Annotated[
        list[Path],
        typer.Argument(
            help="Tables with the columns that `ask` wrote and score, larger is better; rows in "
            "any order, each pair once."
        ),
    ],
) -> None:
    """Take the scores of the pairs asked, all of them; print what is known so far.

    That is what the model of users expects. It has not been audited and has no interval, so it is
    progress and no result.
    """
    from sampled_metrics.inference.budget.folder import Folder
    from sampled_metrics.inference.budget.printed import text_so_far

    opened = Folder(folder)
    session = opened.tell(scores)
    typer.echo(text_so_far(opened, session))


@app.command()
def result(
    folder: State,
    pairs: Annotated[
        bool,
        typer.Option("--pairs", help="JSON and CSV of pairs of recommenders; a table shows both."),
    ] = False,
    correction: options.Correction = "holm",
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Print metrics with intervals, orders, price and proxy of a complete evaluation.

    Intervals and orders are about the exact metrics of the users evaluated, as full rankings would
    give them. An order is decided if the interval of the difference excludes 0.

    Keys: recommender, metric, value (to rank by), std_error, ci_low, ci_high, model, n_users,
    n_held_out, n_candidates, n_asked, n_audited, proxy, depth, weak_proxy. With --pairs: a, b,
    metric, value_a, value_b, difference (b - a), std_error, ci_low, ci_high, order (a, b or
    undecided), p_value, verdict, n_users. Values are fractions.
    """
    from sampled_metrics.inference.budget.folder import Folder

    _require_outside(folder, output)
    evaluated = Folder(folder).result()
    if form is Format.TABLE:
        emit_text(text_of(evaluated.parts(correction=correction)), output)
    elif not pairs:
        emit(evaluated.rows(), form, output)
    elif len(evaluated.names) > 1:
        compared = evaluated.compare(correction)
        emit([row_of(pair, *_NOT_SHOWN) for pair in compared], form, output)
    else:
        raise InputError("--pairs: the evaluation has one recommender")
