"""Beyond the paper: what each method of evaluation costs, how far it is off, whom it puts first.

`outcomes` compares scores with those of the held-out items, which is all that methods ask for.
`sampled` (with `orders`), `users` and `budgets` repeat evaluations as `runs`; `parts` divides them
into jobs. `tables` and `curves` lay the results out.
"""
