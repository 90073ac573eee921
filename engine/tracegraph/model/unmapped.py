"""What a mapping left of a home-made log: the columns that it does not use, and unusable values."""

import msgspec


class UnusableValues(msgspec.Struct, frozen=True, kw_only=True):
    """Values of one column that could not be used, for one reason.

    Attributes:
        field: the field of a step that the column was to fill.
        column: the column, or the path to it.
        code: the gap code.
        count: how many values.
        place: where the first of them is, as ``line 7``, empty where the column is in no record;
            the value itself may be a prompt and is not here.
    """

    field: str
    column: str
    code: str
    count: int
    place: str


class Unmapped(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a mapping did not use of one file.

    Attributes:
        columns: columns, and paths to members, that no field takes, in order of first appearance.
        more: there are more of them than are listed.
        values: values of columns that fields take, in the order of the fields.
    """

    columns: tuple[str, ...] = ()
    more: bool = False
    values: tuple[UnusableValues, ...] = ()
