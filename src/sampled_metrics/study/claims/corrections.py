"""Section 6.3: corrected metrics of X, Y and Z."""

import numpy as np

from sampled_metrics.study.cells import SAMPLED
from sampled_metrics.study.claims.registry import Finding, measurement
from sampled_metrics.study.claims.run import (
    BEST,
    CELLS,
    CORRECTIONS,
    LOW_GAMMA,
    METRICS,
    NAMES,
    PAIRS,
    TOP_HEAVY,
    Run,
)
from sampled_metrics.study.claims.theory import METRICS as MEASURES
from sampled_metrics.study.claims.theory import M, vector
from sampled_metrics.study.claims.words import by_metric, joined, ranked

CLOSE = 0.05  # share of the uncorrected bias that is close to the exact metric
N_ITEMS = 3541  # mean number of candidates, rounded


@measurement
def _cls_does_not_rise() -> Finding:
    rises = [
        float(np.diff(vector("cls", measure, N_ITEMS, M)).max()) for measure in MEASURES.values()
    ]
    return Finding(max(rises) <= 1e-12, f"CLS of {len(rises)} metrics rises nowhere")


@measurement
def _corrections_are_closer(run: Run) -> Finding:
    farther = [
        metric
        for metric in METRICS
        for column in CORRECTIONS
        for name in NAMES
        if run.bias(name, metric, column) > run.bias(name, metric, SAMPLED) + 1e-9
    ]
    top = [metric for metric in farther if metric in TOP_HEAVY]
    total = len(METRICS) * len(CORRECTIONS) * len(NAMES)
    return Finding(
        not farther,
        f"farther in {len(farther)} of {total} cells, in {len(top)} of Recall, NDCG and AP",
    )


@measurement
def _close_to_the_exact_metric(run: Run) -> Finding:
    shares = {
        column: max(run.relative_bias(*cell, column) for cell in CELLS)
        for column in ("CLS", *LOW_GAMMA)
    }
    return Finding(
        max(shares.values()) <= CLOSE,
        "at most " + by_metric({name: f"{100 * share:.1f} %" for name, share in shares.items()}),
    )


@measurement
def _z_leads_by_all_corrections(run: Run) -> Finding:
    leads = {
        f"{column} {metric}": run.at("Z", metric, column)
        - max(run.at(name, metric, column) for name in "XY")
        for metric in TOP_HEAVY
        for column in CORRECTIONS
    }
    least = min(leads, key=lambda key: leads[key])
    right = sum(lead > 0 for lead in leads.values())
    return Finding(
        right == len(leads), f"{right} of {len(leads)}; smallest lead {leads[least]:.3f}, {least}"
    )


@measurement
def _corrections_that_order_x_and_y(run: Run) -> Finding:
    right = {
        column: [
            metric
            for metric in TOP_HEAVY
            if run.at("Y", metric, column) > run.at("X", metric, column)
        ]
        for column in CORRECTIONS
    }
    holds = all(len(right[column]) == len(TOP_HEAVY) for column in LOW_GAMMA)
    return Finding(holds, by_metric({name: joined(metrics) for name, metrics in right.items()}))


def _size(run: Run, column: str) -> str:
    m = run.size(column)
    return f"from m = {m:,.0f} on" if np.isfinite(m) else "at no m"


@measurement
def _more_than_1000_samples(run: Run) -> Finding:
    return Finding(run.size(SAMPLED) > 1000, _size(run, SAMPLED))


@measurement
def _about_1000_samples(run: Run) -> Finding:
    return Finding(950 <= run.size(SAMPLED) < 1500, _size(run, SAMPLED))


@measurement
def _third_of_the_negatives() -> Finding:
    share = 1000 / (N_ITEMS - 1)
    return Finding(round(1 / share) == 3, f"{100 * share:.0f} %, 1 of {1 / share:.1f}")


@measurement
def _less_than_60_samples(run: Run) -> Finding:
    return Finding(run.size(BEST) < 60, _size(run, BEST))


@measurement
def _at_most_60_samples(run: Run) -> Finding:
    return Finding(run.size(BEST) <= 60, _size(run, BEST))


@measurement
def _order_by_low_gamma(run: Run) -> Finding:
    wrong = [
        f"{column} {metric}: {ranked(run.means(metric, column))}"
        for metric in METRICS
        for column in LOW_GAMMA
        if ranked(run.means(metric, column)) != ranked(run.exact(metric))
    ]
    total = len(METRICS) * len(LOW_GAMMA)
    exceptions = f"; {joined(wrong)}" if wrong else ""
    return Finding(not wrong, f"right in {total - len(wrong)} of {total}{exceptions}")


@measurement
def _mistakes_resolved(run: Run) -> Finding:
    mistakes = [key for key, count in run.counts(SAMPLED).items() if count <= 50]
    resolved = {
        column: sum(run.counts(column)[key] > 50 for key in mistakes) for column in CORRECTIONS
    }
    holds = all(2 * number > len(mistakes) for number in resolved.values())
    shown = {name: str(number) for name, number in resolved.items()}
    return Finding(holds, f"of {len(mistakes)} {by_metric(shown)}")


def _up_to_90(run: Run) -> list[str]:
    counts = run.counts(BEST).items()
    return [f"{metric} {pair} {count:.0f}" for (pair, metric), count in counts if count <= 90]


@measurement
def _counts_above_90(run: Run) -> Finding:
    others = _up_to_90(run)
    return Finding(len(others) == 1, f"90 or less: {joined(others)}")


@measurement
def _count_below_90_of_y_and_z(run: Run) -> Finding:
    others = _up_to_90(run)
    at = [count.rsplit(" ", 1)[0] for count in others]
    return Finding(at == ["AP Y vs Z"], f"90 or less: {joined(others)}")


@measurement
def _better_than_uncorrected(run: Run) -> Finding:
    ours, theirs = run.counts(CORRECTIONS[0]), run.counts(SAMPLED)
    better = sum(ours[key] > theirs[key] for key in ours)
    equal = sum(ours[key] == theirs[key] for key in ours)
    return Finding(better == len(ours), f"better in {better} of {len(ours)}, equal in {equal}")


@measurement
def _recall_equals_ndcg_by_rank_estimate(run: Run) -> Finding:
    column = CORRECTIONS[0]
    recall, ndcg = (run.means(metric, column) for metric in ("Recall@10", "NDCG@10"))
    counts = run.counts(column)
    holds = all(abs(recall[name] - ndcg[name]) < 1e-9 for name in NAMES) and all(
        counts[pair, "Recall@10"] == counts[pair, "NDCG@10"] for pair in PAIRS
    )
    shown = {name: f"{recall[name]:.2f} and {ndcg[name]:.2f}" for name in NAMES}
    return Finding(holds, by_metric(shown))


@measurement
def _rank_estimate_has_less_bias(run: Run) -> Finding:
    cells = [(name, metric) for metric in ("Recall@10", "NDCG@10") for name in NAMES]
    ratios = [run.relative_bias(*cell, CORRECTIONS[0]) for cell in cells]
    return Finding(
        max(ratios) < 1, f"{min(ratios):.2f} to {max(ratios):.2f} of the uncorrected bias"
    )


@measurement
def _no_equal_recommenders(run: Run) -> Finding:
    distinct = [len(set(run.exact(metric).values())) for metric in METRICS]
    return Finding(
        distinct == [len(NAMES)] * len(METRICS), "no two recommenders are equal by any metric"
    )


@measurement
def _bias_against_variance(run: Run) -> Finding:
    bias = [run.relative_bias(*cell, CORRECTIONS[-1]) for cell in CELLS]
    deviation = [
        run.deviation(*cell, CORRECTIONS[-1]) / run.deviation(*cell, SAMPLED) for cell in CELLS
    ]
    return Finding(
        max(bias) < 1 < min(deviation),
        f"bias times {min(bias):.3f} to {max(bias):.3f}, "
        f"deviation times {min(deviation):.1f} to {max(deviation):.1f}",
    )
