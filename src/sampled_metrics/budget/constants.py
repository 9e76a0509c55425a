"""All constants of an evaluation on a budget, with what they trade off and where they were chosen.

None of them decides whether an interval covers: the audit is unbiased for any order of candidates,
any model and any plan of rounds and phases. They decide how wide intervals are, and how long the
computation takes. "Tuned" below means chosen on recommenders for MovieLens 1M other than those of
the study, "also tuned on MovieLens 100K" in addition on that and on a synthetic catalogue. The page
`make measure PAGE=proxies` (docs/measured/proxies.md) measures widths and coverage for five
proxies: half an interval is 0.05 to 0.10 of the metric with a good proxy, about 0.3 to 0.4 with a
weak or useless one, and 92.5 to 100 % of the 95 % intervals cover.
"""

# --- strata: how the proxy's order is cut -------------------------------------------------------
# Tuned: narrow where a good proxy puts the items that outrank the held-out one, wide in the tail.
FIRST_EDGES = (0, 5, 15, 40, 100, 250, 600, 1400)
EDGE_GROWTH = 2.4  # factor from edge to edge beyond, about that between the first ones
LAST_EDGE = 0.9  # edges are below this share of the candidates
# Memory: only the heads of users' orders are stored, the tails are in one random order of items.
HEAD_ENTRIES = 1 << 25  # items of all users' heads together: 128 MB
LEAST_HEAD = 1400  # items of a user's head, however many users there are: the last of FIRST_EDGES

# --- how the budget is divided ------------------------------------------------------------------
# The model's part; the rest is the audit's. Tuned: with 0.6 the intervals were a fifth narrower,
# and close recommenders were ordered wrongly more often.
MODEL_SHARE = 0.75
CONTROLS = 20  # pairs scored twice: enough to notice scores that depend on their batch
# A score may change by this share of itself and of the range of scores: float16 rounds to less.
RELATIVE_ROUNDING = 0.002
# Audited users with all candidates scored; fewer do not show how good the proxy is.
LEAST_RANKED = 15
BUDGET_MARGIN = 1.3  # advised budget, relative to one that pays for LEAST_RANKED lists on average
# Half an interval as a share of the metric if one full list is paid for, to announce how wide
# intervals will be. Rules of thumb.
WIDTH_WITH_PROXY, WIDTH_WITHOUT_PROXY = 0.2, 1.5

# --- the test whether the proxy helps -----------------------------------------------------------
# Ratio of odds from which a model of the proxy's order gives narrower intervals than random users
# for the same scores: on the page of proxies "good" passes in 100 % of the runs, "weak" in none.
LEAST_ODDS = 3.0
NORMAL_QUANTILE = 2.326  # one-sided, for an error of 1 %

# --- rounds of scores for the model -------------------------------------------------------------
# Tuned: more and smaller rounds spend scores a little better, and call the recommender more often.
ROUNDS_PER_E = 3.0  # rounds for every factor e from the first round to the budget
LEAST_ROUNDS = 4
FIRST_BATCHES = (5, 10, 10, 12, 15, 20)  # fewest scores of a user at once in the first strata
BATCH = 25  # the same in further strata
# Steps of expectation maximisation after the first round, later rounds and the last one. Further
# steps hardly change the metrics, and each round starts from the last fit.
FIRST_STEPS = 30
ROUND_STEPS = 6
LAST_STEPS = 40
RECALL_WEIGHT = 0.25  # of its variance in choosing scores: it is 0 or 1, other metrics vary less
UNSEEN_SCORES = 0.3  # scores added as if all were better, so that strata with few stay interesting
LEAST_TOTAL_SPREAD = 1e-9  # to divide by

# --- the model ----------------------------------------------------------------------------------
# Also tuned on MovieLens 100K. More classes follow users more closely, and need more of them.
CONCENTRATION = 30.0  # kappa: with 40 classes, no significantly wrong order on these data
MOST_CLASSES = 40
LEAST_CLASSES = 20
ROWS_PER_CLASS = 20
MOST_BINS = 12  # bins of held-out items by their own position in the proxy's order
HEAD_SHARE = 0.3  # held-out items with the best positions, which have half of the bins
ROWS_PER_BIN = 100
SMOOTHING = 0.5  # scores that the initial share of a class counts as
# Initial shares, see `model.initial_shares`: expectation maximisation moves them, so they need
# only be apart from each other.
FIRST_CLASS_MIDDLE = 0.3  # position at which the share of the first class is half its greatest
LAST_CLASS_MIDDLE = 0.85  # the same of the last class, as a part of the candidates
SHARE_STEEPNESS = 1.2  # of the logistic decrease
GREATEST_INITIAL_SHARE, MOST_INITIAL_SHARE = 0.95, 0.98
# Shares of better candidates stay away from 0 and 1, which no further score could change.
MOST_SHARE = 0.995
LEAST_SHARE = 2e-5
LEAST_EXPECTED_BETTER = 0.07  # the least share is also at most this by the number of candidates
LEAST_PRIOR = 1e-6  # of a class in a bin, before scaling
MOST_DEPTH = 2000  # better candidates: tables of the model grow with its square
DEPTH_WITHOUT_CUTOFF = 10  # better candidates that end a scan if no metric has a cut-off
TIE_NODES = 6  # Gauss-Legendre nodes for the integral over the order of ties

# --- tables of Poisson means --------------------------------------------------------------------
# Interpolated metrics are exact to about 0.2 % (tests/budget/test_model.py).
SMALLEST_MEAN = 1e-4
LEAST_LARGEST_MEAN = 10.0  # tables reach at least up to this mean
MEAN_MARGIN = 1.1  # and up to this by the number of candidates
LOG_STEP = 0.068  # between means
EXACT_BELOW = 600.0  # means, or 3 times the depth; larger ones by an expansion
EXACT_BELOW_DEPTHS = 3.0
# Numbers of better candidates in a table: up to this many standard deviations above the mean, and
# some for small means. What lies beyond has a probability far below rounding.
SUPPORT_DEVIATIONS, SUPPORT_EXTRA = 12.0, 30.0

# --- phases of the audit ------------------------------------------------------------------------
# Tuned.
SCANNING_PHASES = 4  # phases that follow the proxy's order
FIRST_SCORES = 16  # least number of scores of a user in the first phase
PHASE_SHARES = (0.3, 0.4, 0.5, 1.0)  # largest part of the scores left that each phase may spend
# The same without a proxy that helps, with less left for later phases, in which the choice of users
# cannot be much better.
PHASE_SHARES_WITHOUT_PROXY = (0.5, 0.6, 0.6, 1.0)
EVEN_WEIGHT = 0.5  # weight of the mean over users in a user's worth, without a proxy that helps
VARIANCE_FLOOR = 0.001  # share of the squared greatest value added to the variance a model states
LEAST_RATE = 1e-9  # share of better candidates in a stratum, to divide by
# Random draws in turns: few at first, because one better candidate ends them.
FIRST_TURN_BETTER = 3.0  # better candidates expected in the first turn
TURN_GROWTH = 8.0  # factor on the number of draws, from turn to turn
TURNS = 3  # the last one draws all remaining candidates
NEGLIGIBLE_PROBABILITY = 1e-15  # further draws are not followed below

# --- estimates ----------------------------------------------------------------------------------
# These make intervals a little wider, so that they cover with useless and misleading proxies as
# well (page of proxies), and with models that are wrong on purpose (tests of audits).
LEAST_SHARED_ERROR = 0.5  # least part of two recommenders' assumed errors in their difference
UNSEEN_USERS = 0.3  # standard deviation added, in users: an audit cannot see a fraction of one
DISAGREEMENT = 1.0 / 3.0  # audit and model disagree beyond this part of half an interval
LEAST_FREEDOM = 3.0  # few users drawn leave Satterthwaite's degrees of freedom uncertain
MOST_FREEDOM = 1e6
LEAST_DIVISOR = 1e-30  # replaces variances of 0, to divide by
