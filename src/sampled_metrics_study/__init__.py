"""The reproduction of the paper, from the archive of MovieLens to its tables and figures.

Read it along the workflow, whose scripts are a few lines each:

- `data`: archive, events, filters, split. `recommenders`: X, Y, Z and others, and their ranks.
- `experiment`: the repeated sampled evaluation of section 6.
- `tables`: Tables 1 to 4. `figures`: a file for each figure. `exact`: exact metrics and ranges.
- `scorecard`: each published cell beside ours. `page`: all on one page.
- `config`: the configuration, of `settings` and `data.settings`. `steps`: what scripts share.

Beside the workflow, from the folder of the repository:

- `claims`: each sentence of the paper, and what its random starts move; `audit`: readings of its
  text; `reference`: the run that is kept, and whether another is the same; `ncf`, `paper`: inputs.

The library `sampled_metrics` knows nothing of this package.
"""
