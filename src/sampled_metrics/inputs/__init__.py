"""Readers of tables, lists, scores and items, in the forms that other libraries write.

- `tables`, with `roles` of columns
- `items` of users: relevant, seen or candidates, from data of any form
- `scores` of all items; `counting` counts better items by these, by `pair_scores`, or by inner
  `products` of vectors, with `comparisons` on any device
- `lists` of the best items, and their `list_order`
- `row_counts` of held-out items in rows of scores, and `samples`: held-out items among negatives
- `common_ids` of users and items in two of these
"""
