"""The causes of an agent-lattice file, worked out row by row from plain JSON.

Independent of the reader: first the graph over rows that the format's mapping describes, then its
contraction: an assistant_message belongs to its model_request, a tool_result to its tool_use, and
the causes of a batch, and of a result from within a call, pass to the model step that reads them.
"""

import json
from collections import defaultdict
from typing import Any

Row = dict[str, Any]
Edge = tuple[str, str]


def causes(data: bytes) -> set[Edge]:
    """Return (cause, effect) over step ids: lines, and run ids where a run contains."""
    rows = _rows(data)
    return _contained(rows) | _Graph(rows).edges()


def _rows(data: bytes) -> dict[int, Row]:
    found: dict[int, Row] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            found[number] = json.loads(line)
        except ValueError:
            assert not data.endswith(line + b"\n") or not line  # only the last may be torn
    return found


def _is_batch(row: Row) -> bool:
    content = row["data"]["message"]["content"] if row["type"] == "user_message" else None
    return isinstance(content, list) and any(b["type"] == "tool_result" for b in content)


def _opens(row: Row) -> bool:
    step = row["type"] in ("user_message", "model_request", "tool_use", "compaction", "result")
    return step and not _is_batch(row)


def _contained(rows: dict[int, Row]) -> set[Edge]:
    found = {(row["run_id"], str(n)) for n, row in rows.items() if _opens(row)}
    runs = {row["run_id"]: row.get("parent_run_id") for row in rows.values()}
    return found | {(parent, run) for run, parent in runs.items() if parent}


class _Graph:
    def __init__(self, rows: dict[int, Row]) -> None:
        self.rows = rows
        self.by_run: dict[str, list[int]] = defaultdict(list)
        for number, row in rows.items():
            self.by_run[row["run_id"]].append(number)
        self.step: dict[int, int] = {}  # row -> the row that opens its step
        self.inside: dict[int, set[int]] = defaultdict(set)  # tool_result -> results of members
        self.of_batch: dict[int, list[int]] = {}
        self.found: set[Edge] = set()

    def edges(self) -> set[Edge]:
        for numbers in self.by_run.values():
            self._pair(numbers)
        self._asks()
        for numbers in self.by_run.values():
            self._within(numbers)
        self._handoffs()
        self._replies()
        self._roots()
        self._carried()
        return self.found

    def _add(self, cause: int, effect: int) -> None:
        """Add what a row and, of a batch, its results stand for."""
        for source in self._sources(cause):
            self.found.add((str(source), str(self.step[effect])))

    def _sources(self, row: int) -> set[int]:
        if row not in self.of_batch:
            return {self.step[row]}
        results = self.of_batch[row]
        return {self.step[r] for r in results} | {i for r in results for i in self.inside[r]}

    def _pair(self, numbers: list[int]) -> None:
        open_uses: dict[str, list[int]] = defaultdict(list)
        results: dict[str, int] = {}
        asking = 0
        for number in numbers:
            row = self.rows[number]
            data = row["data"]
            self.step[number] = number
            if row["type"] == "model_request":
                asking = number
            elif row["type"] == "assistant_message":
                self.step[number] = asking
            elif row["type"] == "tool_use":
                open_uses[data["id"]].append(number)
            elif row["type"] == "tool_result":
                self.step[number] = open_uses[data["tool_use_id"]].pop()
                results[data["tool_use_id"]] = number
            elif _is_batch(row):
                ids = [block["tool_use_id"] for block in data["message"]["content"]]
                self.of_batch[number] = [results.pop(i) for i in ids]

    def _within(self, numbers: list[int]) -> None:
        context = answer = overflow = 0
        batch: int | None = None
        for at, number in enumerate(numbers):
            row = self.rows[number]
            kind = row["type"]
            if kind == "user_message":
                context = number
                batch = number if number in self.of_batch else None
            elif kind == "compaction":
                assert row["data"]["recovered_from_overflow"]
                overflow = numbers[at - 1]
                self._add(overflow, number)
                context = number
            elif kind == "model_request":
                self._add(context, number)
                if overflow:
                    self._add(overflow, number)
                    if batch and self._shows(number, batch):
                        self._add(batch, number)
                overflow = 0
            elif kind == "assistant_message":
                answer = number
            elif kind == "tool_use":
                self._add(answer, number)
            elif kind == "result" and not self._is_team(number):
                self._add(numbers[at - 1], number)

    def _shows(self, request: int, batch: int) -> bool:
        shown: list[Row] = self.rows[request]["data"]["messages"]
        return self.rows[batch]["data"]["message"] in shown

    def _is_team(self, number: int) -> bool:
        first = self.rows[self.by_run[self.rows[number]["run_id"]][0]]
        return bool(first["data"].get("runtime") == "team")

    def _prompts(self) -> dict[int, str]:
        found = {}
        for numbers in self.by_run.values():
            content = self.rows[numbers[1]]["data"]["message"]["content"]
            found[numbers[1]] = content if isinstance(content, str) else ""
        return found

    def _family(self, number: int) -> tuple[str, str | None]:
        return self.rows[number]["session_id"], self.rows[number].get("parent_run_id")

    def _result_of(self, number: int) -> int:
        last = self.by_run[self.rows[number]["run_id"]][-1]
        assert self.rows[last]["type"] == "result"
        return last

    def _receipts(self) -> dict[tuple[Any, str], int]:
        found = {}
        for number, row in self.rows.items():
            if row["type"] == "tool_result" and '"accepted"' in str(row["data"]["content"]):
                message_id = json.loads(row["data"]["content"])["message_id"]
                found[self._family(number), message_id] = number
        return found

    def _members(self) -> dict[tuple[Any, str], int]:
        found = {}
        for number, text in self._prompts().items():
            marks = [s for s in text.splitlines() if s.startswith("message_id: ")]
            if marks:
                found[self._family(number), marks[0].removeprefix("message_id: ")] = number
        return found

    def _handoffs(self) -> None:
        members = self._members()
        for key, receipt in self._receipts().items():
            self._add(receipt, members[key])

    def _replies(self) -> None:
        for number, text in self._prompts().items():
            for line in text.splitlines():
                if line.startswith("reply_to: "):
                    key = self._family(number), line.removeprefix("reply_to: ")
                    self._add(self._result_of(self._members()[key]), number)

    def _asks(self) -> None:
        receipts = self._receipts()
        for key, prompt in self._members().items():
            if key in receipts:
                continue
            task = self.rows[prompt]["data"]["message"]["content"].split("delegated task ---\n")[1]
            for number, row in self.rows.items():
                if row["type"] != "tool_use" or self._family(number) != key[0]:
                    continue
                if row["data"]["name"] != self.rows[prompt]["source"]["member"]:
                    continue
                back = next(r for r in self.step if self.step[r] == number and r != number)
                if number < prompt < back and task.startswith(row["data"]["input"]["task"]):
                    self._add(number, prompt)
                    self.inside[back].add(self._result_of(prompt))

    def _roots(self) -> None:
        prompts = self._prompts()
        for run, numbers in self.by_run.items():
            if not self._is_team(numbers[0]):
                continue
            source = self.rows[numbers[0]]["source"]
            leads = [
                own
                for own in self.by_run.values()
                if self.rows[own[0]].get("parent_run_id") == run
                and self.rows[own[0]]["source"] == source
            ]
            assert prompts[leads[0][1]] == prompts[numbers[1]]
            self._add(numbers[1], leads[0][1])
            self._add(leads[-1][-1], numbers[-1])

    def _carried(self) -> None:
        """A batch that nobody read in its run is read by the next run of that agent in a trace."""
        latest: dict[str, list[int]] = {}
        for numbers in self.by_run.values():
            agent = self.rows[numbers[0]]["data"].get("agent_session_id")
            before = latest.get(agent or "")
            if before is not None and before[-2] in self.of_batch:
                request = next(n for n in numbers if self.rows[n]["type"] == "model_request")
                if self._shows(request, before[-2]):
                    self._add(before[-2], request)
            if agent:
                latest[agent] = numbers
