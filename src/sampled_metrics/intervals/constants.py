"""All constants of ranges and intervals, with what they trade off and what changing them does.

Ranges are valid for any value of the constants that only choose vectors, points or bins: those
change how wide a range is and how long it takes. Constants of assumptions and refusals decide what
is claimed, and name the page that measures them: `make measure PAGE=coverage` writes
docs/measured/coverage.md (95 % ranges contain the exact metric in at least 96 % of the samples of
each cell), `PAGE=shapes` docs/measured/shapes.md (real recommenders), `PAGE=negatives`
docs/measured/negatives.md (designs other than uniform negatives).
"""

import numpy as np

# --- assumption about true ranks (`kernels`) ----------------------------------------------------
# Down to where the class has its shape: SHAPED_NEGATIVES n / m, or SHAPED_CUTOFFS times the
# cut-off. A good recommender may have a few users with ranks far down that no decreasing
# distribution explains, and these do not matter for the ends of a range.
SHAPED_NEGATIVES = 5
SHAPED_CUTOFFS = 3

# --- refusals (`misfit`, `ranges`) --------------------------------------------------------------
# Few valid samples should be refused: on the page of coverage 0.3 to 0.6 % have p < 0.01.
REFUSED_P = 0.005  # a class does not explain sampled ranks if p is below
RISING_P = 0.0025  # low ranks are rarer than later ones if p is below; half, as there are two tests
SHORTEST_HEAD = 6  # number of low ranks in the first test of means
LEAST_USERS = 20  # for a mean that is nearly normal
# Above the factor of real recommenders, but for chance: at most 2.0 of them (page of shapes).
PLAUSIBLE_FACTOR = 3.0
LEAST_EXPECTED = 5.0  # users in a cell, the usual rule for chi-square
INVERSION_CONFIDENCE = 0.99  # ends must be in order at this confidence at least
INVERSION_ROUNDING = 1e-9  # as a share of the possible values

# --- points and bins of kernels (`kernels`) -----------------------------------------------------
ALL_POINTS = 20_000  # up to this n every k is a point: a table of 20,000 x 100 bins is 16 MB
MOST_SAMPLED = 100_000  # negatives; more take some GB
MOST_RANKED = 10_000_000  # candidates; more take some GB
# The grid for larger n. What lies between its points is bounded in `brackets`, so a finer grid
# narrows ranges a little and takes more time.
FIRST_POINTS = 512  # k that are all points
POINT_GROWTH = 0.01  # relative distance of further points
# Bins of sampled ranks: fewer make the programmes of `brackets` smaller and ranges a little wider.
FIRST_BINS = 20  # sampled ranks with a bin of their own
BIN_GROWTH = 1.2  # factor from bin to bin beyond
MOST_MEAN_STEPS = 50  # of Newton's method for the greatest mean; about five are needed
MEANS_ROUNDING = 1e-14  # difference of means that counts as rounding

# --- bracketing vectors (`brackets`) ------------------------------------------------------------
# Extreme points at the start: the first k, and spread ones. Too few take more rounds of solving,
# too many make each programme slower. With a factor, weighted points join in any case.
START_POINTS = (30, 60)
START_POINTS_OF_FACTOR = (12, 40)
MOST_CUTTING_ROUNDS = 20
VECTOR_TOLERANCE = 2e-5  # violation, as a share of the metric's span, added instead of solved for
VECTOR_ACCURACY = 1e-6  # of cone programmes; more takes time, and the tolerance is larger
ZERO_PROBABILITY = 1e-14  # smaller ones are no coefficients of the programme
# The fit of the likely distribution needs no precision, because ranges are valid for any.
FIT_POINTS = (100, 100)  # first and spread extreme points
FIT_STEPS = 400  # of expectation maximisation
PSEUDO_USERS = 0.5  # of a uniform rank, so that each sampled rank stays possible

# --- groups by the number of candidates (`groups`) ----------------------------------------------
# Vectors depend on the number of candidates n. If it differs, three groups with vectors of their
# own are enough: a mean n for all moved the ends by at most 0.006.
SIZE_GROUPS = 3
SAME_SIZE = 0.02  # n that differ by less, relative to their mean, are one group

# --- p-values of orders, and the factor up to which they hold (`ranges`) ------------------------
SMALLEST_P = 1e-6
LARGEST_P = 1.0 - 1e-3
P_ACCURACY = 1.01  # relative
FACTOR_ACCURACY = 0.05  # relative

# --- confidence bounds of means (`likelihood`) --------------------------------------------------
# Logarithms of the smallest and the largest tilt, relative to the span of the values: exp(-45) is
# far below the rounding of a value, and exp(45) leaves the observed shares as they are.
SMALLEST_LOG_TILT, LARGEST_LOG_TILT = -45.0, 45.0

# --- score intervals (`means`) ------------------------------------------------------------------
PRIOR_USERS = 0.5  # of a random rank, as little as keeps every value possible
# Users of the smooth fit: they matter for small samples and fade for thousands of users. With them
# intervals cover 93 to 97 % from 50 users on, random orders aside (page of coverage).
SMOOTH_USERS = 50.0
UNKNOWN_N = 1000  # candidates of a random ranking, if their number is not known
LEAST_CURVATURE = -2.0  # that of a share of successes, where V(mu) = mu (1 - mu)
# Coefficient of the squared distance: a heavy tail of few users could make it negative, and the
# interval unbounded.
LEAST_LEADING = 0.5

# --- fits of mixtures in tests (`misfit`) -------------------------------------------------------
REWEIGHTED_FITS = 3  # the weights of cells hardly change after
ITERATIONS_PER_POINT = 30  # limit of the least squares
MOST_JOINING_POINTS = 30  # extreme points that join a fit at most
LEAST_FIT_GAIN = 1e-3  # by which the next of them must improve the fit

# --- populations (`population`) -----------------------------------------------------------------
# Blocks of ranks: metrics change by at most about half a percent within one.
SINGLE_RANK_BLOCKS = 1000  # up to here every rank is a block of its own
BLOCKS_PER_E_FOLD = 200  # beyond, a block is half a percent wide
POPULATION_STEPS = 100  # of expectation maximisation; more follow the chance of the sample
LOG_EXPONENTS = (-12.0, 0.0)  # natural, of power laws; exponent 1 is a random order of the items

# --- vectors chosen on half of the users (`rank_only_ranges`, `thinned_ranges`) -----------------
# Standard errors in the choice of vectors. More than the confidence asks for makes vectors that do
# not rest on a few users, whose means would be far from normal.
CHOOSING_Z = 4.0

# --- ranks among negatives by popularity (`rank_only_ranges`) -----------------------------------
# Ranks of the programmes: the first ones, and others spread evenly on a logarithmic scale. Between
# them expectations are interpolated; twice as many change the ends by less than 1 %.
PROGRAMME_FIRST_RANKS = 300
PROGRAMME_SPREAD_RANKS = 500
MOST_CERTAIN = 1.0 - 1e-9  # share of the candidates that may be drawn at a finite time
MOST_SHARE = 1.0 - 1e-12  # of the draws, of one item
MOST_DOUBLINGS = 200  # of a rate
NEGLIGIBLE = 1e-25  # relative probabilities of numbers of better negatives that are dropped
HIT_MARGIN = 1e-9  # distance of a probability of hits from 0 and 1
STEP_LIMIT = 20.0  # step of a vector, in spans of the metric
RANK_ONLY_ACCURACY = 1e-7  # of cone programmes

# --- profile likelihood with tastes (`taste_ranges`) --------------------------------------------
TASTE_EM_STEPS = 30  # of expectation maximisation, before the steps of Newton's method
TASTE_NEWTON_STEPS = 30
TASTE_ROUNDS = 12  # expansions for an end; most take 4 to 6
JOINING_POINTS = 60  # extreme points that join those with a weight
TASTE_ACCURACY = 1e-7  # of cone programmes
LEAST_WEIGHT = 1e-7  # smaller weights in a solution are the solver's rounding
FIT_ACCURACY = 0.02  # of the log likelihood, by which the maximum may be missed
END_ACCURACY = 1e-3  # relative, by which an end may be missed
SHRINKAGE = 0.8  # of a step that leads outside of the set of likely weights
SMALLEST_STEP = 1e-3
LEAST_LIKELIHOOD = 1e-300  # keeps the log of an impossible count finite
LEAST_EIGENVALUE = 1e-10  # relative to the largest one; directions below do not matter
# Negatives by popularity tell little about unpopular items. Ranges with tastes contained the exact
# metric on MovieLens 100K for all recommenders, except one that avoids popular items: it had 0.25
# of the users near the top with such a taste, and recommenders with right and sharp ranges had 0.03
# at most (page of negatives).
AVERSE_TASTE = 0.3  # tastes below it do not look at popularity, or avoid it
MOST_AVERSE = 0.08  # share of the users near the top with such a taste
UNIFORM_SHARE = 0.5  # of negatives; then all ranges contained it, whatever the taste
CHANCE = 3.0  # standard deviations by which a stratum may miss this share

# --- ranges from thinned counts (`thinned_ranges`) ----------------------------------------------
KEPT_STARTS = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 17, 22, 30])  # first s of each bin
HEAD_QUANTILES = (0.0, 0.4, 0.7, 0.9)  # pi_0 to try are quantiles of the pi of candidates
# Neighbouring strata have the same pi if one has fewer draws, or rates are within these errors.
# So uniform negatives are one stratum.
POOLED_DRAWS = 10
POOLED_ERRORS = 2.5
RATE_ROUNDS = 8  # of rates by row and weights by stratum
RATE_STEPS = 8  # of Newton's method
SMALLEST_PROBABILITY, LARGEST_PROBABILITY = 1e-9, 1.0 - 1e-6
ROOTS, RADIUS = 64, 0.75  # the distribution of s is exact to RADIUS^ROOTS = 1e-8
BLOCK_ROWS = 4000  # rows whose distributions are computed at once
CHOOSING_ROWS = 10_000  # of a fold, by which vectors are chosen; more change nothing
FIRST_RANKS, RANK_GROWTH = 150, 1.03  # ranks and splits where the condition is checked
FIRST_CELLS, CELL_GROWTH = 20, 1.07  # cells of ranks in the programme
FIRST_SPLITS = (0.0, 0.1, 0.3, 0.6, 1.0)  # in the programme at the start
MOST_SPLIT_ROUNDS = 6  # of splits that join
SPLIT_TOLERANCE = 1e-3  # violation, as a share of the span, that is added instead of solved for
PSEUDO_ROWS = 0.5  # of a uniform rank, so that each s and t stays possible
PSEUDO_RANKS = 50
TAIL_UNIT = 10.0  # of t, so that all unknowns are of about size 1
COEFFICIENT_LIMIT = 4.0  # of c and d
LEAST_VARIANCE = 1e-10  # in a direction of the statistics
SIZE_ROUNDING = 1e-9  # of m / pi_0
LEAST_SPAN = 0.01  # of a metric, to tell a violation
THINNED_ACCURACY = 1e-6  # of cone programmes
