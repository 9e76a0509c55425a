#!/bin/sh
# Evaluate two recommenders on a budget, with awk in the place of their programs.
#
#     sh tests/examples/budget.sh FOLDER [SCORES_PER_USER]
#
# Any program will do that adds a column `score` to the pairs that it is asked for.
set -eu
cd "$1"

# What 40 users have seen of 60 items, and one item of each that is held out of it.
awk '
    function seen(u, i) { return (u * 17 + i * 31 + u * i) % 101 < 12 }
    BEGIN {
        print "user_id,item_id" > "seen.csv"
        print "user_id,item_id" > "held_out.csv"
        for (u = 1; u <= 40; u++) {
            for (i = 1; i <= 60; i++) if (seen(u, i)) printf "u%d,i%d\n", u, i > "seen.csv"
            for (i = u * 13 % 30 + 1; seen(u, i); i++) ;
            printf "u%d,i%d\n", u, i > "held_out.csv"
        }
    }'

sampled-metrics budget start state --seen seen.csv --relevant held_out.csv \
    --name careful --name hasty --budget "${2:-24}" --metric recall@10 --metric ap

# `ask` ends the loop with status 3; an error of `tell` ends the script.
while sampled-metrics budget ask state --output pairs.csv; do
    awk -F, -v OFS=, '
        NR == 1 { print $0, "score"; next }
        {
            u = substr($1, 2); i = substr($2, 2)
            noise = (u * 7919 + i * 104729 + u * i * 31) % 1009
            print $0, ($3 == "careful" ? 20 : 5) * -i + noise
        }' pairs.csv > scores.csv
    sampled-metrics budget tell state scores.csv
done

sampled-metrics budget result state
