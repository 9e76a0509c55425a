"""Settings in which a study on the paper's data departs from the paper's study.

Published cells are compared with ours only if there are none. Settings that move no expectation or
that the paper leaves open are no departures.
"""

from typing import Any

from sampled_metrics._base.settings import Settings
from sampled_metrics.study.config import Entry, Study

FREE = {"seed", "repetitions", "shared_samples", "shared_ties", "iterations", "start"}
LISTS = {"metrics", "estimators"}  # to which a study may add


def departures(study: Study, papers: Study) -> list[str]:
    """Name each setting that is not the paper's, with both values."""
    found = []
    if study.dataset.name != papers.dataset.name:
        found.append(f"dataset.name is {study.dataset.name}, the paper's {papers.dataset.name}")
    for group in ("filters", "split", "toy", "experiment"):
        found += _different(f"{group}.{{}}", getattr(study, group), getattr(papers, group))
    for name in sorted(LISTS):
        ours = getattr(study.experiment, name)
        missing = [one for one in getattr(papers.experiment, name) if one not in ours]
        found += [f"experiment.{name} has no {one}" for one in missing]
    for entry in papers.recommenders:
        if entry.name not in study.names:
            found.append(f"recommenders has no {entry.name}")
        elif study.ranks == "trained":
            found += _of_recommender(study.recommender(entry.name), entry)
    return found


def _of_recommender(ours: Entry, papers: Entry) -> list[str]:
    """Compare a recommender with the paper's of the same name; one from a file may be anything."""
    if ours.kind == "external":
        return []
    if ours.kind != papers.kind:
        return [f"{ours.name} is of kind {ours.kind}, the paper's {papers.kind}"]
    return _different(f"{{}} of {ours.name}", ours.settings, papers.settings)


def _different(place: str, ours: Settings, papers: Settings) -> list[str]:
    """Name the settings of a group that differ; `place` says where a setting is."""
    values: dict[str, Any] = ours.model_dump(mode="json", by_alias=True)
    found = []
    for name, expected in papers.model_dump(mode="json", by_alias=True).items():
        if name not in FREE | LISTS and values[name] != expected:
            shown = ["null" if value is None else value for value in (values[name], expected)]
            found.append(f"{place.format(name)} is {shown[0]}, the paper's {shown[1]}")
    return found
