"""Share of the training events of the paper's split that are later than a held-out one.

    MOVIELENS_ARCHIVE=ml-1m.zip python benchmarks/future.py

Leave-last-out trains on events that are later than other users' held-out ones. For each held-out
event this counts the training events after its time, and averages over the users. Writes
docs/measured/future.md.
"""

import numpy as np

from paper import ROOT, read_paper
from sampled_metrics._base.arrays import Float, Int

PAGE = """\
# Training events from the future

Of the {events:,} training events of the paper's split of MovieLens 1M, {share:.1f} % on average are
later than the held-out event of a user: of its {users:,} users, half have more than {median:.1f} %.

`make future` writes this page.
"""


def shares_later(training: Int, held_out: Int) -> Float:
    """Share of the training times that are later than each held-out time."""
    ordered = np.sort(training)
    not_later = np.searchsorted(ordered, held_out, side="right")
    return 1 - not_later / ordered.size


def main() -> None:
    """Find the times of the held-out events, and write the page."""
    paper = read_paper()
    data, split = paper.interactions, paper.split
    times = data.times("leave-last-out")
    item_of = dict(zip(split.user_ids.tolist(), split.item_ids[split.held_out], strict=True))
    events = zip(data.user.tolist(), data.item.tolist(), strict=True)
    is_held_out = np.array([item_of[user] == item for user, item in events])
    if is_held_out.sum() != split.held_out.size:
        raise SystemExit("the events of the archive do not fit the split")
    shares = 100 * shares_later(times[~is_held_out], times[is_held_out])
    page = PAGE.format(
        events=split.train.nnz,
        users=shares.size,
        share=shares.mean(),
        median=np.median(shares),
    )
    (ROOT / "docs/measured/future.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
