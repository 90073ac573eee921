r"""The regex subset of the pattern language: read it, or refuse it with the reason.

The subset holds what Python's ``re`` and RE2 (inside the graph database) can be made to agree on:
literals, ``.``, classes, ``\d \w \s \b`` (ASCII), ``^ $`` (of the whole text), groups,
alternatives, ``* + ? {m} {m,} {m,n}`` and their lazy forms. It has to be checked here, because the
database answers an invalid regex with no rows instead of an error.
"""

from dataclasses import dataclass
from typing import Literal

from tracegraph.pattern.char_ranges import CLASSES, Ranges, complement, fold, normalise

MAX_BOUND = 1000
MAX_NESTING = 50
MAX_SIZE = 100_000
"""Estimated RE2 instructions; RE2 was seen to refuse programs from about 400,000 on."""


@dataclass(frozen=True)
class Chars:
    """One character out of a set."""

    ranges: Ranges


@dataclass(frozen=True)
class Assertion:
    """A place: the start or end of the text, or an ASCII word boundary."""

    at: Literal["start", "end", "boundary"]


@dataclass(frozen=True)
class Sequence:
    """Items one after the other; none matches the empty text."""

    items: tuple["Item", ...]


@dataclass(frozen=True)
class Choice:
    """Alternatives."""

    items: tuple["Item", ...]


@dataclass(frozen=True)
class Repeat:
    """An item ``low`` to ``high`` times (None: without limit)."""

    item: "Item"
    low: int
    high: int | None
    lazy: bool


Item = Chars | Assertion | Sequence | Choice | Repeat


def parse_regex(regex: str, ignore_case: bool = False) -> Item:
    """Parse a regex of the subset; ``ignore_case`` folds letters into their classes.

    Raises:
        ValueError: with the reason, where the regex is outside the subset.
    """
    if not regex:
        raise ValueError("an empty regex matches everything")
    if "\n" in regex:
        raise ValueError(r"write '\n' for a newline")
    parser = _Parser(regex, ignore_case)
    item = parser.choice(0)
    if parser.position < len(regex):
        raise ValueError("')' without '('")
    if size(item) > MAX_SIZE:
        raise ValueError("the regex is too large once its bounds are written out")
    return item


def size(item: Item) -> int:
    """Estimate the RE2 instructions of an item with its bounds written out."""
    match item:
        case Chars(ranges):
            return sum(1 if last < 128 else 30 for _, last in ranges)
        case Sequence(items) | Choice(items):
            return 1 + sum(map(size, items))
        case Repeat(inner, low, high, _):
            return max(low + 1 if high is None else high, 1) * (size(inner) + 1)
        case _:
            return 1


_CONTROLS = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11}
_REFUSED = {
    "A": r"write '^' for '\A'",
    "Z": r"write '$' for '\Z'",
    "z": r"write '$' for '\z'",
    "B": r"'\B' is not in the regex subset",
    "p": r"'\p' is not in the regex subset: write the characters as a class",
    "P": r"'\P' is not in the regex subset: write the characters as a class",
}


class _Parser:
    """Recursive descent over one regex."""

    def __init__(self, regex: str, ignore_case: bool) -> None:
        self.regex = regex
        self.ignore_case = ignore_case
        self.position = 0

    def peek(self, length: int = 1) -> str:
        return self.regex[self.position : self.position + length]

    def take(self, length: int = 1) -> str:
        taken = self.peek(length)
        self.position += length
        return taken

    def choice(self, depth: int) -> Item:
        if depth > MAX_NESTING:
            raise ValueError(f"groups nest at most {MAX_NESTING} levels")
        items = [self.sequence(depth)]
        while self.peek() == "|":
            self.take()
            items.append(self.sequence(depth))
        return items[0] if len(items) == 1 else Choice(tuple(items))

    def sequence(self, depth: int) -> Item:
        items: list[Item] = []
        while self.peek() not in ("", "|", ")"):
            items.append(self.repeated(self.atom(depth)))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def atom(self, depth: int) -> Item:  # noqa: PLR0911  # one return per kind of atom
        char = self.take()
        match char:
            case "(":
                return self.group(depth)
            case "[":
                return Chars(self.char_class())
            case ".":
                return Chars(complement(((10, 10),)))
            case "^":
                return Assertion("start")
            case "$":
                return Assertion("end")
            case "\\":
                if self.peek() == "b":
                    self.take()
                    return Assertion("boundary")
                return self.chars(self.escape())
            case "*" | "+" | "?":
                raise ValueError(rf"'{char}' repeats nothing: write '\{char}' for the character")
            case "{" | "}" | "]":
                raise ValueError(rf"write '\{char}' for the character '{char}'")
        return self.chars(_single(ord(char)))

    def chars(self, ranges: Ranges) -> Chars:
        return Chars(self.fold(ranges))

    def fold(self, ranges: Ranges) -> Ranges:
        """Add the other case where it is asked for; ASCII classes and their rests hold it."""
        named = ranges in CLASSES.values()
        return fold(ranges) if self.ignore_case and not named else ranges

    def group(self, depth: int) -> Item:
        if self.peek() == "?":
            if self.peek(2) != "?:":
                raise ValueError(
                    "only '(...)' and '(?:...)' groups are in the regex subset: no look-around, "
                    "names, flags, conditions or atomic groups"
                )
            self.take(2)
        item = self.choice(depth + 1)
        if self.take() != ")":
            raise ValueError("'(' without ')'")
        # A sequence of one keeps the group apart from a quantifier behind it.
        return Sequence((item,))

    def repeated(self, item: Item) -> Item:
        bounds = self.bounds()
        if bounds is None:
            return item
        if isinstance(item, Assertion):
            raise ValueError("'^', '$' and '\\b' cannot be repeated")
        lazy = self.peek() == "?"
        if lazy:
            self.take()
        if self.peek() in ("*", "+", "?", "{"):
            raise ValueError(
                "two quantifiers in a row (also possessive ones) are not in the regex subset"
            )
        repeat = Repeat(item, *bounds, lazy)
        if _bound(repeat) > MAX_BOUND:
            raise ValueError(f"bounds go up to {MAX_BOUND}, also where they multiply")
        return repeat

    def bounds(self) -> tuple[int, int | None] | None:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if self.peek() in simple:
            return simple[self.take()]
        if self.peek() != "{":
            return None
        end = self.regex.find("}", self.position)
        low, comma, high = self.regex[self.position + 1 : max(end, self.position)].partition(",")
        if end < 0 or not _whole(low) or not (high == "" or _whole(high)):
            raise ValueError(r"bounds are {m}, {m,} or {m,n}: write '\{' for the character")
        self.position = end + 1
        if not comma:
            high = low
        if high and int(low) > int(high):
            raise ValueError(f"the bounds {{{low},{high}}} are the wrong way round")
        return int(low), int(high) if high else None

    def escape(self) -> Ranges:
        char = self.take()
        if char in CLASSES and char:
            return CLASSES[char]
        if char in _CONTROLS and char:
            return _single(_CONTROLS[char])
        if char == "x":
            digits = self.take(2)
            if len(digits) == 2 and all(digit in "0123456789abcdefABCDEF" for digit in digits):
                return _single(int(digits, 16))
            raise ValueError(r"'\x' takes two hexadecimal digits")
        if char in _REFUSED:
            raise ValueError(_REFUSED[char])
        if char and char.isdigit():
            raise ValueError("back-references are not in the regex subset")
        if not char or char.isalnum() or ord(char) >= 128 or not char.isprintable():
            raise ValueError(f"the escape '\\{char}' is not in the regex subset")
        return _single(ord(char))

    def char_class(self) -> Ranges:
        negated = self.peek() == "^"
        if negated:
            self.take()
        if self.peek() == "]":
            raise ValueError(r"an empty class: write '\]' for the character ']'")
        ranges: list[tuple[int, int]] = []
        while (char := self.peek()) != "]":
            if char == "":
                raise ValueError("'[' without ']'")
            ranges += self.class_item()
        self.take()
        chosen = normalise(ranges)
        chosen = complement(chosen) if negated else chosen
        if not chosen:
            raise ValueError("a class that no character is in")
        return chosen

    def class_item(self) -> Ranges:
        first = self.class_char()
        if self.peek() != "-" or self.peek(2) == "-]":
            return self.fold(first)
        self.take()
        last = self.class_char()
        if first in CLASSES.values() or last in CLASSES.values():
            raise ValueError(r"a range in a class needs single characters at both ends")
        if last[0][0] < first[0][0]:
            raise ValueError("a range in a class is the wrong way round")
        return self.fold(((first[0][0], last[0][0]),))

    def class_char(self) -> Ranges:
        char = self.take()
        if char == "":
            raise ValueError("'[' without ']'")
        if char == "\\":
            return self.escape()
        if char == "[" and self.peek() in (":", ".", "="):
            raise ValueError(r"named classes are not in the regex subset: write '\[' for '['")
        return _single(ord(char))


def _bound(item: Item) -> int:
    """Return the largest product of nested finite bounds, as RE2 counts them."""
    match item:
        case Repeat(inner, low, high, _):
            own = max(low, high or 0)
            return max(own, 1) * _bound(inner) if own > 1 else _bound(inner)
        case Sequence(items) | Choice(items):
            return max(map(_bound, items), default=1)
        case _:
            return 1


def _single(code: int) -> Ranges:
    return ((code, code),)


def _whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 6
