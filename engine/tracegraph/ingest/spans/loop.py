"""An agent's loop: it calls a model, runs what the model asked for, and calls it again with that.

Frameworks that record the loop and not what was said in it leave the order to tell what caused
what: tools that start after a model ended, and before the next one starts, are what it asked for;
the next model that starts when they have ended is given what they gave back, and so are the
attempts before the one that went on. Where messages are recorded they tell it, by
:mod:`tracegraph.ingest.message_causes`.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.status import ERROR
from tracegraph.ingest.step_fields import LLM
from tracegraph.model.codes import ORIGIN_CODE
from tracegraph.model.draft import Draft

_PAIRED = [ORIGIN_CODE[origin] for origin in ("tool_call_id", "protocol")]


class Link(Struct, gc=False):
    """A cause, by the ids of the steps.

    Attributes:
        tool: the one of the two whose causes messages tell, unless they left it open.
    """

    effect: str
    cause: str
    tool: str | None = None


class Asker(Struct):
    """A model that may have asked for tools.

    Attributes:
        span: its span.
        calls: ids of the calls that it asked for, by the name of the tool; none where its messages
            are not recorded.
    """

    span: SpanRecord
    calls: dict[str | None, set[str | None]]


class Answer(Struct, gc=False):
    """What a tool gave back and no model has read, and the model that asked for it."""

    span: SpanRecord
    asker: Asker | None

    def is_there(self, model: SpanRecord) -> bool:
        """Tell whether the tool had ended when a model started."""
        return 0 <= self.span.end <= model.start


class Loop:
    """The models and tools of one loop, added in the order of their starts.

    Attributes:
        unread: what no model has read yet.
    """

    def __init__(self, unread: Iterable[Answer] = ()) -> None:
        self.unread = list(unread)
        self._asker: Asker | None = None

    def add(self, span: SpanRecord) -> Iterator[Link]:
        """Add a model or a tool and yield its causes; a failed model asks for nothing."""
        if span.fields.kind == LLM:
            yield from _read(span, self.unread)
            if span.verdict.status != ERROR:
                self._asker = _asker(span)
                self.unread = [answer for answer in self.unread if not answer.is_there(span)]
            return
        asker = self._asker
        if asker is not None and 0 <= asker.span.end <= span.start:
            yield Link(span.step_id, asker.span.step_id, span.step_id)
        self.unread.append(Answer(span, asker))


def _asker(span: SpanRecord) -> Asker:
    calls: dict[str | None, set[str | None]] = {}
    said = span.fields.messages
    for call in said.calls if said is not None else ():
        calls.setdefault(call.name, set()).add(call.id)
    return Asker(span, calls)


def _read(model: SpanRecord, unread: Iterable[Answer]) -> Iterator[Link]:
    """Yield the causes that a model has among what is unread: all but what it was not given.

    A tool that goes by another name than its call ran one of those that its model asked for.
    """
    said = model.fields.messages
    heard = None if said is None else {*said.reads}
    reads: dict[tuple[int, str | None], bool] = {}
    for answer in unread:
        tool, name = answer.span.step_id, answer.span.fields.name
        calls = answer.asker.calls if answer.asker is not None else {}
        own = calls.get(name)
        if heard is None or (own is not None and None in own):
            if answer.is_there(model):
                yield Link(model.step_id, tool)
            continue
        key = id(answer.asker), None if own is None else name
        if key not in reads:
            reads[key] = _was_given(heard, calls, own)
        if reads[key]:
            yield Link(model.step_id, tool, None if own is None else tool)


def _was_given(
    heard: set[str], calls: dict[str | None, set[str | None]], own: set[str | None] | None
) -> bool:
    if own is not None:
        return own <= heard
    return any(not heard.isdisjoint(ids) for ids in calls.values())


def add_links(draft: Draft, rows: dict[str, int], edge: int, links: Iterable[Link]) -> None:
    """Add the causes of loops to a trace, but for those that messages told.

    Args:
        draft: that holds the trace, and nothing behind it.
        rows: of its steps, by id.
        edge: how many edges the draft had before the trace.
        links: the causes.
    """
    paired = {
        effect
        for effect, origin in zip(draft.effect[edge:], draft.origin[edge:], strict=True)
        if origin in _PAIRED
    }
    for link in links:
        if link.tool is None or rows[link.tool] not in paired:
            draft.link(rows[link.effect], rows[link.cause], "protocol")
