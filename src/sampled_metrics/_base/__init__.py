"""Shared by all rooms: errors, arrays, files, seeds, settings, and text."""
