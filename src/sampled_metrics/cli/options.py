"""Options that several commands share, so that one thing has one name."""

from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics.cli.output import Format

METRICS = ["recall@10", "ndcg@10", "ap", "auc"]
ESTIMATORS = ["sampled", "cls", "bv:0.1"]
RANKS = (
    "Rank records (n_candidates, n_better, n_tied), exact ranks (rank), lists or scores, "
    "as CSV, parquet, TREC run, .npy or .npz."
)
WITHOUT = "without-replacement"
INTERVAL = "The interval covers the variation over users and over the drawn negatives, not bias."

SampledFile = Annotated[
    Path, typer.Argument(help="Sampled ranks: a column sampled_rank, 1 to m + 1.")
]
RankFile = Annotated[Path, typer.Argument(help=RANKS, show_default=False)]
RankFiles = Annotated[list[Path], typer.Argument(help=RANKS, show_default=False)]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", help="Such as recall@10; repeat for several.", show_default=False),
]
Estimators = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        help="sampled, rank-estimate, cls or bv:GAMMA; repeat for several.",
        show_default=False,
    ),
]
Ties = Annotated[str, typer.Option(help="expected, random, optimistic or pessimistic.")]
Items = Annotated[
    int | None,
    typer.Option(
        help="n: candidates of a full ranking, the held-out item included; else the column "
        "n_candidates.",
        show_default=False,
    ),
]
Negatives = Annotated[int, typer.Option(help="m: negatives drawn, the held-out item not included.")]
Sampling = Annotated[
    str,
    typer.Option(
        help="without-replacement, with-replacement, or distinct (with replacement, duplicates "
        "collapsed)."
    ),
]
Relevant = Annotated[
    Path | None,
    typer.Option(
        help="Relevant or held-out items of lists and scores: qrels, or user_id and item_id.",
        show_default=False,
    ),
]
Seen = Annotated[
    Path | None,
    typer.Option(help="Items seen in training, no candidates of scores.", show_default=False),
]
Confidence = Annotated[float, typer.Option(help="Nominal coverage of the intervals.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of what is drawn.")]
Form = Annotated[Format, typer.Option("--format", help="How to print.")]
Output = Annotated[
    Path | None, typer.Option(help="File to write instead of printing.", show_default=False)
]


Population = Annotated[
    str | None,
    typer.Option(
        help="Print the bias if true ranks were distributed as stated: uniform, or a file of "
        "exact ranks or rank records.",
        show_default=False,
    ),
]
PerUser = Annotated[
    bool, typer.Option(help="Correct each row for its own n_candidates, not for their mean.")
]
