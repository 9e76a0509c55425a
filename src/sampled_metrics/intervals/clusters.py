"""Means over visits whose errors are those of independent users.

The visits of a user are alike, so that a mean over V visits is known less well than one of V
independent values. Its error sums the residuals of each user before it squares them (a sandwich
estimate, clustered by user):

    Var(mean) = U/(U - 1) sum over users u of (sum over visits v of u of (x_v - mean))^2 / V^2

for U users. The values z_u = mean + U/V sum over v of (x_v - mean), one for each user, have the
same mean, and as of independent values the variance of their mean is this one. So whatever is
computed from independent values of users, such as intervals, tests and bounds, is computed of
these. With as many visits for each user they are the means of the users.
"""

import numpy as np

from sampled_metrics._base.arrays import Float, Int


def by_user(values: Float, user: Int | None) -> Float:
    """Return one value for each user from those of visits; `user` numbers the users of these.

    Without numbers each value is of another user, and stays. Users without a visit are left out.

    Examples
    --------
    >>> by_user(np.array([1.0, 0.0, 1.0, 0.5]), np.array([0, 0, 1, 1]))
    array([0.5 , 0.75])
    """
    if user is None or not values.size:
        return values
    _, user = np.unique(user, return_inverse=True)
    n_visits = np.bincount(user)
    mean = values.mean()
    return mean + n_visits.size / values.size * np.bincount(user, values - mean)
