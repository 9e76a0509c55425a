"""The experiments of the paper: toy recommenders, MovieLens, and what its figures plot."""
