"""The one way from a pattern's text to patterns that a backend can run.

What reads and checks texts is imported where there is one: a shipped preset was checked before.
"""

from typing import TYPE_CHECKING

from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.walk import param_names

if TYPE_CHECKING:
    from tracegraph.pattern.params import Given
    from tracegraph.pattern.parsed import Parsed


def load_text(text: str, source: str = "", params: "Given | None" = None) -> list[Pattern]:
    """Parse, validate and bind the patterns of a ``.tgp`` file.

    Args:
        text: the file's text.
        source: its name, for messages.
        params: values of ``@params`` by name; each must be a param of one of the patterns.

    Raises:
        PatternError: with file name, line and column.
    """
    from tracegraph.pattern.parser import parse_file
    from tracegraph.pattern.validator import validate_file

    file = parse_file(text, source)
    validate_file(file)
    given = params or {}
    known = {name for parsed in file for name in param_names(parsed.pattern)}
    patterns = []
    for parsed in file:
        own = param_names(parsed.pattern)
        # A name that no pattern knows reaches the first one, which refuses it.
        fitting = {name: given[name] for name in given if name in own or name not in known}
        patterns.append(_bind(parsed, fitting).pattern)
    return patterns


def load_adhoc(text: str, params: "Given | None" = None) -> Pattern:
    """Parse, validate and bind a pattern given as text: a whole one or a bare body.

    Raises:
        PatternError: with line and column.
    """
    from tracegraph.pattern.parser import parse_adhoc
    from tracegraph.pattern.validator import validate

    parsed = parse_adhoc(text)
    validate(parsed)
    return _bind(parsed, params or {}).pattern


def bind(pattern: Pattern, params: "Given | None" = None) -> Pattern:
    """Bind the ``@params`` of a pattern that is no text any more, such as a shipped preset.

    Raises:
        PatternError: naming the param.
    """
    if not params and not param_names(pattern):
        return pattern
    from tracegraph.pattern.parsed import Parsed

    return _bind(Parsed(pattern), params or {}).pattern


def _bind(parsed: "Parsed", given: "Given") -> "Parsed":
    from tracegraph.pattern.params import bind_params
    from tracegraph.pattern.validator import validate

    bound = bind_params(parsed, given)
    if bound.pattern != parsed.pattern:
        validate(bound)
    return bound
