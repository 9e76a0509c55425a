"""Facts that two files hold must not drift apart; what must not be committed is not there."""

import ast
import inspect
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pydoc import locate

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

import sampled_metrics
from tests.cluster import __main__ as cluster
from tests.conftest import ROOT

REFERENCE = ROOT / "results/reference"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def words_of(name):
    return " ".join(text_of(name).split())


def names_of(requirements):
    return {
        re.match(r"[\w-]+", requirement)[0].lower() for requirement in requirements
    }


def locked():
    return dict(
        re.findall(
            r"^([a-z0-9-]+)==([^\s;\\]+)", text_of("requirements.lock"), re.MULTILINE
        )
    )


def test_environment_pins_what_the_lock_pins():
    *lines, pip, of_pip = yaml.safe_load(text_of("environment.yml"))["dependencies"]
    assert (pip, of_pip) == ("pip", {"pip": ["--editable ."]})
    pins = dict(line.split(" =") for line in lines)
    assert pins.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    needed = names_of(PROJECT["dependencies"] + EXTRAS["study"])
    assert pins == {name: locked()[name] for name in needed}


def test_lock_holds_hashes_and_no_address():
    text = text_of("requirements.lock")
    of_image = re.findall(r"(?m)^\S+==\S+", text_of("requirements-study.lock"))
    assert set(of_image) <= set(re.findall(r"(?m)^\S+==\S+", text))
    assert "://" not in text
    pins = re.findall(r"^\S+==.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    assert len(pins) == len(locked())
    assert all("--hash=sha256:" in pin for pin in pins)


@cache
def distributions_by_package():
    """Distributions by the packages that they hold; listing the files of all takes long."""
    return packages_distributions()


def imported(paths):
    """Distributions that files import, our own and the standard library's left out."""
    known, found = distributions_by_package(), set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
            names += (
                [each.name for each in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            modules = {name.split(".")[0] for name in names} - set(
                sys.stdlib_module_names
            )
            found |= {known[name][0].lower() for name in modules if name in known}
    return found - {"sampled-metrics"}


def test_dependencies_are_what_is_imported():
    library, study = (
        set((ROOT / "src" / name).rglob("*.py"))
        for name in ("sampled_metrics", "sampled_metrics_study")
    )
    needed = names_of(PROJECT["dependencies"])
    # plots, bars and the proxy als say what to install where their library is missing
    assert imported(library) - {"matplotlib", "implicit", "tqdm"} == needed
    used = imported(study) - {"h5py"} | imported(
        (ROOT / "workflow/scripts").glob("*.py")
    )
    assert used | {"pyyaml", "snakemake", "tqdm"} <= needed | names_of(
        EXTRAS["study"]
    )
    # the command, the progress bar of pooch, and config.py
    assert names_of(EXTRAS["study"]) <= used | {"pyyaml", "snakemake", "tqdm"}


def test_the_environment_of_scripts_has_the_same_versions():
    whole, scripts = (
        yaml.safe_load(text_of(name))["dependencies"]
        for name in ("environment.yml", "workflow/envs/study.yaml")
    )
    assert all(line in whole for line in scripts)


def test_the_schema_and_the_page_describe_the_configuration(tmp_path):
    command = [
        sys.executable,
        "-m",
        "sampled_metrics_study.reference",
        "schema",
        "schema.yaml",
    ]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src{os.pathsep}{ROOT}"}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "schema.yaml").read_text() == text_of(
        "workflow/schemas/config.schema.yaml"
    )
    described = text_of("config/README.md")
    for section, values in yaml.safe_load(text_of("config/config.yaml")).items():
        keys = [section, *(values if isinstance(values, dict) else ())]
        assert all(f"`{key}" in described for key in keys)


def test_changelog_and_citation_know_the_project():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    section = f"## {sampled_metrics.__version__} ({citation['date-released']})"
    assert section in text_of("CHANGELOG.md").splitlines()
    assert citation["license"] == PROJECT["license"]
    assert citation["version"] == sampled_metrics.__version__


RANKS = {"ranks": (3, 6040), "global-time/ranks": (3, 1180), "ml-1m/ranks": (6, 6040),
         "ml-100k/ranks": (8, 943), "ncf": (2, 6040)}  # fmt: skip


@pytest.mark.parametrize("folder", RANKS)
def test_reference_ranks_hold_no_movielens_event(folder):
    files = sorted((REFERENCE / folder).glob("*.parquet"))
    recommenders, users = RANKS[folder]
    assert sum(".sampled" not in path.stem for path in files) == recommenders
    for path in files:
        table = pq.read_table(path)
        sampled = ["n_negatives", "sampling", "sampled_rank"]
        counts = sampled if ".sampled" in path.stem else ["n_better", "n_tied"]
        assert table.column_names == ["user_id", "n_candidates", *counts]
        assert table["user_id"].to_pylist() == list(range(users))


def test_no_data_is_committed():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so nothing says what is committed")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = listed.stdout.split()
    assert not [
        name for name in names if name.endswith((".dat", ".zip", ".rating", ".npz"))
    ]


@pytest.mark.parametrize("folder", ["", "ml-100k"])
def test_exact_metrics_of_the_reference_follow_from_its_ranks(folder):
    table = pd.read_csv(REFERENCE / folder / "tables/exact.csv")
    for name, rows in table.groupby("recommender"):
        ranks = pq.read_table(REFERENCE / folder / f"ranks/{name}.parquet")
        n, better, tied = (
            ranks[column].to_numpy() for column in ranks.column_names[1:]
        )
        # places 1 to 10 that a random order of the ties may give
        recall = ((10 - better) / (tied + 1)).clip(0, 1).mean()
        auc = ((n - 1 - better - tied / 2) / (n - 1)).mean()
        found = rows[rows["ties"] == "expected"].set_index("metric")["value"]
        assert found["recall@10"] == pytest.approx(100 * recall, abs=1e-6)
        assert found["auc"] == pytest.approx(100 * auc, abs=1e-6)


def test_the_guide_states_the_totals_of_the_reference_run():
    card = pd.read_csv(REFERENCE / "scorecard.csv")
    counts, words = card["verdict"].value_counts(), words_of("docs/study.md")
    assert set(counts.index) == {"exact", "within noise", "explained"}
    assert (
        f"Of the {len(card)} published cells of Tables 1-4, {counts['exact']} have"
        in words
    )
    kinds = card.loc[card["verdict"] == "exact", "kind"].value_counts()
    by_kind = (kinds["deterministic"], kinds["near-certain"], kinds["random"])
    assert (
        "{} deterministic ones, {} near-certain ones, and {} random".format(*by_kind)
        in words
    )
    assert f" {counts['within noise']} differ within the noise" in words
    assert f" {counts['explained']} by three choices" in words
    claims = pd.read_csv(REFERENCE / "claims.csv")
    verdicts = claims["verdict"].value_counts()
    assert f"Of {verdicts.sum()} sentences" in words
    assert (
        f"{verdicts['holds']} hold, {verdicts['depends on the start']} depend on the"
        in words
    )
    shares = claims.loc[claims["verdict"] == "depends on the start", "note"]
    *most, last = sorted(shares.str.extract(r"(\d+) of 20 others")[0].astype(int))
    assert (
        f"(they hold in {', '.join(map(str, most))} and {last} of 20 others)" in words
    )
    assert (
        f"{verdicts['does not hold']} do not hold, {verdicts['slip']} are slips"
        in words
    )
    said = f"{len(card)} published cells of Tables 1-4, {counts['exact']} have the same digits, "
    said += (
        f"{counts['within noise']} differ by what the paper's repetitions explain, "
    )
    assert f"{said}{counts['explained']} rest on what the paper" in words_of(
        "paper/paper.md"
    )


SIZES = {
    "Sampled": "from {} negatives on, {} to {} over 20 starts of X, and in 95 % of single runs "
    "from {}",
    "BV 0.1": "with γ = 0.1 from {} ({} to {}), and in 95 % of runs from {}",
}


@pytest.mark.parametrize(("estimator", "words"), SIZES.items())
def test_the_guide_names_the_sample_sizes_of_figure_6(estimator, words):
    table = pd.read_csv(REFERENCE / "figures/figure6.csv")
    pair = table[table["recommender"] == "X vs Y"].set_index(["kind", "estimator"])[
        "n_negatives"
    ]
    starts = pd.read_csv(REFERENCE / "starts.csv")
    starts = starts[(starts["table"] == 6) & (starts["row"] == "X vs Y")]
    values = starts[starts["column"] == estimator]["value"]
    sizes = (
        pair["ordered", estimator],
        values.min(),
        values.max(),
        pair["sure", estimator],
    )
    assert words.format(*(f"{size:,.0f}" for size in sizes)) in words_of(
        "docs/study.md"
    )


def test_the_guide_states_how_often_a_budget_orders_rightly():
    orders = pd.read_csv(REFERENCE / "beyond/orders.csv")
    of_budgets = orders[orders["method"] == "budget"]
    (runs,) = set(of_budgets["runs"])
    least = of_budgets.groupby("proxy")["right"].min()
    words = words_of("docs/budget.md")
    assert f"in at least {least['als']} of {runs} runs with a small ALS" in words
    assert f"and in at least {least['popularity']} with popularity" in words


def test_the_profile_for_slurm_has_what_its_user_edits():
    text = cluster.edited(text_of("workflow/profiles/slurm/config.yaml"))
    assert "\n  slurm_account: lab\n" in text
    assert "\n  slurm_partition: main\n" in text


def test_scripts_use_names_that_the_package_has():
    folders = [ROOT / name for name in ("benchmarks", "docs", "workflow")]
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    assert not [name for path in paths for name in names_missing(path)]


def names_missing(path):
    """Names that a script imports from the package, or takes from its modules, in vain."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    imported = {}
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module)) if module.startswith(
                "sampled_metrics"
            ):
                for one in node.names:
                    imported[one.name] = f"{module}.{one.name}"
    used = list(imported.values())
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if name in imported:
                if inspect.ismodule(locate(imported[name])):
                    used.append(f"{imported[name]}.{node.attr}")
    return [f"{path.name}: {name}" for name in used if locate(name) is None]


def test_guide_to_the_study_lists_each_file():
    tree = text_of("docs/study.md").split("```\nsteps.py")[1].split("\n```")[0]
    listed = set(re.findall(r"(?m)^ *(\w+\.py)", "steps.py" + tree))
    files = (ROOT / "src/sampled_metrics_study").rglob("*.py")
    assert listed == {path.name for path in files} - {"__init__.py"}
