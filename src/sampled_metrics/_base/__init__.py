"""Shared by all packages: errors, arrays, arguments, files, threads, random streams and text."""
