"""Pages of a study, and of one's own recommenders: HTML files with an interactive explorer."""
