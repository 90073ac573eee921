"""Find the versioned data files that ship with tracegraph.

In a wheel they lie under ``tracegraph/_data``; in a checkout they are the repository's own
``schema/``, ``presets/`` and ``contracts/`` folders.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal, get_args

DataKind = Literal["schema", "presets", "contracts"]
DATA_KINDS: tuple[DataKind, ...] = get_args(DataKind)


def data_root(kind: DataKind) -> Traversable:
    """Return the folder that holds the data files of one kind."""
    installed = files("tracegraph").joinpath("_data").joinpath(kind)
    if installed.is_dir():
        return installed
    checkout = Path(__file__).resolve().parents[2] / kind
    if checkout.is_dir():
        return checkout
    raise FileNotFoundError(f"tracegraph data folder {kind!r} is neither installed nor checked out")


def read_data(kind: DataKind, name: str) -> str:
    """Return the text of one data file, e.g. ``read_data("presets", "tool-failure.tgp")``."""
    return data_root(kind).joinpath(*name.split("/")).read_text(encoding="utf-8")


def list_data(kind: DataKind) -> list[str]:
    """Return the names of all data files of one kind, sorted, with ``/`` between folders."""
    return sorted(_walk(data_root(kind), ""))


def _walk(folder: Traversable, prefix: str) -> list[str]:
    names: list[str] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            names += _walk(entry, f"{prefix}{entry.name}/")
        else:
            names.append(prefix + entry.name)
    return names
