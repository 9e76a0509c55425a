"""Readers: data of any library becomes ranks. They raise errors, and know other libraries.

- `kinds`: what data is, the only place that looks at its type
- `options`: `Reading`, the options of one call, which picks the reader
- `tables`, with `roles` of columns; `rank_tables`, `sample_tables` and `large_files` of ranks
- `items` of users: relevant, seen or candidates
- `scores` of all items; `counting` counts better items by these, by `pair_scores`, or by inner
  `products` of vectors, with `comparisons` on any device
- `lists` of the best items, and their `list_order`
- `row_counts` of held-out items in rows of scores, and `samples`: held-out items among negatives
- `common_ids` of users and items in two of these
"""
