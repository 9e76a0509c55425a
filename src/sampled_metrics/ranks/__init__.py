"""Ranks of relevant items, in full rankings and among sampled negatives."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sampled_metrics.ranks.ranks import Ranks
    from sampled_metrics.ranks.sampled import SampledRanks
    from sampled_metrics.ranks.sampling import Design, Sampling

__all__ = ["Design", "Ranks", "SampledRanks", "Sampling"]
_MODULES = {
    "Design": "sampling",
    "Ranks": "ranks",
    "SampledRanks": "sampled",
    "Sampling": "sampling",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, because `Sampling` must not import numpy."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
