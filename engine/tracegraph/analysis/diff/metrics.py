"""What the runs took: steps, recorded errors, time, tokens, cost, and how these changed."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal

from tracegraph.analysis import metrics
from tracegraph.analysis.diff.sides import Side
from tracegraph.analysis.metrics import EXACT, Measure, measure
from tracegraph.model.codes import STATUS_CODE

Number = int | Decimal


@dataclass(frozen=True, slots=True)
class Metric:
    """One quantity of both runs."""

    name: str
    a: Measure
    b: Measure

    @property
    def delta(self) -> Number | None:
        """How much more B has; None unless both are recorded of every step that has a part."""
        a, b = self.a.value, self.b.value
        if a is None or b is None or not (self.a.is_whole and self.b.is_whole):
            return None
        if isinstance(a, int) and isinstance(b, int):
            return b - a
        return EXACT.subtract(Decimal(b), Decimal(a))


@dataclass(frozen=True, slots=True)
class Metrics:
    """Verdict on the quantities; two runs of one program rarely take equally long."""

    metrics: tuple[Metric, ...]

    @property
    def identical(self) -> bool:
        """Whether nothing recorded differs, be it in part, and nothing is known of one run only."""
        return all(metric.a.value == metric.b.value for metric in self.metrics)


def compare_metrics(a: Side, b: Side) -> Metrics:
    """Return every quantity of both runs."""
    pairs = zip(_measures(a), _measures(b), strict=True)
    return Metrics(tuple(Metric(name, mine, other) for (name, mine), (_, other) in pairs))


def _measures(side: Side) -> Iterator[tuple[str, Measure]]:
    """Yield the quantities of a run. A step of unknown status may be one more error."""
    yield "steps", Measure(len(side), len(side), len(side))
    errors = int((side.status == STATUS_CODE["error"]).sum())
    yield "errors", Measure(errors, len(side) - int(side.undecided.sum()), len(side))
    found = measure(side.trace.columns)
    for field in fields(metrics.Metrics):
        yield field.name, getattr(found, field.name)
