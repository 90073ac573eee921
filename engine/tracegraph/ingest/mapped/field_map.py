"""What a mapping says: which column gives which field of a step, and what its words mean."""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tracegraph.ingest.mapped.path import ABSENT, ColumnPath
from tracegraph.ingest.mapped.words import OWN_KINDS, OWN_STATUSES
from tracegraph.model.codes import FIDELITY_CODE

CONTAINER: Final = "container"
CAUSE: Final = "cause"
PARTS: Final = "parts"
STEPS: Final = "steps"
ParentIs = Literal["container", "cause"]


@dataclass(frozen=True, slots=True)
class FieldMap:
    """A mapping that was read.

    Attributes:
        fields: the column of each field that has one, by the name of the field.
        labels: columns that are kept as labels of the trace: an allowlist.
        parent_is: what the parent of a step is: what contains it, or what caused it.
        roots: texts in the place of a parent that say that there is none.
        has_parts: records with one id are parts of one step; else each record is a step.
        separator: stands between the ids of causes in one text; None where a text is one id.
        units: of times and durations: s, ms, us or ns; of times also ``iso``.
        statuses: code of STATUSES by word (:func:`word_of`).
        kinds: code of KINDS by word.
        default_kind: code of KINDS of records that name no kind.
        nothing: texts that stand for no value.
        records: where the list of records is in a document; None where each is a record.
        delimiter: of CSV; None to find out.
        digest: of what the mapping says, whatever its layout and comments.
    """

    fields: dict[str, ColumnPath]
    labels: tuple[ColumnPath, ...] = ()
    parent_is: ParentIs = "container"
    roots: frozenset[str] = frozenset()
    has_parts: bool = False
    separator: str | None = None
    units: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=lambda: dict(OWN_STATUSES))
    kinds: dict[str, int] = field(default_factory=lambda: dict(OWN_KINDS))
    default_kind: int = 0
    nothing: frozenset[str] = frozenset({""})
    records: ColumnPath | None = None
    delimiter: str | None = None
    digest: str = ""

    @property
    def paths(self) -> tuple[ColumnPath, ...]:
        """The columns that are used, those of labels included."""
        return (*self.fields.values(), *self.labels)

    @property
    def fidelity(self) -> int:
        """Code of FIDELITIES: what the log keeps of causes, as the mapping has it."""
        if "causes" in self.fields or ("parent" in self.fields and self.parent_is == CAUSE):
            return FIDELITY_CODE["full"]
        return FIDELITY_CODE["parent_only" if "parent" in self.fields else "order_only"]

    def values(self, record: Any, document: Any) -> dict[str, Any]:
        """Return the values of a record by field, without those that are none."""
        found = {name: self.value(path, record, document) for name, path in self.fields.items()}
        return {name: value for name, value in found.items() if value is not None}

    def value(self, path: ColumnPath, record: Any, document: Any) -> Any:
        """Return the value of a column; None for null, for nothing, and where it is absent.

        Where the way to it is blocked it is something that no reader can use.
        """
        found = path.find(record, document)
        if isinstance(found, str):
            return None if found.strip() in self.nothing else found
        return None if found is ABSENT else found


def word_of(value: Any) -> str | None:
    """Return a value as a word to compare: true, "True" and "TRUE" are one; None if it is none."""
    if isinstance(value, str):
        return value.strip().casefold()
    if isinstance(value, bool):
        return str(value).casefold()
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return None
