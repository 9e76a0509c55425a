"""Facts that two files hold must not drift apart; what must not be committed is not there."""

import re
import subprocess
import tomllib

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

import sampled_metrics
from sampled_metrics._base.files import read_table
from sampled_metrics.report.scorecard import COLUMNS
from tests.conftest import ROOT


def locked():
    text = (ROOT / "requirements.lock").read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s;\\]+)", text, re.MULTILINE))


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_environment_pins_what_the_lock_pins():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    pins = dict(line.split(" =") for line in environment["dependencies"])
    assert pins.pop("python") == project()["requires-python"].removeprefix(">=")
    needed = project()["dependencies"] + project()["optional-dependencies"]["study"]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in needed}
    assert pins == {name: locked()[name] for name in names}


def test_environments_of_the_rules_are_parts_of_the_whole():
    whole = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    for path in (ROOT / "workflow/envs").glob("*.yaml"):
        assert set(yaml.safe_load(path.read_text())["dependencies"]) <= set(whole), path.name
        assert f'"../envs/{path.name}"' in rules
    assert set(re.findall(r'"\.\./envs/(\w+)', rules)) == {"train", "study", "plot"}


def test_lock_holds_hashes_and_no_address():
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    pins = re.findall(r"^\S+==.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    assert len(pins) == len(locked())
    assert all("--hash=sha256:" in pin for pin in pins)
    names = {re.match(r"[\w-]+", name)[0].lower() for name in project()["dependencies"]}
    assert names <= set(locked())


def test_changelog_and_citation_know_the_project():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    section = f"## {sampled_metrics.__version__} ({citation['date-released']})"
    assert section in (ROOT / "CHANGELOG.md").read_text().splitlines()
    assert citation["license"] == project()["license"]
    assert citation["version"] == sampled_metrics.__version__
    assert [work["doi"] for work in citation["references"]] == ["10.1145/3535335"]


def test_snakefile_stays_a_table_of_contents():
    assert len((ROOT / "workflow/Snakefile").read_text().splitlines()) < 60


def test_what_reaches_a_shell_is_quoted():
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        for command in re.findall(r"(?m)^ *shell:\n((?: *\".*\"\n)+)", path.read_text()):
            bare = set(re.findall(r"\{([^}]*)\}", command))
            bare -= {name for name in bare if name.endswith(":q")}
            assert bare <= {"threads", "params.starts", "params.block_size"}, path.name


RANKS = {
    "ranks": (3, 6040),
    "global-time/ranks": (3, 1180),
    "ml-1m/ranks": (6, 6040),
    "ml-100k/ranks": (8, 943),
    "ncf": (2, 6040),
}


@pytest.mark.parametrize("folder", RANKS)
def test_reference_ranks_hold_no_movielens_event(folder):
    files = sorted((ROOT / "results/reference" / folder).glob("*.parquet"))
    recommenders, users = RANKS[folder]
    assert sum(".sampled" not in path.stem for path in files) == recommenders
    for path in files:
        table = pq.read_table(path)
        sampled = ["n_negatives", "sampling", "sampled_rank"]
        counts = sampled if ".sampled" in path.stem else ["n_better", "n_tied"]
        assert table.column_names == ["user_id", "n_candidates", *counts]
        assert table["user_id"].to_pylist() == list(range(users))


def test_a_split_at_one_time_turns_the_order_round():
    """The table of docs/other-data.md, by counting, and its orders."""
    text = (ROOT / "docs/other-data.md").read_text()
    for method, folder in (("leave-last-out", "ranks"), ("global-time", "global-time/ranks")):
        kept = [pq.read_table(ROOT / "results/reference" / folder / f"{x}.parquet") for x in "XYZ"]
        better, tied = (
            np.array([table[name].to_numpy() for table in kept]) for name in ("n_better", "n_tied")
        )
        hit = np.clip((10 - better) / (tied + 1), 0, 1)
        printed = [f"{value:.4f}".removeprefix("0") for value in hit.mean(axis=1)]
        (row,) = re.findall(rf"(?m)^\| `{method}`.* \| [YX] and .*$", text)
        assert f"| {hit.shape[1]:,} | {' | '.join(printed)} |" in row
        # X and Z by more than three standard errors of the paired difference
        lead = hit[2] - hit[0]
        error = lead.std() / np.sqrt(lead.size)
        assert abs(lead.mean()) > 3 * error
        assert (lead.mean() > 0) == (method == "leave-last-out")


@pytest.mark.parametrize("folder", ["", "ml-100k"])
def test_exact_metrics_of_the_reference_follow_from_its_ranks(folder):
    table = pd.read_csv(ROOT / "results/reference" / folder / "tables/exact.csv")
    for name, rows in table.groupby("recommender"):
        ranks = pq.read_table(ROOT / "results/reference" / folder / f"ranks/{name}.parquet")
        n, better, tied = (ranks[column].to_numpy() for column in ranks.column_names[1:])
        # places 1 to 10 that a random order of the ties may give
        recall = ((10 - better) / (tied + 1)).clip(0, 1).mean()
        auc = ((n - 1 - better - tied / 2) / (n - 1)).mean()
        found = rows[rows["ties"] == "expected"].set_index("metric")["value"]
        assert found["recall@10"] == pytest.approx(100 * recall, abs=1e-6)
        assert found["auc"] == pytest.approx(100 * auc, abs=1e-6)


def test_no_data_is_committed():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so nothing says what is committed")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = listed.stdout.split()
    assert not [name for name in names if name.endswith((".dat", ".zip", ".rating", ".npz"))]


REFERENCE = ROOT / "results/reference"


def words_of(name="README.md"):
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def table_rows(text):
    lines = text.splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "|" in line]


def shown_rows():
    return table_rows((ROOT / "README.md").read_text(encoding="utf-8"))


def test_readme_states_the_totals_of_the_reference_scorecard():
    card = read_table(REFERENCE / "scorecard.csv", COLUMNS, keep_default_na=False)
    assert set(card["verdict"]) == {"exact", "within noise", "explained"}
    counts = card["verdict"].value_counts()
    causes = card.loc[card["verdict"] == "explained", "note"].str.split(";").str[0]
    assert set(causes) == {"initialisation of X", "tie draw of Z"}
    words = words_of()
    assert f"Of the {len(card)} published cells of Tables 1-4, {counts['exact']} have" in words
    assert f"{counts['within noise']} differ by what the paper's repetitions explain" in words
    assert f"{counts['explained']} by what the paper leaves open" in words


def test_readme_states_the_verdicts_of_the_reference_claims():
    verdicts = pd.read_csv(REFERENCE / "claims.csv")["verdict"].value_counts()
    words = words_of()
    assert f"Of {verdicts.sum()} sentences of the paper" in words
    assert f"{verdicts['holds']} hold, {verdicts['holds in this run only']} do for some" in words
    assert f"{verdicts['does not hold']} do not hold, and {verdicts['slip']} are slips" in words


def test_readme_shows_the_exact_metrics_of_the_reference_run():
    table = pd.read_csv(REFERENCE / "tables/table3.csv", dtype=str)
    published = pd.read_csv(ROOT / "config/paper/tables.csv", dtype=str)
    for name in "XYZ":
        ours, theirs = (
            cells[(cells["table"] == "3") & (cells["row"] == name) & (cells["column"] == "Exact")]
            for cells in (table, published)
        )
        both = zip(ours["value"], theirs["value"], strict=True)
        assert [name, *(f"{value} ({printed})" for value, printed in both)] in shown_rows()


def test_readme_names_the_sample_sizes_of_figure_6():
    readme = words_of()
    table = pd.read_csv(REFERENCE / "figures/figure6.csv")
    of_pair = table[table["recommender"] == "X vs Y"].set_index(["kind", "estimator"])[
        "n_negatives"
    ]
    starts = pd.read_csv(REFERENCE / "starts.csv")
    of_starts = starts[(starts["table"] == 6) & (starts["row"] == "X vs Y")].groupby("column")[
        "value"
    ]
    low, high = of_starts.min(), of_starts.max()
    for estimator, words in (
        (
            "Sampled",
            "from {} negatives on, {} to {} over 20 starts of X, and in 95 % of single runs "
            "from {}",
        ),
        ("BV 0.1", "with γ = 0.1 from {} ({} to {}), and in 95 % of runs from {}"),
    ):
        sizes = (
            of_pair["ordered", estimator],
            low[estimator],
            high[estimator],
            of_pair["sure", estimator],
        )
        assert words.format(*(f"{size:,.0f}" for size in sizes)) in readme


def test_documentation_states_the_coverage_measured():
    text = (REFERENCE / "coverage.md").read_text(encoding="utf-8")
    text = text[text.index("# Coverage of expectations") :]
    table = text[text.index("## Estimates") : text.index("## Exact")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    known = [row for row in rows if row and row[0] in ("X", "Y", "Z")]
    users = sorted({int(row[1].replace(",", "")) for row in known})
    least, most = min(float(row[2]) for row in known), max(float(row[4]) for row in known)
    words = words_of("docs/estimators.md")
    experiments = re.search(r"Percent of ([\d,]+) experiments", text)[1]
    assert f"holds it in {least} to {most} % of {experiments} experiments" in words
    assert f"from {users[0]} to {users[-1]:,} users" in words
    random = [row for row in rows if row and row[0] == "random" and row[5] == "0"]
    assert f"it needs {random[0][1]} users for that" in words


def test_readme_states_how_often_a_budget_orders_rightly():
    orders = pd.read_csv(REFERENCE / "beyond/orders.csv")
    budgets = orders[orders["method"] == "budget"].set_index(["proxy", "budget"]).sort_index()
    share = budgets["right"] / budgets["runs"]
    least = int(100 * share.loc["als", 75].min())
    readme = words_of()
    assert f"in at least {least} of 100 runs with a small ALS" in readme
    assert "with popularity it took 200" in readme
    assert share.loc["popularity", 200].min() >= share.loc["als", 75].min()
    assert share.loc["popularity", 100].min() < 0.95
    assert (budgets.loc[[("als", 75), ("popularity", 200)], "runs"] == 100).all()
