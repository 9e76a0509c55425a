import re

import numpy as np
import pytest

from sampled_metrics.datasets.catalogue import CATALOGUE, CITATION, FOLDER, Layout

NAMES = ["ml-100k", "ml-1m", "ml-10m", "ml-20m", "ml-25m", "ml-32m", "ml-latest-small"]


def test_names_and_addresses():
    assert list(CATALOGUE) == NAMES
    assert CATALOGUE["ml-10m"].url == f"{FOLDER}/ml-10m.zip"
    assert CATALOGUE["ml-1m"].licence_url == f"{FOLDER}/ml-1m-README.txt"
    assert CATALOGUE["ml-32m"].licence_url == f"{FOLDER}/ml-32m-README.html"
    assert "10.1145/2827872" in CITATION


@pytest.mark.parametrize("name", NAMES)
def test_entries_are_whole(name):
    dataset = CATALOGUE[name]
    # of md5 32 and of sha256 64 hexadecimal digits
    form = r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}"
    assert dataset.checksum is None or re.fullmatch(form, dataset.checksum)
    assert (dataset.checksum is None) == (name == NAMES[-1])
    assert dataset.counts.users < dataset.counts.interactions
    assert dataset.counts.items < dataset.counts.interactions
    assert "no commercial use without permission" in dataset.licence
    assert "\n" not in dataset.licence + CITATION


def test_ratings_of_the_scale():
    every_quarter = np.arange(0, 6, 0.25)
    by_halves = every_quarter[Layout(",", half_stars=True).allows(every_quarter)]
    assert by_halves.tolist() == [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]
    whole = np.arange(-1, 8)
    assert whole[Layout("\t").allows(whole)].tolist() == [1, 2, 3, 4, 5]
