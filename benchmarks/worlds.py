"""Data, recommenders and designs of negatives for `benchmarks.negatives`.

A world has held-out items of users, and for each recommender the candidates that are better.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from benchmarks.vectors import ARCHIVE
from sampled_metrics._base.array_types import Bool, Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics.ranks.strata import (
    StratumCounts,
    mean_log_popularity,
    strata_of_items,
    sums_by_stratum,
)
from sampled_metrics_study.data.events import read_ratings
from sampled_metrics_study.data.movielens import CATALOGUE
from sampled_metrics_study.data.settings import SplitSettings
from sampled_metrics_study.data.split import Split, hold_out
from sampled_metrics_study.recommenders import create

CONFIG = Path(__file__).parents[1] / "config"
CONFIGURATIONS = ("config.yaml", "ml-1m-more.yaml")  # of the study's recommenders
SMALL_ARCHIVE = "MOVIELENS_100K_ARCHIVE"
MOST_USERS = 1000  # of a world, drawn without replacement
NEW = 0.5  # count of an item without events
SYNTHETIC = "10,000 items"
EVENTS = 300_000  # of the synthetic catalogue
RULES = 5  # items at the top of the attack `rules`
PER_SET = 50  # users of a shared set of negatives
PAPERS = ("X", "Y", "Z")  # recommenders
ATTACKS = ("Niche", "Anti-popular", "Half anti-popular", "Rules", "Random")


class World(NamedTuple):
    """Users with one held-out item each.

    Attributes
    ----------
    name
        Name of the data.
    held_out
        Item of each user, shape (users,).
    is_candidate
        Items that are ranked, without the held-out one, shape (users, items).
    popularity
        Count of each item, shape (items,).
    better
        Candidates better than the held-out item, shape (users, items), by recommender.
    candidates
        Candidates by stratum, shape (users, strata).
    """

    name: str
    held_out: Int
    is_candidate: Bool
    popularity: Float
    better: dict[str, Bool]
    candidates: Int

    @property
    def n(self) -> int:
        """Mean number of candidates with the held-out item, rounded."""
        return 1 + round(float(self.is_candidate.sum(axis=1).mean()))

    @property
    def groups(self) -> dict[str, list[str]]:
        """Recommenders by group: ordinary ones, and attacks."""
        ordinary = [name for name in self.better if name not in ATTACKS]
        attacks = [name for name in self.better if name in ATTACKS]
        return {"recommenders": ordinary, "attacks": attacks}


class Draw(NamedTuple):
    """Negatives of each user.

    Attributes
    ----------
    is_drawn
        Shape (users, items).
    cluster
        Rows that share negatives, shape (users,); None if each user has own ones.
    """

    is_drawn: Bool
    cluster: Int | None = None


def is_better(scores: Float, held_out: Int, is_candidate: Bool, name: str) -> Bool:
    """Return the candidates above the held-out item; ties are in random order."""
    own = scores[np.arange(held_out.size), held_out][:, None]
    rng = generator(0, "worlds", name)
    above_ties = rng.random(scores.shape, np.float32) < rng.random((held_out.size, 1))
    return ((scores > own) | ((scores == own) & above_ties)) & is_candidate


def attacks(scores: Float, popularity: Float) -> dict[str, Float]:
    """Return scores of attacks on a model of tastes, from those of a good recommender."""
    rng = generator(0, "attacks")
    log = np.log(popularity)
    spread = scores.std(axis=1, keepdims=True)
    standard = (scores - scores.mean(axis=1, keepdims=True)) / spread
    rules = standard.copy()
    unpopular = np.argsort(popularity, kind="stable")[: popularity.size // 4]
    rules[:, rng.choice(unpopular, RULES, replace=False)] = np.inf
    is_against = rng.random((len(scores), 1)) < 0.5
    return {
        "Niche": standard - 2.0 * np.abs(log - np.median(log[popularity > 1.0]) - 1.0),
        "Anti-popular": standard - 0.8 * log,
        "Half anti-popular": standard - 1.2 * log * is_against,
        "Rules": rules,
        "Random": rng.random(scores.shape),
    }


def movielens(name: str) -> World:
    """Train the study's recommenders on MovieLens, and rank the last item of up to MOST_USERS."""
    split = movielens_split(name)
    chosen = generator(0, name, "users").permutation(split.held_out.size)[:MOST_USERS]
    scores = {}
    for entry in entries():
        scores[entry["name"]] = scores_of(entry, split, np.sort(chosen))
    return world_of_split(CATALOGUE[name].title, split, np.sort(chosen), scores, "X")


def all_users() -> World:
    """Train X, Y and Z on MovieLens 1M, and rank the last items of all users."""
    split = movielens_split("ml-1m")
    users = np.arange(split.held_out.size)
    found = {entry["name"]: entry for entry in entries() if entry["name"] in PAPERS}
    scores = {name: scores_of(entry, split, users) for name, entry in found.items()}
    return world_of_split("MovieLens 1M, all users", split, users, scores)


def movielens_split(name: str) -> Split:
    """Read an archive of MovieLens, and hold out the last item of each user."""
    archive = os.environ[ARCHIVE if name == "ml-1m" else SMALL_ARCHIVE]
    events = read_ratings(Path(archive), CATALOGUE[name])
    return hold_out(events, SplitSettings(), generator(0, "split"))


def scores_of(entry: Mapping[str, Any], split: Split, users: Int) -> Float:
    """Train a recommender as configured, and return its scores of all items."""
    recommender = create(entry["kind"], entry.get("settings", {}))
    return recommender.fit(split.train).score(users)


def world_of_split(
    name: str, split: Split, users: Int, scores: dict[str, Float], attacked: str | None = None
) -> World:
    """Return the world of some users of a split, with the counts of training events."""
    counts = np.bincount(split.train.indices, minlength=split.item_ids.size)
    is_candidate = split.train[users].toarray() == 0.0
    held_out = split.held_out[users]
    is_candidate[np.arange(users.size), held_out] = False
    return world_of(name, held_out, is_candidate, np.maximum(counts, NEW), scores, attacked)


def entries() -> list[dict[str, Any]]:
    """Return the recommenders of the study but the random order, as configured."""
    found = []
    for name in CONFIGURATIONS:
        found += yaml.safe_load((CONFIG / name).read_text("utf-8"))["recommenders"]
    return [entry for entry in found if entry["kind"] != "random"]


def synthetic() -> World:
    """Make up a catalogue of 10,000 items: appeal by Zipf's law, factors, choices with noise.

    A user chooses an item with a probability in proportion to exp(log appeal + taste). Counts are
    Poisson numbers of EVENTS choices, so that they follow the choices, as counts of events do.
    """
    rng = generator(0, "worlds", "synthetic")
    n_users, n_items, d = MOST_USERS, 10_000, 12
    log_appeal = rng.normal(-np.log(np.arange(n_items) + 20.0), 0.3)
    users, items, others = (rng.normal(size=(k, d)) for k in (n_users, n_items, n_items))
    taste = 1.6 * users @ items.T / np.sqrt(d)
    noise = users @ others.T / np.sqrt(d)
    share = np.exp(log_appeal + taste)
    share /= share.sum(axis=1, keepdims=True)
    popularity = np.maximum(rng.poisson(EVENTS * share.mean(axis=0)), NEW)
    chosen = np.argmax(np.log(share) + rng.gumbel(size=share.shape), axis=1)
    is_candidate = np.ones((n_users, n_items), bool)
    is_candidate[np.arange(n_users), chosen] = False
    scores = {
        "Balanced": log_appeal + 0.95 * taste + 0.6 * noise,
        "Popular": 1.5 * log_appeal + 0.9 * taste + 0.4 * noise,
        "Tail": 0.5 * log_appeal + 1.1 * taste + 0.2 * noise,
    }
    return world_of(SYNTHETIC, chosen, is_candidate, popularity, scores, "Balanced")


def world_of(
    name: str,
    held_out: Int,
    is_candidate: Bool,
    popularity: Float,
    scores: dict[str, Float],
    attacked: str | None = None,
) -> World:
    """Return the world of scores, with attacks made from one recommender if it is named."""
    every = dict(scores)
    if attacked is not None:
        every |= attacks(scores[attacked], popularity)
    better = {
        each: is_better(value, held_out, is_candidate, f"{name} {each}")
        for each, value in every.items()
    }
    pairs = np.nonzero(is_candidate)
    candidates = sums_by_stratum(*pairs, strata_of_items(popularity), held_out.size)
    return World(name, held_out, is_candidate, popularity, better, candidates)


WORLDS: dict[str, Callable[[], World]] = {
    "ml-100k": lambda: movielens("ml-100k"),
    "ml-1m": lambda: movielens("ml-1m"),
    "all users": all_users,
    "synthetic": synthetic,
}


# Designs of negatives


def most_of(keys: Float, is_available: Bool, m: int) -> Bool:
    """Return the m available items of each row with the greatest keys."""
    keys = np.where(is_available, keys, -np.inf)
    items = np.argpartition(-keys, m - 1, axis=1)[:, :m]
    is_drawn = np.zeros(keys.shape, bool)
    np.put_along_axis(is_drawn, items, values=True, axis=1)
    return is_drawn & is_available


def weighted(world: World, weight: Float, m: int, rng: np.random.Generator) -> Bool:
    """Draw without replacement, with probabilities in proportion to weights."""
    race = rng.standard_exponential(world.is_candidate.shape, np.float32)
    return most_of(-race / weight.astype(np.float32), world.is_candidate, m)


def uniform(world: World, m: int, rng: np.random.Generator) -> Draw:
    return Draw(weighted(world, np.ones(world.popularity.size), m, rng))


def popularity(world: World, m: int, rng: np.random.Generator) -> Draw:
    return Draw(weighted(world, world.popularity, m, rng))


def power(world: World, m: int, rng: np.random.Generator) -> Draw:
    return Draw(weighted(world, world.popularity**0.75, m, rng))


def log_uniform(world: World, m: int, rng: np.random.Generator) -> Draw:
    """Draw with the probabilities of TensorFlow's sampler of ids in order of popularity."""
    place = np.empty(world.popularity.size)
    place[np.argsort(-world.popularity, kind="stable")] = np.arange(place.size)
    return Draw(weighted(world, np.log1p(1.0 / (place + 1.0)), m, rng))


def half(world: World, m: int, rng: np.random.Generator) -> Draw:
    """Draw half by popularity, and half uniformly from the rest."""
    popular = weighted(world, world.popularity, m // 2, rng)
    rest = world.is_candidate & ~popular
    keys = rng.random(rest.shape, np.float32)
    return Draw(popular | most_of(keys, rest, m - m // 2))


def in_batch(world: World, m: int, rng: np.random.Generator) -> Draw:
    """Give each user the held-out items of m others, of the same batch."""
    order = rng.permutation(world.held_out.size)
    cluster = np.empty(order.size, np.int64)
    cluster[order] = np.arange(order.size) // (m + 1)
    in_cluster = np.zeros((cluster.max() + 1, world.popularity.size), bool)
    in_cluster[cluster, world.held_out] = True
    return Draw(in_cluster[cluster] & world.is_candidate, cluster)


def shared(world: World, m: int, rng: np.random.Generator) -> Draw:
    """Draw a set of items for PER_SET users together; users do not get those they have seen."""
    cluster = rng.permutation(world.held_out.size) // PER_SET
    in_cluster = np.zeros((cluster.max() + 1, world.popularity.size), bool)
    for row in in_cluster:
        row[rng.choice(row.size, m, replace=False)] = True
    return Draw(in_cluster[cluster] & world.is_candidate, cluster)


DESIGNS: dict[str, Callable[[World, int, np.random.Generator], Draw]] = {
    "uniform": uniform,
    "popularity": popularity,
    "power .75": power,
    "log-uniform": log_uniform,
    "half and half": half,
    "in batch": in_batch,
    "shared": shared,
}


def count_draw(world: World, is_drawn: Bool, name: str) -> StratumCounts:
    """Count negatives, and those better in a recommender's scores, by stratum."""
    stratum = strata_of_items(world.popularity)
    n_users = len(is_drawn)
    user, item = np.nonzero(is_drawn)
    is_above = world.better[name][user, item]
    drawn = sums_by_stratum(user, item, stratum, n_users)
    better = sums_by_stratum(user[is_above], item[is_above], stratum, n_users)
    log_popularity = mean_log_popularity(world.popularity, stratum)
    return StratumCounts(better, drawn, world.candidates, log_popularity)
