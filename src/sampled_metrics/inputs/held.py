"""Types of what people hold, as arguments of the public functions have it; see `recognise`."""

from typing import TypeAlias

from sampled_metrics._base.kinds import OfUsers
from sampled_metrics.ranks import Ranks, SampledRanks

__all__ = ["Data", "OfUsers"]

Data: TypeAlias = OfUsers | Ranks | SampledRanks
