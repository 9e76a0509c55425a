"""Conversion to arrays of numpy; see also tests/inputs/test_other_libraries.py."""

import numpy as np
import pytest

from sampled_metrics._base.conversion import to_array
from sampled_metrics._base.errors import InputError


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([[1, 2], [3]], None),
        ([10**400], np.float64),
        ([{}], np.float64),
        (["a"], np.float64),
    ],
)
def test_to_array_of_uneven_rows_is_refused(values, kind):
    with pytest.raises(InputError, match="differ"):
        to_array("x", values, kind)


def test_to_array_refuses_masks_that_hide_values():
    assert to_array("x", np.ma.array([1, 2])).tolist() == [1, 2]
    with pytest.raises(InputError, match="mask"):
        to_array("x", np.ma.array([1, 2], mask=[False, True]))
