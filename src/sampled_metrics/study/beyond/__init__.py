"""Beyond the paper: what each method of evaluation costs, how far it is off, whom it puts first."""
