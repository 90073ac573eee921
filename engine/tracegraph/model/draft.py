"""What an adapter fills: traces as growing columns, in the order of the source.

An object per step costs more than all the rest of reading (DESIGN section 4), so a draft is a set
of parallel lists. Adapters append through :meth:`Draft.step` or, in bulk, to the lists themselves.
:func:`tracegraph.model.seal.seal` turns a draft into :class:`~tracegraph.model.columns.Columns`.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from tracegraph.model.codes import ORIGIN_CODE, UNKNOWN, evidence_of
from tracegraph.model.unmapped import Unmapped


@dataclass(slots=True)
class DraftSteps:
    """One list per step column. Unknown is None for text and -1 for numbers, times and codes."""

    step_id: list[str] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    name: list[str | None] = field(default_factory=list)
    status: list[int] = field(default_factory=list)
    status_source: list[str | None] = field(default_factory=list)
    agent: list[str | None] = field(default_factory=list)
    model: list[str | None] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    """Nanoseconds since the epoch."""
    end: list[int] = field(default_factory=list)
    duration: list[int] = field(default_factory=list)
    """Nanoseconds as recorded; -1 lets it follow from start and end."""
    error_type: list[str | None] = field(default_factory=list)
    error_message: list[str | None] = field(default_factory=list)
    tokens_prompt: list[int] = field(default_factory=list)
    tokens_completion: list[int] = field(default_factory=list)
    tokens_total: list[int] = field(default_factory=list)
    cost: list[str | None] = field(default_factory=list)
    """A non-negative decimal as text."""
    tool_call_id: list[str | None] = field(default_factory=list)
    args: list[str | None] = field(default_factory=list)
    result: list[str | None] = field(default_factory=list)
    args_size: list[int] = field(default_factory=list)
    result_size: list[int] = field(default_factory=list)
    """Bytes, as UTF-8, of the recorded text behind a digest: bodies leave, their size stays."""
    docs: list[int] = field(default_factory=list)
    signals: list[int] = field(default_factory=list)
    """Bit mask of SIGNALS."""
    wrapper: list[bool] = field(default_factory=list)
    orphan: list[bool] = field(default_factory=list)
    """A recorded parent of the step is not in the source."""
    unknown_fields: list[str | None] = field(default_factory=list)
    """Sorted names, joined by a comma, of fields whose absence proves nothing."""
    input: list[str | None] = field(default_factory=list)
    output: list[str | None] = field(default_factory=list)
    attributes: list[str | None] = field(default_factory=list)
    """A JSON object as text. The three content columns stay empty when content is not kept."""


@dataclass(slots=True)
class DraftTraces:
    """One list per trace column."""

    first: list[int] = field(default_factory=list)
    trace_id: list[str] = field(default_factory=list)
    source: list[str] = field(default_factory=list)
    file: list[str] = field(default_factory=list)
    file_digest: list[str | None] = field(default_factory=list)
    run_id: list[str | None] = field(default_factory=list)
    session_id: list[str | None] = field(default_factory=list)
    agent: list[str | None] = field(default_factory=list)
    fidelity: list[int] = field(default_factory=list)
    contained: list[bool] = field(default_factory=list)
    """Whether a root step contains the run; else the last step speaks for it."""
    status: list[int] = field(default_factory=list)
    """Recorded status, or -1 to derive it (DESIGN section 3)."""
    attributes: list[str | None] = field(default_factory=list)
    gaps: list[Counter[str]] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """Traces of one or more files on their way into columns."""

    keep_content: bool = False
    steps: DraftSteps = field(default_factory=DraftSteps)
    traces: DraftTraces = field(default_factory=DraftTraces)
    effect: list[int] = field(default_factory=list)
    cause: list[int] = field(default_factory=list)
    origin: list[int] = field(default_factory=list)
    evidence: list[int] = field(default_factory=list)
    file_gaps: Counter[str] = field(default_factory=Counter)
    """Losses that belong to a file and to no trace of it, e.g. a line that is no JSON."""
    unmapped: Unmapped | None = None
    """What the mapping of a home-made log left of a file; in its last draft."""

    def begin(
        self,
        trace_id: str,
        *,
        source: str,
        file: str,
        file_digest: str | None = None,
        run_id: str | None = None,
        session_id: str | None = None,
        agent: str | None = None,
        fidelity: int = 0,
        contained: bool = True,
        status: int = UNKNOWN,
        attributes: str | None = None,
        gaps: Mapping[str, int] | None = None,
    ) -> int:
        """Open a trace; its steps follow. Return the row that its first step will have."""
        first = len(self.steps.step_id)
        t = self.traces
        t.first.append(first)
        t.trace_id.append(trace_id)
        t.source.append(source)
        t.file.append(file)
        t.file_digest.append(file_digest)
        t.run_id.append(run_id)
        t.session_id.append(session_id)
        t.agent.append(agent)
        t.fidelity.append(fidelity)
        t.contained.append(contained)
        t.status.append(status)
        t.attributes.append(attributes)
        t.gaps.append(Counter(gaps or {}))
        return first

    def step(
        self,
        step_id: str,
        *,
        kind: int = 0,
        name: str | None = None,
        status: int = 0,
        status_source: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        start: int = UNKNOWN,
        end: int = UNKNOWN,
        duration: int = UNKNOWN,
        error_type: str | None = None,
        error_message: str | None = None,
        tokens_prompt: int = UNKNOWN,
        tokens_completion: int = UNKNOWN,
        tokens_total: int = UNKNOWN,
        cost: str | None = None,
        tool_call_id: str | None = None,
        args: str | None = None,
        result: str | None = None,
        args_size: int = UNKNOWN,
        result_size: int = UNKNOWN,
        docs: int = UNKNOWN,
        signals: int = 0,
        wrapper: bool = False,
        orphan: bool = False,
        unknown_fields: str | None = None,
        input: str | None = None,
        output: str | None = None,
        attributes: str | None = None,
    ) -> int:
        """Append a step to the open trace and return its row in the draft."""
        s = self.steps
        row = len(s.step_id)
        s.step_id.append(step_id)
        s.kind.append(kind)
        s.name.append(name)
        s.status.append(status)
        s.status_source.append(status_source)
        s.agent.append(agent)
        s.model.append(model)
        s.start.append(start)
        s.end.append(end)
        s.duration.append(duration)
        s.error_type.append(error_type)
        s.error_message.append(error_message)
        s.tokens_prompt.append(tokens_prompt)
        s.tokens_completion.append(tokens_completion)
        s.tokens_total.append(tokens_total)
        s.cost.append(cost)
        s.tool_call_id.append(tool_call_id)
        s.args.append(args)
        s.result.append(result)
        s.args_size.append(args_size)
        s.result_size.append(result_size)
        s.docs.append(docs)
        s.signals.append(signals)
        s.wrapper.append(wrapper)
        s.orphan.append(orphan)
        s.unknown_fields.append(unknown_fields)
        if self.keep_content:
            s.input.append(input)
            s.output.append(output)
            s.attributes.append(attributes)
        return row

    def link(self, effect: int, cause: int, origin: str, evidence: int | None = None) -> None:
        """Record that the step in row ``effect`` was caused by the one in row ``cause``."""
        self.effect.append(effect)
        self.cause.append(cause)
        self.origin.append(ORIGIN_CODE[origin])
        self.evidence.append(evidence_of(origin) if evidence is None else evidence)

    def extend(self, other: "Draft") -> None:
        """Append the traces of another draft that keeps content or not as this one does."""
        base = len(self.steps.step_id)
        for column in fields(DraftSteps):
            getattr(self.steps, column.name).extend(getattr(other.steps, column.name))
        other.traces.first = [first + base for first in other.traces.first]
        for column in fields(DraftTraces):
            getattr(self.traces, column.name).extend(getattr(other.traces, column.name))
        self.effect += [row + base for row in other.effect]
        self.cause += [row + base for row in other.cause]
        self.origin += other.origin
        self.evidence += other.evidence
        self.file_gaps.update(other.file_gaps)

    def gap(self, code: str, count: int = 1) -> None:
        """Disclose a loss in the open trace under a stable code."""
        self.traces.gaps[-1][code] += count
