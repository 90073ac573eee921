"""The turns of an agent whose model calls no functions, told by the text of its messages.

CrewAI then asks for ``Action:`` and ``Action Input:``, stops the model at ``Observation:`` and
writes what the tool gave back behind it, into the same message (``crewai.agents.parser``,
``handle_agent_action_core``). A message without all three is taken as it is.
"""

from dataclasses import dataclass

_ACTION, _INPUT, _OBSERVATION = "Action:", "Action Input:", "\nObservation:"
_FINAL = "Final Answer:"


@dataclass(frozen=True, slots=True)
class ReactTurn:
    """What a model said, the tool and arguments that it asked for, and what the tool gave back."""

    said: str
    tool: str
    given: str
    result: str


def react_turn(content: object) -> ReactTurn | None:
    """Return the turn that a message of a model holds, None where it holds none."""
    if not isinstance(content, str):
        return None
    said, observed, result = content.partition(_OBSERVATION)
    action = asked_in(said) if observed else None
    return None if action is None else ReactTurn(said, *action, result.removeprefix(" "))


def asked_in(said: str) -> tuple[str, str] | None:
    """Return the tool and the arguments that a model asked for, None where it asked for none.

    What holds a final answer is one, whatever else it says, as CrewAI's own parser has it.
    """
    if _FINAL in said:
        return None
    before, asked, given = said.partition(_INPUT)
    _, named, tool = before.rpartition(_ACTION)
    name = tool.strip().strip('*"').strip()
    return (name, given.strip()) if asked and named and name else None
