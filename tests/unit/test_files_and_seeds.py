import json
import stat

import numpy as np
import pytest

from sampled_metrics._base.files import write_json, write_text
from sampled_metrics._base.seeds import generator


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "table.csv"
    write_text(path, "old\n")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "half" * 10_000 + "\udc80")
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_written_whole_with_ordinary_permissions(tmp_path):
    path = tmp_path / "new" / "folder" / "a.json"
    write_json(path, {"é": [1, 2]})
    assert json.loads(path.read_text(encoding="utf-8")) == {"é": [1, 2]}
    assert path.read_bytes().endswith(b"}\n")
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert list(path.parent.iterdir()) == [path]


def test_streams_depend_on_seed_and_keys_alone():
    keys = [(0, "X"), (1, "X"), (0, "Y"), (0, "X", 0), (0, "X", 1), (0, "X", "a"), (0, "Xa")]
    keys += [(0, 88), (0, "abcdefgh"), (0, "efgh", "abcd"), (0, "abcd", "efgh"), (0, ""), (0, 0)]
    keys += [(0,), (0, "0"), (0, "X", "0"), (2**32, "X")]
    first = [generator(*key).random(4) for key in keys]
    again = [generator(*key).random(4) for key in reversed(keys)][::-1]
    np.testing.assert_array_equal(first, again)
    assert len({tuple(draws) for draws in first}) == len(keys)


def test_streams_of_one_seed_look_independent():
    draws = np.array([generator(3, "X", "cls", i).standard_normal(200) for i in range(300)])
    correlation = np.corrcoef(draws)[np.triu_indices(300, 1)]
    # 44,850 correlations of 200 normals: the largest is expected near 4.4 / sqrt(200) = 0.31
    assert abs(correlation).max() < 0.36
    assert abs(correlation.mean()) < 4 / np.sqrt(200 * correlation.size)
