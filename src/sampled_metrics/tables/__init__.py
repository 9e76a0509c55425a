"""Tables in files and in memory: reading them, naming their columns, checking their values."""
