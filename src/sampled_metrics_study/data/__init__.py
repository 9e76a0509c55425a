"""Turn an archive or a table of interactions into training data and held-out items."""
