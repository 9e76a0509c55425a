"""Comparison of the ids of users and items in two columns, such as those of relevant and seen."""

import pyarrow as pa

from sampled_metrics._base.calls import warn_all
from sampled_metrics._base.errors import InputError
from sampled_metrics.checks.items import TwoColumns, signs_of_different_ids
from sampled_metrics.read.items import RELEVANT


def compare_ids(role: str, name: str, ids: pa.Array, other_name: str, other_ids: pa.Array) -> None:
    """Warn if few ids are in both of two columns, or if they differ in form; see `TwoColumns`.

    Relevant items without a common id are an error.
    """
    columns = TwoColumns(role, name, ids, other_name, other_ids)
    n_common, n_ids = columns.count_common()
    if not n_common and n_ids and name == RELEVANT:
        raise InputError(f"{columns.describe(n_common, n_ids)}; expected the same ids")
    warn_all(signs_of_different_ids(columns, n_common, n_ids))
