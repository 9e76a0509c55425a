"""Sections 5.3, 6.1 and 6.2: ranks, exact and sampled metrics of X, Y and Z."""

import numpy as np

from sampled_metrics.study.cells import SAMPLED
from sampled_metrics.study.claims.registry import Finding, claim
from sampled_metrics.study.claims.run import CORRECTIONS, METRICS, NAMES, TOP_HEAVY, Run
from sampled_metrics.study.claims.words import by_metric, listed, ranked

X_NUMBERS = {"of_run": True, "varies": True}
LAST_RANKS = 100  # width of the worst bucket of Figure 5 as it is drawn here


def _orders(run: Run, metrics: tuple[str, ...], column: str) -> dict[str, str]:
    return {metric: ranked(run.means(metric, column)) for metric in metrics}


@claim("6.1", "For each of the 6040 test users [...] In total we get 6040 ranks",
       published="6,040", of_run=True)  # fmt: skip
def _(run: Run) -> Finding:
    users = {len(run.ranks[name]) for name in NAMES}
    return Finding(users == {6040}, f"{max(users):,}")


@claim("6.1", "Z is the best in the top 10", **X_NUMBERS)
def _(run: Run) -> Finding:
    values = run.exact("Recall@10")
    return Finding(ranked(values).startswith("Z"), f"Recall@10: {listed(values)}")


@claim(
    "6.1", "it puts the relevant items of over 1600 users in the worst bucket",
    published="> 1,600", of_run=True,
    note=f"buckets of {LAST_RANKS} ranks; with ties ranked last and 120 ranks it is true (audit)",
)  # fmt: skip
def _(run: Run) -> Finding:
    ranks = run.ranks["Z"]
    first = int(ranks.n_candidates.max()) - LAST_RANKS
    # of e + 1 equally likely places, those beyond `first`
    places = np.clip(ranks.worst_rank - np.maximum(ranks.best_rank - 1, first), 0, None)
    random = float(np.sum(places / (ranks.n_tied + 1)))
    last = int(np.sum(ranks.worst_rank > first))
    return Finding(
        random > 1600, f"{random:.0f} with ties at random, {last:,} with ties ranked last"
    )


@claim("6.1", "2310 items are in the top 100", published="2,310", **X_NUMBERS)
def _(run: Run) -> Finding:
    users = run.users("top 100")
    return Finding(users == 2310, f"{users:,} of X")


@claim("6.1", "less than 300 are in the bottom half", published="< 300", **X_NUMBERS)
def _(run: Run) -> Finding:
    users = run.users("bottom half")
    return Finding(users < 300, f"{users} of X")


@claim("6.1", "Y is in the middle, with a better top 10 performance than X", **X_NUMBERS)
def _(run: Run) -> Finding:
    values = run.exact("Recall@10")
    return Finding(ranked(values) == "Z > Y > X", f"Recall@10: {listed(values)}")


@claim("6.1", "tends to put the relevant item at a worse rank overall", note="AUC of Y and X",
       **X_NUMBERS)  # fmt: skip
def _(run: Run) -> Finding:
    values = run.exact("AUC")
    return Finding(values["Y"] < values["X"], f"AUC: {listed(values)}")


@claim(
    "6.2", "for Recall, NDCG and AP, recommender Z is better than Y better than X on the exact "
    "metric", **X_NUMBERS,
)  # fmt: skip
def _(run: Run) -> Finding:
    values = {metric: run.exact(metric) for metric in TOP_HEAVY}
    holds = all(ranked(each) == "Z > Y > X" for each in values.values())
    return Finding(holds, by_metric({name: listed(each) for name, each in values.items()}))


@claim(
    "6.2", "recommender X is much better than Y which is better than Z", note="sampled Recall",
    **X_NUMBERS,
)  # fmt: skip
def _(run: Run) -> Finding:
    values = run.sampled("Recall@10")
    return Finding(ranked(values) == "X > Y > Z", listed(values))


@claim(
    "6.2", "All the measures have low standard deviation [...] due to the bias", of_run=True,
    note="low: below a tenth of the bias, for Recall, NDCG and AP",
)  # fmt: skip
def _(run: Run) -> Finding:
    deviations = [run.at(name, metric, SAMPLED, kind="expected_std")
                  for metric in TOP_HEAVY for name in NAMES]  # fmt: skip
    bias = [run.sampled(metric)[name] - run.exact(metric)[name]
            for metric in TOP_HEAVY for name in NAMES]  # fmt: skip
    holds = all(10 * sd < b for sd, b in zip(deviations, bias, strict=True))
    return Finding(
        holds,
        f"deviations {min(deviations):.2f} to {max(deviations):.2f}, "
        f"bias {min(bias):.1f} to {max(bias):.1f}",
    )


@claim("6.2", "for NDCG and AP, the worst recommender on the exact metric (X) appears to be the "
       "best", **X_NUMBERS)  # fmt: skip
def _(run: Run) -> Finding:
    metrics = ("NDCG@10", "AP")
    holds = all(
        ranked(run.exact(metric)).endswith("X") and ranked(run.sampled(metric)).startswith("X")
        for metric in metrics
    )
    return Finding(holds, by_metric({metric: listed(run.sampled(metric)) for metric in metrics}))


@claim("6.2", "The relative ordering of the two better recommenders is correct", of_run=True,
       note="Z above Y by sampled NDCG and AP")  # fmt: skip
def _(run: Run) -> Finding:
    values = {metric: run.sampled(metric) for metric in ("NDCG@10", "AP")}
    holds = all(each["Z"] > each["Y"] for each in values.values())
    shown = {m: f"Z {each['Z']:.2f}, Y {each['Y']:.2f}" for m, each in values.items()}
    return Finding(holds, by_metric(shown))


@claim("6.2", "For AUC, all sampled results are consistent with the exact metrics", **X_NUMBERS)
def _(run: Run) -> Finding:
    exact, sampled = run.exact("AUC"), run.sampled("AUC")
    return Finding(
        ranked(exact) == ranked(sampled), f"exact {listed(exact)}; sampled {listed(sampled)}"
    )


@claim("6.2", "The worst recommender (X) would have been found to be the best one", **X_NUMBERS)
def _(run: Run) -> Finding:
    orders = _orders(run, TOP_HEAVY, SAMPLED)
    return Finding(all(each.startswith("X") for each in orders.values()), by_metric(orders))


@claim("Caption of Table 3", "Sampled metrics are inconsistent with the exact metrics",
       **X_NUMBERS)  # fmt: skip
def _(run: Run) -> Finding:
    changed = [m for m in METRICS if ranked(run.exact(m)) != ranked(run.sampled(m))]
    return Finding(changed == list(TOP_HEAVY), f"order changes for {', '.join(changed)}")


@claim("5.3", "it could have high variance, which we observe numerically in Section 6",
       of_run=True, note="standard deviation of Recall@10 of Y, uncorrected and by γ")  # fmt: skip
def _(run: Run) -> Finding:
    columns = (SAMPLED, *CORRECTIONS[2:])
    rows = {
        (name, metric): [run.at(name, metric, column, kind="expected_std") for column in columns]
        for metric in TOP_HEAVY
        for name in NAMES
    }
    holds = all(each[1:] == sorted(each[1:]) and each[-1] > each[0] for each in rows.values())
    shown = zip(columns, rows["Y", "Recall@10"], strict=True)
    return Finding(holds, by_metric({name: f"{sd:.2f}" for name, sd in shown}))
