"""What every room uses: errors, arrays, files, seeds, settings, names, and tables as text."""
