# What each job asks of a scheduler, from the size of the data: sampled_metrics.study.resources
# has the formulas. On one machine they bind nothing unless `--resources mem_mb=...` does.
from sampled_metrics.datasets.catalogue import movielens
from sampled_metrics.study import resources as needs


# These rules, fetch, describe and the gathering of ranks run where Snakemake runs: the nodes of a
# cluster often have no network, and what takes a second is not worth a place in a queue.
localrules:
    provenance,


scattergather:
    ranking=config["ranking"]["pieces"],
    experiment=config["experiment"]["pieces"],


def size_of_data():
    """Of the split as soon as there is one; before, what is expected."""
    counts = Path(config["results"], "split/split.json")
    if counts.exists():
        return needs.Size.of_counts(counts)
    return size_expected()


def size_expected():
    """As the publisher counts, or guessed from a table."""
    if MOVIELENS:
        return needs.Size(*movielens(config["dataset"]["name"]).counts)
    return needs.Size.of_table(bytes_of([EVENTS]))


def bytes_of(paths):
    return sum(Path(path).stat().st_size for path in paths if Path(path).is_file())


def largest(setting):
    """Of all recommenders that have such a setting."""
    settings = [each["settings"] for each in RECOMMENDERS.values()]
    return max((each[setting] for each in settings if each.get(setting)), default=1)


def work_of(rule, input):
    """What the formulas depend on. Only the split can be of newer data than the last split."""
    pieces = {"rank_piece": "ranking", "draw": "experiment"}.get(rule)
    experiment = config["experiment"]
    streams = 1 if experiment["shared_samples"] else len(experiment["estimators"])
    return needs.Work(
        size_expected() if rule == "split" else size_of_data(),
        n_negatives=experiment["n_negatives"],
        draws=experiment["repetitions"] * streams,
        block_size=config["ranking"]["block_size"],
        d=largest("d"),
        iterations=largest("iterations"),
        starts=config["scorecard"]["starts"],
        # .npz is read row by row
        file_bytes=bytes_of(path for path in input if Path(path).suffix != ".npz"),
        pieces=config[pieces]["pieces"] if pieces else 1,
    )


def kind_of(wildcards):
    """Of the recommender that a job is about, if any; itemknn-all keeps all neighbours."""
    one = RECOMMENDERS.get(getattr(wildcards, "recommender", ""), {"kind": ""})
    kept = (
        [one["settings"][k] for k in ("k", "k_prime")]
        if one["kind"] == "itemknn"
        else []
    )
    return "itemknn-all" if kept == [None, None] else one["kind"]


def memory_mb(wildcards, input, attempt, rulename):
    return needs.memory_mb(
        rulename, work_of(rulename, input), attempt, kind_of(wildcards)
    )


def minutes(wildcards, input, attempt, rulename):
    return needs.minutes(
        rulename, work_of(rulename, input), attempt, kind_of(wildcards)
    )
