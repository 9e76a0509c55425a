"""From numbers to files that people read."""
