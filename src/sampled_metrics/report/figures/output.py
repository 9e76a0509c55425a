"""Writing a figure so that the same table always gives the same bytes."""

from pathlib import Path

from matplotlib.figure import Figure

from sampled_metrics._base.files import replacing
from sampled_metrics.report.figures.style import styled

# What would name the day or the version of matplotlib.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def save(figure: Figure, stem: Path) -> None:
    """Write `stem`.svg, .pdf and .png, each all or nothing.

    The layout is worked out once and then kept, which takes half the time and makes the three
    agree.
    """
    with styled():
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    for kind, metadata in _METADATA.items():
        with replacing(stem.with_name(f"{stem.name}.{kind}")) as path, styled():
            figure.savefig(path, format=kind, metadata=metadata)
