"""What caused what between the runs of one agent-lattice trace.

``parent_run_id`` only contains: the lead and the members of a team all lie in the team's root. Who
asked whom stands in the messages: a receipt's ``message_id`` in the prompt of the run that did the
work, a reply's ``reply_to`` in the prompt of the run that went on. Ids are counted anew in every
mailbox, so they are looked up among runs of the same session and parent only.

A call and its return are one TOOL step. What came between them (a member that was asked, and its
result) is caused by the call; the result passes to the model step that reads the return, since as
a cause of the TOOL step it would be a cause of the call from which it came.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tracegraph.ingest.agent_lattice.context import Prompt
from tracegraph.ingest.agent_lattice.mail import Delegated, read_delegated, read_replies
from tracegraph.ingest.agent_lattice.run import Run
from tracegraph.ingest.agent_lattice.tools import Use
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.status import ERROR
from tracegraph.model.codes import HEURISTIC
from tracegraph.model.draft import Draft

_Scope = tuple[str | None, str | None]
_ROOT = "root"


_Item = TypeVar("_Item")


class _Boxes(Generic[_Item]):
    """What concerns a message, by the mailbox that it lay in; each counts its messages from one."""

    def __init__(self) -> None:
        self._boxes: dict[tuple[_Scope, str], dict[str | None, list[_Item]]] = {}

    def put(self, key: tuple[_Scope, str], mailbox: str | None, item: _Item) -> None:
        """Put an item into a mailbox, None where it is not known which."""
        self._boxes.setdefault(key, {}).setdefault(mailbox, []).append(item)

    def behind(self, key: tuple[_Scope, str], mailbox: str | None) -> list[_Item]:
        """Return what may lie in a mailbox: all, where it is not known which is meant."""
        boxes = self._boxes.get(key, {})
        if mailbox is None:
            return [item for items in boxes.values() for item in items]
        return [*boxes.get(mailbox, ()), *boxes.get(None, ())]


def link_runs(draft: Draft, runs: Mapping[str, Run], losses: Losses) -> None:
    """Add the causes between runs, and those of their results.

    Gap codes: ``agent_lattice.ambiguous_message``, ``agent_lattice.ambiguous_task``,
    ``agent_lattice.unresolved_message``.
    """
    _Team(draft, runs, losses).link()


class _Team:
    def __init__(self, draft: Draft, runs: Mapping[str, Run], losses: Losses) -> None:
        self._draft = draft
        self._losses = losses
        self._runs = list(runs.values())
        self._leads = {run.row: root for run in self._runs if (root := _root_of(run, runs))}
        self._handoffs: _Boxes[tuple[Run, Use]] = _Boxes()
        self._holders: _Boxes[Run] = _Boxes()
        self._work: dict[int, Delegated] = {}
        self._callers = {use.row: run for run in self._runs for use in run.tools.uses}
        for run in self._runs:
            for use in run.tools.uses:
                if use.receipt is not None:
                    key = (_scope(run), use.receipt.message_id)
                    self._handoffs.put(key, use.receipt.to, (run, use))
            work = self._delegated(run)
            if work is not None:
                self._work[run.row] = work
                self._holders.put((_scope(run), work.message_id), _mailbox(run), run)

    def link(self) -> None:
        """Add the edges."""
        self._link_prompts()
        self._link_results()
        handed = {run.row for run in self._runs if self._link_handoff(run)}
        for run in self._runs:
            for prompt in run.prompts:
                self._link_replies(run, prompt)
        self._link_tasks(handed)

    def _delegated(self, run: Run) -> Delegated | None:
        """Return the work that a run was given; a lead repeats the prompt of its root."""
        if run.row in self._leads or not run.prompts or run.prompts[0].text is None:
            return None
        return read_delegated(run.prompts[0].text)

    def _link_prompts(self) -> None:
        """Link the prompt of a root to that of its first lead, which repeats it.

        This and the next are rules of the format: neither row names the other.
        """
        begun: set[int] = set()
        for run in self._runs:
            root = self._leads.get(run.row)
            if root is not None and root.row not in begun and _says_the_same(root, run):
                begun.add(root.row)
                self._draft.link(run.prompts[0].row, root.prompts[0].row, "protocol")

    def _link_results(self) -> None:
        """Link a result to the last steps of its run, a root's to the result of its last lead."""
        last: dict[int, Run] = {}
        for run in self._runs:
            root = self._leads.get(run.row)
            if root is not None:
                last[root.row] = run
        for run in self._runs:
            lead = last.get(run.row)
            if lead is not None and _is_passed_on(lead, run):
                self._draft.link(run.result, lead.result, "protocol")
                continue
            for cause in run.last_rows:
                self._draft.link(run.result, cause, "edge")

    def _link_handoff(self, run: Run) -> bool:
        """Link delegated work to the call whose receipt names its message."""
        work = self._work.get(run.row)
        if work is None:
            return False
        key = (_scope(run), work.message_id)
        found = [
            use for giver, use in self._handoffs.behind(key, _mailbox(run)) if giver is not run
        ]
        if len(found) > 1:
            what = f"{len(found)} receipts name message {work.message_id!r}"
            self._losses.add("agent_lattice.ambiguous_message", what)
            return True
        for use in found:
            self._draft.link(run.prompts[0].row, use.row, "message")
        return bool(found)

    def _link_replies(self, run: Run, prompt: Prompt) -> None:
        """Link a prompt with replies to the results of the runs that replied."""
        for reply in read_replies(prompt.text or ""):
            message_id = reply.message_id
            before = [
                holder
                for holder in self._holders.behind((_scope(run), message_id), reply.sender)
                if holder.prompts[0].line < prompt.line
            ]
            if len(before) == 1:
                cause = before[0]
                self._draft.link(
                    prompt.row, cause.result if cause.result >= 0 else cause.row, "message"
                )
            elif before:
                what = f"{len(before)} runs hold message {message_id!r}"
                self._losses.add("agent_lattice.ambiguous_message", what)
            else:
                what = f"line {prompt.line}: no run holds message {message_id!r}"
                self._losses.add("agent_lattice.unresolved_message", what)

    def _link_tasks(self, handed: set[int]) -> None:
        """Link work without receipt to the call that was open with the same task."""
        asked = _OpenTasks()
        events: list[tuple[int, int, Run, Use | None]] = []
        for run in self._runs:
            for use in run.tools.uses:
                if use.task is not None:
                    events.append((use.line, 0, run, use))
                    if use.end >= 0:
                        events.append((use.end, 1, run, use))
            if run.prompts and run.row not in handed and run.row not in self._leads:
                events.append((run.prompts[0].line, 2, run, None))
        for _, kind, run, call in sorted(events, key=lambda event: event[:2]):
            if call is None:
                self._link_task(run, asked)
            elif kind == 0:
                asked.open(run, call)
            else:
                asked.close(run, call)

    def _link_task(self, run: Run, asked: "_OpenTasks") -> None:
        work = self._work.get(run.row)
        if work is None:
            same = asked.same(run.prompts[0].text)
            found = [use for use in same if self._callers[use.row] is not run]
            evidence = HEURISTIC  # nothing says that it is an agent's: the texts are the same
        else:
            found = asked.beginning(_scope(run), _member(run), work.task)
            evidence = None
        if len(found) > 1:
            what = f"line {run.prompts[0].line}: {len(found)} open calls with its task"
            self._losses.add("agent_lattice.ambiguous_task", what)
        elif found:
            (use,) = found
            self._draft.link(run.prompts[0].row, use.row, "data_flow", evidence)
            if run.result >= 0:
                for reader in self._callers[use.row].readers.get(use.row, ()):
                    self._draft.link(reader, run.result, "protocol", evidence)
        elif work is not None:
            what = f"line {run.prompts[0].line}: nothing tells who sent {work.message_id!r}"
            self._losses.add("agent_lattice.unresolved_message", what)


class _OpenTasks:
    """Calls that are under way, by what they ask for."""

    def __init__(self) -> None:
        self._by_member: dict[tuple[_Scope, str | None], _Tasks] = {}
        self._all = _Tasks()

    def open(self, run: Run, use: Use) -> None:
        """Begin a call."""
        self._member(run, use).open(use)
        self._all.open(use)

    def close(self, run: Run, use: Use) -> None:
        """End a call."""
        self._member(run, use).close(use)
        self._all.close(use)

    def same(self, prompt: str | None) -> list[Use]:
        """Return the open calls that ask for exactly that."""
        return self._all.exactly((prompt or "").strip())

    def beginning(self, scope: _Scope, member: str | None, task: str | None) -> list[Use]:
        """Return the open calls of a member with whose task a text begins."""
        known = self._by_member.get((scope, member))
        return [] if known is None or task is None else known.beginning(task)

    def _member(self, run: Run, use: Use) -> "_Tasks":
        return self._by_member.setdefault((_scope(run), use.name), _Tasks())


@dataclass(slots=True)
class _Tasks:
    """Open calls by their task, blanks around it aside."""

    by_text: dict[str, dict[Use, None]] = field(default_factory=dict)
    lengths: Counter[int] = field(default_factory=Counter)

    def open(self, use: Use) -> None:
        task = (use.task or "").strip()
        self.by_text.setdefault(task, {})[use] = None
        self.lengths[len(task)] += 1

    def close(self, use: Use) -> None:
        task = (use.task or "").strip()
        self.by_text[task].pop(use, None)
        self.lengths[len(task)] -= 1

    def exactly(self, task: str) -> list[Use]:
        return list(self.by_text.get(task, ()))

    def beginning(self, text: str) -> list[Use]:
        """Return the calls with that task, else those with whose task whole lines begin."""
        lengths = [n for n, count in self.lengths.items() if count > 0 and text[n : n + 1] == "\n"]
        return self.exactly(text) or [use for n in lengths for use in self.exactly(text[:n])]


def _scope(run: Run) -> _Scope:
    return run.session_id, run.parent_id


def _root_of(run: Run, runs: Mapping[str, Run]) -> Run | None:
    """Return the team's root that a run leads: the speaker of its parent, of kind root, is its own.

    A nested team's root speaks for another team than the root that it lies in.
    """
    root = runs.get(run.parent_id or "")
    speaker = run.speaker
    if root is None or root is run or speaker is None or speaker.kind != _ROOT:
        return None
    return root if root.speaker == speaker else None


def _says_the_same(root: Run, lead: Run) -> bool:
    if not root.prompts or not lead.prompts or lead.prompts[0].text is None:
        return False
    return root.prompts[0].text == lead.prompts[0].text


def _is_passed_on(lead: Run, root: Run) -> bool:
    """Tell whether a root's result can be its lead's: a team may also fail or stop by itself."""
    same = (lead.outcome.status == ERROR) == (root.outcome.status == ERROR)
    return same and 0 <= lead.result < root.result


def _mailbox(run: Run) -> str | None:
    return None if run.speaker is None else run.speaker.mailbox


def _member(run: Run) -> str | None:
    speaker = run.speaker
    return None if speaker is None else speaker.member or speaker.name
