"""Sets of characters as ranges of code points, for the regex subset."""

Ranges = tuple[tuple[int, int], ...]
"""Sorted, disjoint, inclusive ranges of code points."""

MAX_CODE = 0x10FFFF
MAX_FOLDED = 1000
"""Non-ASCII characters in one class of a regex that ignores case."""


def normalise(ranges: list[tuple[int, int]]) -> Ranges:
    """Sort and join ranges."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


def complement(ranges: Ranges) -> Ranges:
    """Return all other code points."""
    result = []
    start = 0
    for first, last in ranges:
        if start < first:
            result.append((start, first - 1))
        start = last + 1
    if start <= MAX_CODE:
        result.append((start, MAX_CODE))
    return tuple(result)


def fold(ranges: Ranges) -> Ranges:
    """Add the other case of every letter: one character for one, by Unicode's simple mappings."""
    beyond = sum(last - max(first, 128) + 1 for first, last in ranges if last >= 128)
    if beyond > MAX_FOLDED:
        raise ValueError(f"a class under /i holds at most {MAX_FOLDED} characters beyond ASCII")
    folded = list(ranges)
    for first, last in ranges:
        for code in range(first, last + 1):
            variants = {chr(code).lower(), chr(code).upper()}
            variants |= {variant.upper() for variant in variants}
            variants |= {variant.lower() for variant in variants}
            folded += [(ord(other), ord(other)) for other in variants if len(other) == 1]
    return normalise(folded)


_DIGIT: Ranges = ((48, 57),)
_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Ranges = ((9, 13), (32, 32))
CLASSES = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
CLASSES |= {name.upper(): complement(ranges) for name, ranges in list(CLASSES.items())}
"""The ASCII classes behind a backslash; an upper case letter is the rest of all characters."""
