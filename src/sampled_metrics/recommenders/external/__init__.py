"""Ranks and scores of recommenders that were trained elsewhere, brought to a split."""

from pathlib import Path

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.split import Split
from sampled_metrics.ranks import Ranks
from sampled_metrics.recommenders.external.rank_table import from_rank_table
from sampled_metrics.recommenders.external.score_matrix import from_score_matrix
from sampled_metrics.recommenders.external.score_table import from_score_table

FORMATS = ("ranks", "scores")

__all__ = ["FORMATS", "read_external"]


def read_external(path: Path, split: Split, form: str) -> Ranks:
    """Rank a split's held-out items as another recommender does.

    Parameters
    ----------
    path
        For `ranks`, rank records: a table (CSV, TSV or parquet) of `user_id`, `n_candidates`,
        `n_better`, `n_tied` and, if wanted, `item_id`, in any order of rows. For `scores`, a table
        of `user_id`, `item_id` and `score`, or `.npz` with arrays `scores`, users x items,
        `user_ids` and `item_ids`. The ids are those of the split, as whole numbers or text.
    split
        What was held out, and what each user had seen.
    form
        `ranks` or `scores`.

    Returns
    -------
    Ranks
        In the order of the split's users.

    Raises
    ------
    InputError
        The file is not what it should be, or does not fit the split: a user is missing, candidates
        are not the items that a user had not seen in training, or some of them have no score.

    >>> import tempfile
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> users, items = np.array([7, 9]), np.array(["a", "b", "c"])
    >>> split = Split(csr_array([[1.0, 0, 0], [0, 1, 0]]), np.array([1, 2]), users, items, 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.npz"
    ...     np.savez(path, scores=[[9.0, 1, 2], [0, 9, 3]], user_ids=users, item_ids=items)
    ...     read_external(path, split, "scores")
    Ranks(n_candidates=array([2, 2]), n_better=array([1, 0]), n_tied=array([0, 0]))
    """
    path = Path(path)
    if form not in FORMATS:
        raise InputError(f"format is {form!r}; allowed: {', '.join(FORMATS)}")
    if form == "ranks":
        return from_rank_table(path, split)
    if path.suffix == ".npz":
        return from_score_matrix(path, split)
    return from_score_table(path, split)
