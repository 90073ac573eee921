"""Many strings as two buffers: what segments map, and what keeps millions of ids small in memory.

A string of 32 characters costs about 90 bytes as a Python object with its place in a list, and 40
here. Strings are decoded when someone asks for one.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np

from tracegraph.model.columns import Array, Ints


class Texts(Sequence[str]):
    """An immutable sequence of strings over UTF-8 bytes.

    Attributes:
        offsets: shape (n + 1,), int64: text ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
        data: the bytes, uint8; both arrays may be views of a mapped file.
    """

    __slots__ = ("data", "offsets")

    def __init__(self, offsets: Ints, data: Array) -> None:
        self.offsets = offsets
        self.data = data

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """Return the texts in this form; one that has it already is returned as it is."""
        if isinstance(texts, Texts):
            return texts
        texts = texts if isinstance(texts, list) else list(texts)
        joined = "".join(texts)
        data = joined.encode()
        if len(data) == len(joined):
            lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        else:
            lengths = np.fromiter((len(text.encode()) for text in texts), np.int64, len(texts))
        return cls(_offsets(lengths), np.frombuffer(data, np.uint8))

    @classmethod
    def concat(cls, parts: Sequence["Texts"]) -> "Texts":
        """Return the texts of all parts, one after the other."""
        lengths = [np.diff(part.offsets) for part in parts]
        data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
        return cls(_offsets(np.concatenate(lengths)), np.concatenate(data))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return self.take(np.arange(*index.indices(len(self))))
        place = int(index) + len(self) if index < 0 else int(index)
        if not 0 <= place < len(self):
            raise IndexError(index)
        begin, end = self.offsets.item(place), self.offsets.item(place + 1)
        return self.data[begin:end].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        data = self.data[self.offsets[0] : self.offsets[-1]].tobytes()
        return _decode(data, (self.offsets - self.offsets[0]).tolist())

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.find(text) >= 0

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the first place of a text.

        Raises:
            ValueError: it is not there.
        """
        place = self.find(value, start, stop)
        if place < 0:
            raise ValueError(f"{value!r} is not among the texts")
        return place

    def find(self, text: str, start: int = 0, stop: int | None = None) -> int:
        """Return the first place of a text, -1 if it is not there, decoding nothing."""
        low, high, _ = slice(start, stop).indices(len(self))
        places = self.equal_to(text)
        places = places[(places >= low) & (places < high)]
        return int(places[0]) if len(places) else -1

    def equal_to(self, text: str) -> Ints:
        """Return the places of a text, decoding nothing."""
        return self._beginning(np.flatnonzero(np.diff(self.offsets) == len(_utf8(text))), text)

    def starting_with(self, prefix: str) -> Ints:
        """Return the places of all texts that start with a prefix, decoding nothing."""
        places = np.flatnonzero(np.diff(self.offsets) >= len(_utf8(prefix)))
        return self._beginning(places, prefix)

    def _beginning(self, places: Ints, prefix: str) -> Ints:
        for position, byte in enumerate(_utf8(prefix)):
            if not len(places):
                break
            places = places[self.data[self.offsets[places] + position] == byte]
        return places

    def take(self, places: Array) -> "Texts":
        """Return the texts at many places, in that order."""
        starts = self.offsets[places]
        lengths = self.offsets[np.asarray(places) + 1] - starts
        offsets = _offsets(lengths)
        # Where the places follow each other their bytes do too: copy whole stretches.
        breaks = np.flatnonzero(starts[1:] != starts[:-1] + lengths[:-1]) + 1
        firsts = np.r_[0, breaks] if len(starts) else breaks
        lasts = np.r_[breaks, len(starts)] if len(starts) else breaks
        begins, ends = starts[firsts], starts[firsts] + offsets[lasts] - offsets[firsts]
        data = self.data
        pieces = [data[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
        return Texts(offsets, np.concatenate(pieces) if pieces else np.empty(0, np.uint8))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # a lone surrogate is in no text, so it fits none


def _offsets(lengths: Ints) -> Ints:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _decode(data: bytes, offsets: list[int]) -> Iterator[str]:
    if data.isascii():
        text = data.decode("ascii")
        return (text[a:b] for a, b in pairwise(offsets))
    return (data[a:b].decode() for a, b in pairwise(offsets))
