"""Typer commands that take what is plainly right as it is.

Typer has pydantic check every value, texts and defaults too, and importing that takes longer than a
warm query over a million steps. What cannot be wrong is taken here; the rest stays with Typer and
its messages.
"""

from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

_UNCLEAR = object()


class Command(TyperCommand):
    """A command of ``tracegraph``; pass it to Typer as ``cls``."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, the one for help included."""
        return _taking_plain(super().get_params(ctx))


class Group(TyperGroup):
    """A command with sub-commands; pass it to Typer as ``cls``."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, the one for help included."""
        return _taking_plain(super().get_params(ctx))


class _Option(TyperOption):
    def process_value(self, ctx: Any, value: Any) -> Any:
        plain = _plain(value, self)
        if plain is _UNCLEAR:
            return super().process_value(ctx, value)
        return plain if self.callback is None else self.callback(ctx, self, plain)


class _Argument(TyperArgument):
    def process_value(self, ctx: Any, value: Any) -> Any:
        plain = _plain(value, self)
        if plain is _UNCLEAR:
            return super().process_value(ctx, value)
        return plain if self.callback is None else self.callback(ctx, self, plain)


def _taking_plain(params: Iterable[Any]) -> list[Any]:
    """Let parameters take plain values; Typer makes them and has no say in their class.

    A Typer that does not describe their types this way does not use pydantic either.
    """
    taking = list(params)
    for param in taking:
        if not hasattr(getattr(param, "type_descriptor", None), "annotation"):
            continue
        if type(param) is TyperOption:
            param.__class__ = _Option
        elif type(param) is TyperArgument:
            param.__class__ = _Argument
    return taking


def _plain(value: Any, param: TyperOption | TyperArgument) -> Any:
    """Return the value of a parameter, if there is no doubt about it."""
    kind: Any = param.type_descriptor.annotation
    if get_origin(kind) is not list:
        return None if value is None and not param.required else _read(value, kind)
    values = [_read(item, get_args(kind)[0]) for item in value or ()]
    is_missing = param.required and not values
    return _UNCLEAR if is_missing or _UNCLEAR in values else values


def _read(value: Any, kind: Any) -> Any:
    """Return a text, or a default, as a value of a type."""
    if kind is str and isinstance(value, str):
        return value
    if kind is Path and isinstance(value, str):
        return Path(value)
    if get_origin(kind) is Literal and value in get_args(kind):
        return value
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((each for each in kind if value in {each, each.value}), _UNCLEAR)
    return _UNCLEAR
