"""The paper's study as an input of other scripts: data, split, recommenders, published cells."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from sampled_metrics import rank
from sampled_metrics._base.array_types import Float
from sampled_metrics._base.random_streams import generator
from sampled_metrics.metrics import Measure
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.config import Entry, Study
from sampled_metrics_study.data.events import Interactions, read_dataset
from sampled_metrics_study.data.filters import apply_filters
from sampled_metrics_study.data.split import Split, hold_out
from sampled_metrics_study.recommenders import create
from sampled_metrics_study.tables import EXACT, read_published

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "results/reference"


@dataclass(frozen=True)
class Paper:
    """Data, settings and published cells of the study in config/config.yaml."""

    study: Study
    interactions: Interactions
    split: Split
    published: pd.DataFrame

    def ranks(self, name: str, split: Split | None = None, **settings: object) -> Ranks:
        """Train a recommender, with some settings changed, and rank the held-out items."""
        data = split or self.split
        entry = self.entry(name)
        changed = {**entry.settings.model_dump(by_alias=True), **settings}
        model = create(entry.kind, changed).fit(data.train)
        return rank(model.scorer, data.train, data.held_out)

    def scores(self, name: str) -> Float:
        """Train a recommender; return its scores of all items, float64, shape (users, items)."""
        entry = self.entry(name)
        model = create(entry.kind, entry.settings).fit(self.split.train)
        return np.asarray(model.score(np.arange(self.split.held_out.size)))

    def entry(self, name: str) -> Entry:
        """Return the entry of a recommender in the configuration."""
        entry: Entry = self.study.recommender(name)
        return entry

    def cell(self, name: str, measure: Measure, column: str = EXACT) -> str:
        """Return a cell of the published Table 3, as text."""
        table = self.published[self.published["table"] == 3]
        is_cell = (table["row"] == name) & (table["metric"] == measure.label)
        (cell,) = table[is_cell & (table["column"] == column)]["value"]
        return str(cell)


def read_study() -> Study:
    """Read the settings of the paper's study, config/config.yaml."""
    settings = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    return Study.of(settings, "config")


def read_paper() -> Paper:
    """Read the configuration, and the data of the archive that MOVIELENS_ARCHIVE names."""
    archive = os.environ.get("MOVIELENS_ARCHIVE")
    if not archive:
        sys.exit("MOVIELENS_ARCHIVE does not name a MovieLens 1M archive; set it to ml-1m.zip")
    study = read_study()
    events = read_dataset(Path(archive), study.dataset)
    interactions, _ = apply_filters(events, study.filters, study.split.least_events)
    split = hold_out(interactions, study.split, generator(study.split.seed, "split"))
    published = read_published(ROOT / study.scorecard.published)
    return Paper(study, interactions, split, published)
