"""Signs of a mistake in printed numbers."""

from __future__ import annotations

from collections.abc import Sequence

from sampled_metrics.checks import Signs


def signs_of_impossible_shares(numbers: Sequence[str], users: str) -> Signs:
    """Look for printed numbers that cannot be a share of so many `users`."""
    if numbers:
        yield "n_users", f"{', '.join(numbers)} cannot be a share of {users}; is n_users right?"
