"""Signs of a mistake in valid data: pure functions that yield an argument and what is suspicious.

There is a file for each canonical form that data is read into. `warn_all` warns of the signs, where
the form has been read. The thresholds keep chance from raising a warning, and balance warnings
about sound data, which docs/measured/warnings.md counts, against mistakes that raise none. They are
constants beside the checks.

All checks, without the beginning `signs_` of their names:

check                   argument        sign, from which size of data on
----------------------  --------------  ----------------------------------------------------------
tables: in columns that are read, or are not
of_other_ids            the table       a second column may contain the ids
of_sessions             data            several ranks in a session without a user

items: of users, such as relevant and seen ones
of_different_ids        relevant, seen  below 1 of 10 ids in common (from 10 items or 1 user on);
                                        or texts that contain several ids, or one in another form
of_common_item          relevant        one item of 9 of 10 users, others of half as many (10 users)
of_unused_grades        relevant        any grade where grades are not used
of_unread_rating        relevant        a column of ratings, without min_relevance
of_unread_labels        relevant, seen  a column of yes and no, or of at most 10 numbers
of_unseen_rows          seen            any row of label 0
of_users_without_label  label           any user without a label above 0
of_ids_from_1           the table       none of the rows, nearly all of which are used, is 0 (10)

lists: and their order
of_unread_scores        data            a column of numbers that neither fall nor rise
of_mixed_rows           data            rows in order neither of users nor of places (10 lists)
of_contradiction        data            scores rise in more than 10 % of 10 steps
of_ranks_as_scores      data            scores are 1, 2, 3 and so on (10 lists, or another name)
of_distances            data            scores rise in all steps (2 steps; 10 dictionaries)
of_lists_as_ranks       data            ranks are 1, 2, 3 and so on for each user (10 users)
of_sorted_ids           data            ids of items ascend in all lists (10 lists)
in_hits                 data, relevant  all relevant items listed, no other items, or no more than
                                        by chance (50 lists of at most half of the items; 8 hits by
                                        chance)

scores: of all items, or of a held-out item and its negatives
of_sample_columns       data            as many columns as samples have, or one held-out column (10)
of_first_column         data            the first column is constant, or numbers 50 rows
of_equal_vectors        data            1 % of the vectors of items are equal to another
of_equal_columns        data            1 % of the columns are equal to another in 16 rows
of_batches              positive        held-out items on the diagonal of square batches (10 rows)
of_padding              missing         rows end with -inf (10 rows)

ranks: in full rankings
in_ranks                                those down to in_last_rank, and:
                        relevant        all candidates of all users are relevant (10 users)
                        data            items above all others or tied with all (50 rows)
in_order                relevant        items above 55 % of the others or fewer (50 rows)
of_perfection           data            all items are above all others (50 rows)
of_equal_scores         data            all scores are equal in 1 % of the rows (50 rows)
in_last_rank            data            no rank beyond one where 12 are expected, or 5 if far
                                        from the end, or the tail ends where 1 % of tails do
of_sampled_candidates   data            as many candidates as samples have (10 users)
of_other_processes      update          rows of one process of several

samples: sampled ranks and their negatives
in_sampled_ranks                        as in_ranks, and:
                        n_items         as many items as the sample has
                        ties            a tenth of the negatives tied, in half of 50 rows
                        data            exactly one tied, 5 with several expected by chance
of_duplicates           user_id         several rows of a user
of_failed_checks        data            see `check_negatives`
of_unlikely_ranks       data            p below 0.005, or 0.0025 of a rise (`intervals.misfit`)
of_implausible_ranks    data            p below 0.005 (`intervals.misfit`)
of_short_lists          n_negatives     lists of different lengths, with missing items
of_dropped_negatives    n_negatives     up to a tenth fewer negatives in some rows
of_joined_rows          data            as many negatives for each of several items (10 users)

recommenders: two of them
in_pair                 data            1 of 10 users, or the means by 1 %, differ in candidates;
                                        equal ranks (10 rows); below half of the users in common

metrics: and estimators that were requested
of_flat_metrics         metrics         a cut-off that covers all candidates (10 users)
of_skipped_metrics      metrics         lists that are too short
of_undefined_values     metrics         any user without a value
of_ties                 ties            half of the items tied, and means that differ by 4
                                        standard errors between orders of ties (50 users)
of_slow_estimators      estimators      more than 1,500 negatives, without names

strata: scores on a budget
of_changed_scores       recommender     any score that changes when scored again
in_strata               recommender     half of the items tied with all; above 55 % of the
                                        candidates or fewer, and 30 % near the top (50 items)
of_ties_in_strata       recommender     as of_ties (50 items)

printed: numbers
of_impossible_shares    n_users         any number that is no share of the users
"""

from collections.abc import Iterator
from typing import TypeAlias

Signs: TypeAlias = Iterator[tuple[str, str]]  # each an argument, and what is suspicious about it
