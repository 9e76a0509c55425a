"""Sections 5.3, 6.1 and 6.2: ranks, exact and sampled metrics of X, Y and Z."""

import numpy as np

from sampled_metrics.study.cells import SAMPLED
from sampled_metrics.study.claims.registry import Finding, measurement
from sampled_metrics.study.claims.run import CELLS, CORRECTIONS, METRICS, NAMES, TOP_HEAVY, Run
from sampled_metrics.study.claims.words import by_metric, listed, ranked

LAST_RANKS = 100  # width of the worst bucket of Figure 5 as it is drawn here


def _orders(run: Run, metrics: tuple[str, ...], column: str) -> dict[str, str]:
    return {metric: ranked(run.means(metric, column)) for metric in metrics}


@measurement
def _number_of_ranks(run: Run) -> Finding:
    users = {len(run.ranks[name]) for name in NAMES}
    return Finding(users == {6040}, f"{max(users):,}")


@measurement
def _z_is_best(run: Run) -> Finding:
    values = run.exact("Recall@10")
    return Finding(ranked(values).startswith("Z"), f"Recall@10: {listed(values)}")


@measurement
def _users_in_the_worst_bucket(run: Run) -> Finding:
    ranks = run.ranks["Z"]
    first = int(ranks.n_candidates.max()) - LAST_RANKS
    # of e + 1 equally likely places, those beyond `first`
    places = np.clip(ranks.worst_rank - np.maximum(ranks.best_rank - 1, first), 0, None)
    random = float(np.sum(places / (ranks.n_tied + 1)))
    last = int(np.sum(ranks.worst_rank > first))
    return Finding(
        random > 1600, f"{random:.0f} with ties at random, {last:,} with ties ranked last"
    )


@measurement
def _users_in_the_top_100(run: Run) -> Finding:
    users = run.users("top 100")
    return Finding(users == 2310, f"{users:,} of X")


@measurement
def _users_in_the_bottom_half(run: Run) -> Finding:
    users = run.users("bottom half")
    return Finding(users < 300, f"{users} of X")


@measurement
def _y_is_in_the_middle(run: Run) -> Finding:
    values = run.exact("Recall@10")
    return Finding(ranked(values) == "Z > Y > X", f"Recall@10: {listed(values)}")


@measurement
def _auc_of_y_below_x(run: Run) -> Finding:
    values = run.exact("AUC")
    return Finding(values["Y"] < values["X"], f"AUC: {listed(values)}")


@measurement
def _exact_order(run: Run) -> Finding:
    values = {metric: run.exact(metric) for metric in TOP_HEAVY}
    holds = all(ranked(of_metric) == "Z > Y > X" for of_metric in values.values())
    return Finding(
        holds, by_metric({name: listed(of_metric) for name, of_metric in values.items()})
    )


@measurement
def _order_by_sampled_recall(run: Run) -> Finding:
    values = run.sampled("Recall@10")
    return Finding(ranked(values) == "X > Y > Z", listed(values))


@measurement
def _deviations_below_the_bias(run: Run) -> Finding:
    deviations = [run.deviation(*cell, SAMPLED) for cell in CELLS]
    bias = [run.sampled(metric)[name] - run.exact(metric)[name] for name, metric in CELLS]
    holds = all(10 * sd < b for sd, b in zip(deviations, bias, strict=True))
    return Finding(
        holds,
        f"deviations {min(deviations):.2f} to {max(deviations):.2f}, "
        f"bias {min(bias):.1f} to {max(bias):.1f}",
    )


@measurement
def _worst_becomes_the_best(run: Run) -> Finding:
    metrics = ("NDCG@10", "AP")
    holds = all(
        ranked(run.exact(metric)).endswith("X") and ranked(run.sampled(metric)).startswith("X")
        for metric in metrics
    )
    return Finding(holds, by_metric({metric: listed(run.sampled(metric)) for metric in metrics}))


@measurement
def _order_of_y_and_z(run: Run) -> Finding:
    values = {metric: run.sampled(metric) for metric in ("NDCG@10", "AP")}
    holds = all(of_metric["Z"] > of_metric["Y"] for of_metric in values.values())
    shown = {
        m: f"Z {of_metric['Z']:.2f}, Y {of_metric['Y']:.2f}" for m, of_metric in values.items()
    }
    return Finding(holds, by_metric(shown))


@measurement
def _auc_is_consistent(run: Run) -> Finding:
    exact, sampled = run.exact("AUC"), run.sampled("AUC")
    return Finding(
        ranked(exact) == ranked(sampled), f"exact {listed(exact)}; sampled {listed(sampled)}"
    )


@measurement
def _x_is_found_to_be_the_best(run: Run) -> Finding:
    orders = _orders(run, TOP_HEAVY, SAMPLED)
    return Finding(all(order.startswith("X") for order in orders.values()), by_metric(orders))


@measurement
def _metrics_that_change_the_order(run: Run) -> Finding:
    changed = [m for m in METRICS if ranked(run.exact(m)) != ranked(run.sampled(m))]
    return Finding(changed == list(TOP_HEAVY), f"order changes for {', '.join(changed)}")


@measurement
def _variance_of_low_gamma(run: Run) -> Finding:
    columns = (SAMPLED, *CORRECTIONS[2:])
    rows = {cell: [run.deviation(*cell, column) for column in columns] for cell in CELLS}
    holds = all(row[1:] == sorted(row[1:]) and row[-1] > row[0] for row in rows.values())
    shown = zip(columns, rows["Y", "Recall@10"], strict=True)
    return Finding(holds, by_metric({name: f"{sd:.2f}" for name, sd in shown}))
