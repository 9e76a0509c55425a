"""From an archive of interactions to training data and held-out items."""
