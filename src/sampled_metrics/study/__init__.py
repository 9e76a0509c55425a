"""The paper's experiments, from rank records to the numbers of its tables and figures.

- `config`, `settings`, `entries`: the configuration; `schema` writes its schema, `rules`,
  `resources` and `locks` serve the workflow, `provenance` records a run.
- `toy`, `experiment`, `comparison`: Tables 1 to 4, made of `cells`.
- `curves`, `sample_sizes`, `allowed`: the data of figures, and ranges that samples allow.
- `judgement`, `joint`, `covariance`: how far a published cell may lie from ours.
- `starts`, `readings`, `audit`, `sharing`: what the paper leaves open, measured.
- `claims`: its sentences with a number in them.
- `beyond`, `negatives`: other methods of evaluation, and negatives that somebody else drew.
"""
