"""The paper's experiments, from rank records to the numbers of its tables and figures.

- `config`: the configuration; `scripts`: common parts of the workflow's scripts.
- `tables`: Tables 1 to 4; `curves`: the data of Figures 1 to 5; `against_samples`: the data of
  Figure 6, and ranges that samples allow.
- `printed`: tables as Markdown and LaTeX. `scorecard`: each published cell beside ours.
"""
