"""The reproduction of the paper, from the archive of MovieLens to its tables and figures.

The scripts of the workflow call the modules in this order:

- `data`: archive, events, filters, split. `recommenders`: X, Y, Z and others, and their ranks.
- `experiment`: the repeated sampled evaluation of section 6.
- `tables`: Tables 1 to 4. `figures`: a file for each figure. `exact`: exact metrics and ranges.
- `scorecard`: each published cell beside ours. `page`: all results on one page.
- `config`: the configuration, with the models in `settings` and `data.settings`. `steps`: what the
  scripts share.

Other modules are run by hand, from the root of the repository:

- `claims`: measures each sentence of the paper, and how far random starts move the results;
- `audit`: compares different readings of the paper's text;
- `reference`: writes the reference run, and verifies another run against it;
- `ncf`, `published_negatives`, `paper`: published models, and the paper's study as an input.

The library `sampled_metrics` does not import this package.
"""
