"""Requested tool calls on their way to a tool step and to the model step that reads the result."""

from dataclasses import dataclass, field
from itertools import islice

from msgspec import Struct

_UNKNOWN = "?"
_LOOK_BACK = 64
"""How many open requests of one id in one container are told apart by tool and arguments."""


class Call(Struct, gc=False):
    """A tool call that a model asked for.

    Attributes:
        id: as recorded, None where there is none.
        name: the tool.
        args: digest of the arguments.
        only_arg: digest of the single argument's value, None unless there is exactly one:
            exporters flatten such calls to the bare value.
    """

    id: str | None = None
    name: str | None = None
    args: str | None = None
    only_arg: str | None = None


@dataclass(slots=True, eq=False)
class Run:
    """A run of a requested call whose result nobody has read yet: its step, and when it ended."""

    row: int
    end: int
    origin: str


@dataclass(slots=True, eq=False)
class Request:
    """A request on its way from the model that asked to the models that read the result."""

    call: Call
    model: int
    path: tuple[int, ...]
    """Containers of the step that asked, see :class:`OpenById`."""
    when: tuple[int, int]
    claimed: bool = False
    """Some tool step carries its id."""
    answered: bool = False
    """Some tool step ran it."""
    contested: bool = False
    """It is one of several that a tool step without an id may have run."""
    read: bool = False
    """Its own conversation went on with the result."""
    told: bool = False
    """A model of another conversation was given the result."""
    runs: list[Run] = field(default_factory=list)
    early: list[int] = field(default_factory=list)
    """Readers of the result before any tool step of it: the clocks of two hosts differ."""


class OpenById:
    """Open requests by id, the latest last: those in each container, and all.

    A path names the containers of a step from the nearest to the one that tells its conversation.
    Where an id was asked for more than once, the nearest shared container decides: workers that
    run side by side under one agent may all count their calls from zero.
    """

    def __init__(self) -> None:
        self._inside: dict[tuple[str, int], dict[Request, None]] = {}
        self._all: dict[str, dict[Request, None]] = {}

    def push(self, request: Request) -> None:
        """Open a request."""
        call_id = request.call.id
        if call_id is not None:
            for container in request.path:
                self._inside.setdefault((call_id, container), {})[request] = None
            self._all.setdefault(call_id, {})[request] = None

    def remove(self, request: Request) -> None:
        """Close a request, if it is open."""
        call_id = request.call.id
        if call_id is not None:
            for container in request.path:
                self._inside.get((call_id, container), {}).pop(request, None)
            self.hide(request)

    def hide(self, request: Request) -> None:
        """Close a request to other conversations than its own."""
        self._all.get(request.call.id or "", {}).pop(request, None)

    def own(self, call_id: str, path: tuple[int, ...], most: int) -> list[Request] | None:
        """Return the latest open requests in the nearest container that ever asked for the id.

        None: the conversation never asked for it, so what it holds of it came from elsewhere.
        """
        for container in path:
            found = self._inside.get((call_id, container))
            if found is not None:
                return list(islice(reversed(found), most)) if found else []
        return None

    def foreign(self, call_id: str) -> Request | None:
        """Return the latest open request of any conversation."""
        return next(reversed(self._all.get(call_id, {})), None)

    def ran_by(
        self, call_id: str, path: tuple[int, ...], name: str | None, args: str | None
    ) -> Request | None:
        """Return the request that a tool step ran: one of its tool, and that none has run before.

        Some runs give one id to two calls of different functions, or to two of the same one.
        """
        requests = self.own(call_id, path, _LOOK_BACK) or []
        if len(requests) > 1:
            requests.sort(  # stable: the latest comes first
                key=lambda r: (not suits(r, name), r.claimed, args not in same_as(r.call))
            )
        return requests[0] if requests else None


def suits(request: Request, name: str | None) -> bool:
    """Tell whether a tool step of that name may have run a request."""
    return name is None or request.call.name is None or request.call.name == name


def same_as(call: Call) -> tuple[str | None, str | None]:
    """Return the digests that the arguments of a step that ran a call may have."""
    return call.args, call.only_arg


def latest_ended(runs: list[Run], start: int) -> Run:
    """Return the run whose result a reader holds that starts then: the last that had ended."""
    return next((run for run in reversed(runs) if 0 <= run.end <= start), runs[-1])


class OpenByName:
    """Open requests by tool and arguments, for tool steps that carry no id."""

    def __init__(self) -> None:
        self._by: dict[tuple[int | None, str | None, str], dict[Request, None]] = {}

    def add(self, request: Request, shared: bool) -> None:
        """Open a request, to other conversations too where it is ``shared``."""
        for key in _keys(request, shared):
            self._by.setdefault(key, {})[request] = None

    def remove(self, request: Request) -> None:
        """Close a request, if it is open."""
        for key in _keys(request, True):
            self._by.get(key, {}).pop(request, None)

    def fitting(
        self, name: str | None, digests: tuple[str, ...], places: tuple[int | None, ...]
    ) -> list[Request]:
        """Return the open requests that a tool step may have run, two at most.

        The first place that holds any decides; None stands for every conversation.
        """
        for place in places:
            for digest in digests:
                found = self._by.get((place, name, digest))
                if found:
                    return list(islice(found, 2))
        return []


ANY_ARGUMENTS = ("*",)
"""What fits a tool step whose arguments are not recorded."""


def same_arguments(args: str | None) -> tuple[str, ...]:
    """Return what fits a tool step: requests with its arguments, else with unrecorded ones."""
    return ANY_ARGUMENTS if args is None else (args, _UNKNOWN)


def _keys(request: Request, shared: bool) -> list[tuple[int | None, str | None, str]]:
    call = request.call
    digests = {call.args or _UNKNOWN, call.only_arg or call.args or _UNKNOWN, *ANY_ARGUMENTS}
    places = (*request.path, None) if shared else request.path
    return [(place, call.name, digest) for place in places for digest in digests]
