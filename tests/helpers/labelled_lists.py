"""Scored items of two users, and which of them are relevant."""

import numpy as np
import pandas as pd

# By score, user 0 has items 3, 2 and 1, and user 1 items 3, 2, 4 and 1.
SCORED_LISTS = pd.DataFrame(
    {
        "user_id": [0, 0, 0, 1, 1, 1, 1],
        "item_id": [1, 2, 3, 1, 2, 3, 4],
        "score": [0.2, 0.3, 0.5, 0.1, 0.3, 0.5, 0.2],
    }
)
# Item 3 of user 0, and items 2 and 4 of user 1 are relevant.
LABELS = np.array([0, 0, 1, 0, 1, 0, 1])
