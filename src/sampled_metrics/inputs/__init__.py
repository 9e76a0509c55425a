"""Readers of scores, tables, ranks and items of users, as other libraries write them."""
