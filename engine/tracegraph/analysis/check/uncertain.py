"""A pattern as a check reads it: what is not recorded of status and kind makes a match possible.

The language takes ``unset`` and ``UNKNOWN`` for values like any other, so that ``status == error``
is plainly false of a step whose end nobody recorded. To a check such a step may be one more
failure, or one success less. Here every test of status and kind becomes unknown where the record
does not decide it, and Kleene's logic carries that through ``not``, ``unless`` and runs: what is
then a confirmed match is one whatever the unknown turns out to be.
"""

from typing import Any, Final

import msgspec

from tracegraph.pattern.ast import (
    And,
    Attr,
    Between,
    Bind,
    Compare,
    Expr,
    Field,
    In,
    Node,
    Not,
    Of,
    OfEnd,
    OfTrace,
    Operand,
    Or,
    Pattern,
    Text,
    Word,
)

_UNSET, _UNKNOWN = Word("unset"), Word("UNKNOWN")
_NEVER_KNOWN: Final = Compare(Attr("\0"), "==", Text(""))
"""Nobody records an attribute of this name, and a comparison with an unknown value is unknown."""


def uncertain(pattern: Pattern) -> Pattern:
    """Return a pattern whose confirmed matches hang on nothing that is not recorded.

    ``needs`` go: what lacks the values that a pattern reads has possible matches already.
    """
    return msgspec.structs.replace(pattern, body=_rebuilt(pattern.body), needs=())


def _rebuilt(item: Any) -> Any:
    if isinstance(item, tuple):
        return tuple(map(_rebuilt, item))
    if not isinstance(item, Node):
        return item
    parts = {name: _rebuilt(getattr(item, name)) for name in item.__struct_fields__}
    made: Any = type(item)(**parts)
    if isinstance(made, Compare | In):
        return _unless_undecided(made)
    if isinstance(made, Bind | Between) and not {"ANY", "UNKNOWN"} & set(made.kinds):
        of_kind = Or((Compare(Field("kind"), "!=", _UNKNOWN), _NEVER_KNOWN))
        where = of_kind if made.where is None else And((of_kind, made.where))
        return msgspec.structs.replace(made, kinds=(*made.kinds, "UNKNOWN"), where=where)
    return made


def _unless_undecided(test: Compare | In) -> Expr:
    """Make a test unknown where what it tests is not decided; whoever names it asks for it."""
    sides = (test.left, test.right) if isinstance(test, Compare) else (test.operand, *test.values)
    if _UNSET in sides or _UNKNOWN in sides:
        return test
    open_ = [found for side in sides if (found := _undecided(side)) is not None]
    if not open_:
        return test
    doubt = And((open_[0] if len(open_) == 1 else Or(tuple(open_)), _NEVER_KNOWN))
    return Or((And((test, Not(doubt))), doubt))


def _undecided(side: object) -> Expr | None:
    """Return the test whether an operand's value is not decided; None where it always is."""
    match side:
        case Field("kind") | Of(_, "kind") | OfEnd(_, _, "kind"):
            return Compare(side, "==", _UNKNOWN)
        case OfTrace("status"):
            return Compare(side, "==", _UNSET)
        case Field("status") | Of(_, "status") | OfEnd(_, _, "status"):
            source: Operand = msgspec.structs.replace(side, field="status_source")
            on_purpose = Compare(source, "==", Text("control_flow"))
            return And((Compare(side, "==", _UNSET), Not(on_purpose)))
    return None
