"""Compare every published cell with ours."""

from pathlib import Path

from sampled_metrics_study.experiment import join_sources
from sampled_metrics_study.figures import draw
from sampled_metrics_study.files import read_table, write_table
from sampled_metrics_study.scorecard import scorecard, write_scorecard, z_scores
from sampled_metrics_study.steps import step
from sampled_metrics_study.tables import SPREAD_COLUMNS, TEXT_COLUMNS, read_cells, read_published

output = snakemake.output
with step(snakemake) as logger:
    ours = read_cells([Path(path) for path in snakemake.input.cells])
    published = read_published(Path(snakemake.input.published))
    spread = read_table(Path(snakemake.input.spread), SPREAD_COLUMNS, TEXT_COLUMNS)
    card = scorecard(ours, published, spread, snakemake.params.departures)
    write_scorecard(card, join_sources(ours["ranks"]), Path(output.csv), Path(output.md))
    logger.info("cells: %s", card["verdict"].value_counts().to_dict())
    z = z_scores(card)
    write_table(z, Path(output.z).with_suffix(".csv"), "%.6g")
    draw("z", z, Path(output.z).with_suffix(""))
