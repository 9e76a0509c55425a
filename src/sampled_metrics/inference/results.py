"""Results that print as tables, in notebooks as well, and can be plotted."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from sampled_metrics._base.text import Parts, html_of, text_of

if TYPE_CHECKING:
    import pandas as pd

Result = TypeVar("Result")


class Shown(ABC):
    """What prints as tables with lines about them."""

    @abstractmethod
    def parts(self, **options: Any) -> Parts:
        """Return tables of few columns and lines about them."""

    @abstractmethod
    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with a row for each result and all that is known of it."""

    def plot(self, exact: "Shown | Mapping[Any, float] | None" = None, axes: Any = None) -> Any:
        """Draw ranges or intervals as lines, and estimates or values on them.

        Parameters
        ----------
        exact
            Exact results, if known, to be drawn beside the estimates: what `evaluate` or `compare`
            returns, or values by metric, or by (recommender, metric) if there are several.
        axes
            Matplotlib axes to draw on; by default those of a new figure.

        Returns
        -------
        The axes.
        """
        from sampled_metrics.inference.plotting import draw

        return draw(self.to_frame(), {} if exact is None else exact, axes)

    def __str__(self) -> str:
        return text_of(self.parts()).rstrip("\n")

    def _repr_html_(self) -> str:
        return html_of(self.parts())


class Results(Shown, list[Result]):
    r"""A list of results, one for each metric and estimator.

    `print` shows them as a table, as does a notebook; `to_frame` returns all fields and `plot`
    draws them.

    Examples
    --------
    >>> from sampled_metrics import correct
    >>> results = correct([1, 1, 5, 40, 90], "recall@10", "cls", n_items=3541, n_negatives=100)
    >>> print(str(results).partition("\n\n")[0])
    metric     range             estimator      value  acts like
    ---------  ----------------  -----------  -------  -----------
    recall@10  0.0028 to 0.9317  cls          0.19742  recall@26
    >>> results.to_frame()["behaves_like"].tolist()
    [26]
    """

    def __init__(self, results: Iterable[Result], show: Callable[..., Parts]) -> None:
        super().__init__(results)
        self._show = show

    def parts(self, **options: Any) -> Parts:
        """Return tables of few columns and lines about them."""
        return self._show(self, **options)

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with a row for each result and a column for each of its fields."""
        import pandas as pd

        return pd.DataFrame([asdict(result) for result in self])  # type: ignore[call-overload]

    def __repr__(self) -> str:
        return str(self)
