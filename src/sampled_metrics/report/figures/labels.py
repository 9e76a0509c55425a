"""Labels beside the curves that they name, placed where they are clear of everything else.

Curves are drawn with their name as `label`; `place_labels` writes it beside them once the layout is
settled. Coordinates are pixels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy  # `scipy.optimize` takes long to import, so only where it is used
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from sampled_metrics._base.arrays import Float

STEP = 3.0  # between points of a curve
PLACES = 50  # along a curve that are tried
GAP = 2.0  # between a curve and its label
FAR = 30.0  # distance beyond which other curves and labels do not matter
_AT_END = "label at the right end"
# Where a label is, seen from a point of its curve: shares of its width and height.
_SIDES = np.array([(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1)])


def place_labels(figure: Figure) -> None:
    """Settle the layout of a figure, then write the name of each labelled curve beside it."""
    canvas: Any = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    settle(figure)
    for axes in figure.axes:
        _spread(axes, renderer)
        taken = [text.get_window_extent(renderer).extents for text in axes.texts]
        points = {line: _points(axes, line) for line in axes.get_lines()}
        for line in labelled(axes):
            taken.append(_place(axes, line, points, taken, renderer))


def settle(figure: Figure) -> None:
    """Settle the layout, so that drawing the figure does not measure it again."""
    every = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    for axis in every:
        if not axis.get_label_text():
            axis.set_label_coords(0, 0)  # otherwise its place is computed from all tick labels
    ConstrainedLayoutEngine().execute(figure)
    for axis in every:
        label = axis.label
        at = (label.get_transform() - axis.axes.transAxes).transform(label.get_position())
        axis.set_label_coords(*at)


def labelled(axes: Axes) -> list[Line2D]:
    """Return the lines that have a name; matplotlib's own begin with an underscore."""
    return [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]


def label_end(axes: Axes, y: float, text: str, color: str) -> None:
    """Write to the right of the axes at height y; `place_labels` moves such labels apart."""
    axes.annotate(
        text,
        (1, y),
        xycoords=axes.get_yaxis_transform(),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        color=color,
        annotation_clip=False,
        label=_AT_END,
    )


def _spread(axes: Axes, renderer: Any) -> None:
    """Move labels at the right end up and down until none overlaps another."""
    ends: list[Annotation] = [text for text in axes.texts if text.get_label() == _AT_END]  # type: ignore[misc]
    if not ends:
        return
    boxes = [text.get_window_extent(renderer) for text in ends]
    middles = np.array([(box.y0 + box.y1) / 2 for box in boxes])
    heights = np.array([box.height for box in boxes])
    wanted = spread_heights(middles, heights)
    points = 72.0 / axes.figure.dpi
    for text, middle, target in zip(ends, middles, wanted, strict=True):
        x, y = text.xyann
        text.xyann = (x, y + points * (target - middle))


def spread_heights(
    places: Float, sizes: Float, least: float = -np.inf, most: float = np.inf
) -> Float:
    """Move places as little as needed that intervals of these sizes do not overlap.

    Their order is kept. Places are from `least` to `most`, if there is room for them.

    Examples
    --------
    >>> import numpy as np
    >>> spread_heights(np.array([9.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0]))
    array([9., 0., 2.])
    >>> spread_heights(np.array([0.5, 0.5, 0.9]), np.full(3, 0.2), 0.0, 1.0).round(2)
    array([0.4, 0.6, 0.9])
    """
    order = np.argsort(places, kind="stable")
    sizes = sizes[order]
    offsets = np.concatenate([[0.0], np.cumsum((sizes[:-1] + sizes[1:]) / 2)])
    first = scipy.optimize.isotonic_regression(places[order] - offsets).x
    moved = np.empty(places.size)
    moved[order] = np.clip(first, least, max(most - offsets[-1], least)) + offsets
    return moved


def _points(axes: Axes, line: Line2D) -> Float:
    """Points along a line, as it is drawn, every few pixels within the axes."""
    corners = line.get_transform().transform(line.get_path().vertices)
    corners = corners[np.isfinite(corners).all(axis=1)]
    if len(corners) < 2:
        return corners
    steps = np.abs(np.diff(corners, axis=0)).max(axis=1)
    lengths = np.concatenate([[0.0], np.cumsum(np.maximum(steps, 1e-9))])
    along = np.linspace(0, lengths[-1], int(lengths[-1] / STEP) + 2)
    dense = np.stack([np.interp(along, lengths, corners[:, i]) for i in (0, 1)], axis=1)
    box = axes.bbox
    inside = (dense >= [box.x0 - 1, box.y0 - 1]) & (dense <= [box.x1 + 1, box.y1 + 1])
    return dense[inside.all(axis=1)]


def _place(
    axes: Axes, line: Line2D, points: dict[Line2D, Float], taken: Sequence[Any], renderer: Any
) -> Any:
    """Write the name of a line at the clearest place beside it; return the box of the text."""
    centred: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
    text = axes.text(0, 0, str(line.get_label()).strip(), color=str(line.get_color()), **centred)
    box = text.get_window_extent(renderer)
    boxes = _candidates(points[line], box.width, box.height, axes)
    if len(boxes):
        others = [at for other, at in points.items() if other is not line and len(at)]
        far = np.full(len(boxes), FAR)
        curves = np.min([far, *(_distances(boxes, at) for at in others)], axis=0)
        labels = np.min([far, *(_apart(boxes, at) for at in taken)], axis=0)
        own = _distances(boxes, points[line])
        clear = (np.minimum(own, 1) + np.minimum(curves, 1) + 3 * np.minimum(labels, 1)) * FAR
        score = clear + np.minimum(curves, labels)
        best = int(score.argmax())
        x0, y0, x1, y1 = boxes[best]
        if min(own[best], curves[best]) == 0:  # no free place: legible before the curves
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8})
        middle = axes.transAxes.inverted().transform(((x0 + x1) / 2, (y0 + y1) / 2))
        text.set_position((float(middle[0]), float(middle[1])))
    return text.get_window_extent(renderer).extents


def _candidates(curve: Float, width: float, height: float, axes: Axes) -> Float:
    """Boxes of a text beside points of a curve, within the axes; shape (boxes, 4).

    Where the text is too large for that, they are moved into the axes.
    """
    points = curve[:: max(1, len(curve) // PLACES)]
    half = np.array([width, height]) / 2
    middles = (points[:, None] + _SIDES * (half + GAP)).reshape(-1, 2)
    least, most = axes.bbox.min + half - GAP, axes.bbox.max - half + GAP
    inside = ((least < middles) & (middles < most)).all(axis=1)
    middles = middles[inside] if inside.any() else np.maximum(np.minimum(middles, most), least)
    return np.hstack([middles - half, middles + half])


def _distances(boxes: Float, points: Float) -> Float:
    """Distance of each box from the nearest of the points; 0 if one is inside."""
    x, y = points[:, 0], points[:, 1]
    across = np.maximum(np.maximum(boxes[:, :1] - x, x - boxes[:, 2:3]), 0.0)
    up = np.maximum(np.maximum(boxes[:, 1:2] - y, y - boxes[:, 3:4]), 0.0)
    return np.hypot(across, up).min(axis=1)


def _apart(boxes: Float, other: Float) -> Float:
    """Distance of each box from another box; 0 if they overlap."""
    across = np.maximum(np.maximum(boxes[:, 0] - other[2], other[0] - boxes[:, 2]), 0.0)
    up = np.maximum(np.maximum(boxes[:, 1] - other[3], other[1] - boxes[:, 3]), 0.0)
    return np.hypot(across, up)
