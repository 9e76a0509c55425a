"""What printed sampled metrics say about exact ones, and tables that contradict themselves.

Modules in the order in which they build on each other: `expectations` (sampled metrics for each
true rank), `programme` (distributions that give printed means), `statement` (printed numbers, and
the range that they allow), `likely` (a number to quote), `rows` (tables of printed numbers),
`consistency` and `flags` (tests of a row), and the public `reported` and `check`.
"""
