"""What people hold, recognised once: scores, tables, ranks, and items of users."""
