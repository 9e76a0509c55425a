"""What every room uses: errors, arrays, files, seeds."""
