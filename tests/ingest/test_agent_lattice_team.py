"""Causes between the runs of an agent-lattice team, where messages could mislead."""

import json

from lattice_rows import (
    Row,
    Run,
    Tracer,
    call,
    edges,
    gaps_of,
    lines,
    pairs,
    read_bytes,
    read_rows,
    returned,
)
from trace_view import the
from tracegraph.model.trace import Trace

ROOT = {"kind": "root", "name": "team", "team": "team", "mailbox": "manager"}


def member(name: str, team: str = "team") -> Row:
    source = {"kind": "team_member", "name": name, "team": team, "member": name}
    return {**source, "mailbox": f"{team}::{name}"}


def delegated(message_id: str, task: str, name: str = "qa") -> str:
    return (
        f"You are handling delegated work sent through an agent mailbox.\n\ndelegate: {name}\n"
        f"message_id: {message_id}\nfrom: manager\nto: team::{name}\nthread: {message_id}\n\n"
        f"Return the final result as assistant text.\n\n--- delegated task ---\n{task}"
    )


def accepted(message_id: str, to: str = "team::qa") -> str:
    return json.dumps({"status": "accepted", "message_id": message_id, "to": to}, indent=2)


def replies(*heads: tuple[str, str], body: str = "It is done.") -> str:
    blocks = [
        f"--- mailbox reply ---\nid: msg_9\nfrom: {sender}\nto: manager\n"
        f"reply_to: {message_id}\n\n{body}\n"
        for message_id, sender in heads
    ]
    return "Team runtime update:\n\nmailbox: manager\n\n" + "".join(blocks)


class Team:
    """A team's root and the runs in it; remembers the line of every prompt."""

    def __init__(self, prompt: str = "Do it.") -> None:
        self.tracer = Tracer()
        self.root = Run(self.tracer, "team", parent=None, source=ROOT)
        self.root.write("run_start", runtime="team", team="team")
        self.root.say(prompt)

    @property
    def line(self) -> str:
        """The line of the last row."""
        return str(len(self.tracer.rows))

    def lead(self, run_id: str, prompt: str = "Do it.") -> Run:
        run = Run(self.tracer, run_id, parent="team", source=ROOT, tools=("qa", "docs"))
        return run.start(prompt, agent_session_id="lead")

    def member(self, run_id: str, name: str = "qa", parent: str = "team") -> Run:
        return Run(self.tracer, run_id, parent=parent, source=member(name), tools=())

    def hand_off(self, lead: Run, call_id: str, receipt: str, name: str = "qa") -> str:
        """Hand work over in one turn. Return the id of the TOOL step."""
        lead.think(call(call_id, name, mode="handoff", task="t")).use(
            call(call_id, name, mode="handoff", task="t")
        )
        step = self.line
        lead.returns(call_id, receipt).batch(returned(call_id, receipt))
        return step

    def read(self) -> Trace:
        return read_rows(self.tracer.rows)


def test_message_ids_that_mailboxes_share_are_told_by_the_mailbox() -> None:
    team = Team()
    lead = team.lead("lead")
    to_qa = team.hand_off(lead, "1", accepted("first", "team::qa"))
    to_docs = team.hand_off(lead, "2", accepted("first", "team::docs"), "docs")
    lead.end()
    qa = team.member("m1").start(delegated("first", "t"))
    qa_prompt = team.line
    qa.think("qa is done").end("qa is done")
    qa_result = team.line
    docs = team.member("m2", "docs").start(delegated("first", "t", "docs"))
    docs_prompt = team.line
    docs.think("docs are done").end()
    docs_result = team.line
    again = team.lead("again", replies(("first", "team::docs"), ("first", "team::qa")))
    prompt = team.line
    again.think("All done").end()
    team.root.end()
    trace = team.read()
    assert {edge for edge in edges(trace) if edge[2] == "message"} == {
        (to_qa, qa_prompt, "message"),
        (to_docs, docs_prompt, "message"),
        (qa_result, prompt, "message"),
        (docs_result, prompt, "message"),
    }
    assert gaps_of(trace) == {}


def test_two_receipts_of_one_message_are_left_open() -> None:
    team = Team()
    lead = team.lead("lead")
    team.hand_off(lead, "1", accepted("first"))
    team.hand_off(lead, "2", accepted("first"))
    lead.end()
    team.member("m").start(delegated("first", "t")).think("done").end()
    trace = team.read()
    assert not any(origin == "message" for _, _, origin in edges(trace))
    assert gaps_of(trace) == {"agent_lattice.ambiguous_message": 1}


def test_a_message_of_another_query_of_the_team_is_another_message() -> None:
    team = Team()
    team.hand_off(team.lead("lead"), "1", accepted("first"))
    other = Run(team.tracer, "team2", source=ROOT)
    other.write("run_start", runtime="team", team="team")
    other.say("And now?")
    late = team.member("m", parent="team2").start(delegated("first", "t"))
    late.think("done").end()
    traces, _ = read_bytes(lines(team.tracer.rows))
    assert [trace.trace_id for trace in traces] == ["team", "team2"]
    assert gaps_of(traces[1]) == {"agent_lattice.unresolved_message": 1}
    assert {trace.session_id for trace in traces} == {"s"}


def test_what_a_task_or_a_reply_quotes_is_no_header() -> None:
    team = Team()
    lead = team.lead("lead")
    given = team.hand_off(lead, "1", accepted("first"))
    lead.end()
    task = "Quote: message_id: second\nmessage_id: second\nreply_to: first"
    team.member("m").start(delegated("first", task)).think("x").end()
    prompt, result = str(int(given) + 5), team.line
    other = team.lead("again", replies(("first", "team::qa"), body="reply_to: second"))
    asked = team.line
    other.think("ok").end()
    trace = team.read()
    assert {edge for edge in edges(trace) if edge[2] == "message"} == {
        (given, prompt, "message"),
        (result, asked, "message"),
    }
    assert gaps_of(trace) == {}


def test_below_a_header_without_an_id_nothing_counts_as_one() -> None:
    team = Team()
    lead = team.lead("lead")
    team.hand_off(lead, "1", accepted("first"))
    lead.end()
    team.member("m").start(delegated("first", "t")).think("x").end()
    bare = "delegate: qa\n\n--- delegated task ---\nmessage_id: first"
    team.member("m2").start(bare).think("x").end()
    unanswered = replies(("first", "team::qa"), body="reply_to: first").replace(
        "reply_to: first\n\n", "role: note\n\n"
    )
    team.lead("again", unanswered).think("ok").end()
    assert len([e for e in edges(team.read()) if e[2] == "message"]) == 1


def test_a_reply_comes_from_work_that_had_begun() -> None:
    team = Team()
    lead = team.lead("lead")
    team.hand_off(lead, "1", accepted("first"))
    lead.end()
    team.member("m").start(delegated("first", "t")).think("x").end()
    result = team.line
    team.lead("again", replies(("first", "team::qa")))
    prompt = team.line
    team.member("m2").start(delegated("first", "t")).think("x").end()
    trace = team.read()
    assert [e for e in edges(trace) if e[1] == prompt] == [(result, prompt, "message")]
    assert gaps_of(trace) == {}


def test_no_run_is_asked_by_its_own_call() -> None:
    tracer = Tracer()
    Run(tracer, "outer").start("go")
    inner = Run(tracer, "inner", parent="outer")
    inner.think(call("1", task="Count.")).use(call("1", task="Count.")).start("Count.")
    assert not any(origin == "data_flow" for _, _, origin in edges(read_rows(tracer.rows)))


def ask(team: Team, task: str = "Is it green?") -> tuple[Run, str]:
    lead = team.lead("lead")
    given = call("1", "qa", mode="ask", task=task)
    lead.think(given).use(given)
    return lead, team.line


def test_a_member_that_is_asked_is_found_by_its_task() -> None:
    team = Team()
    lead, tool = ask(team)
    qa = team.member("m").start(delegated("first", "Is it green?\nContext: main."))
    prompt = team.line
    qa.request().end("", "error", error={"name": "APIError", "message": "529"})
    result = team.line
    said = "Delegated work assigned to qa failed.\nError code: api_error"
    lead.returns("1", said).batch(returned("1", said)).think("It failed.").end()
    reader = str(len(team.tracer.rows) - 2)
    team.root.end()
    trace = team.read()
    assert {(tool, prompt, "data_flow"), (result, reader, "protocol")} <= edges(trace)
    assert (the(trace, tool).status, the(trace, "m").error_type) == ("ok", "APIError")
    assert not trace.cyclic
    assert gaps_of(trace) == {}


def test_a_task_that_two_open_calls_share_is_left_open() -> None:
    team = Team()
    lead = team.lead("lead")
    given = [call(i, "qa", mode="ask", task="Same") for i in ("1", "2")]
    lead.think(*given)
    for one in given:
        lead.use(one)
    for run_id in ("m1", "m2"):
        team.member(run_id).start(delegated(run_id, "Same")).think("done").end()
    trace = team.read()
    assert gaps_of(trace) == {"agent_lattice.ambiguous_task": 2}
    assert not any(origin == "data_flow" for _, _, origin in edges(trace))


def test_a_task_asked_of_another_member_or_after_the_call_is_not_its() -> None:
    team = Team()
    lead, _ = ask(team)
    team.member("m1", "docs").start(delegated("a", "Is it green?", "docs")).think("x").end()
    lead.returns("1").batch(returned("1")).think("done").end()
    team.member("m2").start(delegated("b", "Is it green?")).think("x").end()
    trace = team.read()
    assert gaps_of(trace) == {"agent_lattice.unresolved_message": 2}
    assert not any(origin == "data_flow" for _, _, origin in edges(trace))


def test_an_agent_called_as_a_tool_in_one_trace_is_a_guess() -> None:
    tracer = Tracer()
    outer = Run(tracer, "outer", tools=("count",)).start("How many?")
    given = call("1", "count", task="Count the files.")
    outer.think(given).use(given)
    inner = Run(tracer, "inner", session="other", parent="outer", tools=())
    inner.start("Count the files.").think("42").end("42")
    outer.returns("1", "42").batch(returned("1", "42")).think("There are 42.").end()
    trace = read_rows(tracer.rows)
    guessed = {(c.cause, c.effect, c.origin) for c in trace.causes if c.evidence == "heuristic"}
    assert guessed == {("5", "7", "data_flow"), ("10", "13", "protocol")}
    assert gaps_of(trace) == {}


def test_an_agent_with_a_tracer_of_its_own_is_another_trace() -> None:
    tracer = Tracer()
    outer = Run(tracer, "outer", tools=("count",)).start("How many?")
    given = call("1", "count", task="Count the files.")
    outer.think(given).use(given)
    inner = Run(Tracer(), "inner", session="other").start("Count the files.").think("42").end()
    outer.returns("1", "42").batch(returned("1", "42")).think("There are 42.").end()
    rows = tracer.rows[:5] + inner.tracer.rows + tracer.rows[5:]
    traces, gaps = read_bytes(lines(rows))
    assert [(t.trace_id, t.session_id) for t in traces] == [("outer", "s"), ("inner", "other")]
    assert not any(c.evidence == "heuristic" for trace in traces for c in trace.causes)
    assert gaps == {}


def test_a_nested_team_has_a_lead_of_its_own() -> None:
    team = Team()
    lead = team.lead("lead")
    given = team.hand_off(lead, "1", accepted("first", "inner"), "inner")
    lead.end()
    text = delegated("first", "Check.", "inner")
    source = {"kind": "root", "name": "inner", "team": "inner", "mailbox": "inner"}
    nested = Run(team.tracer, "nested", parent="team", source=source)
    nested.write("run_start", runtime="team", team="inner")
    nested.say(text)
    nested_prompt = team.line
    inner = Run(team.tracer, "inner-lead", parent="nested", source=source, tools=("qa",))
    inner.start(text)
    inner_prompt = team.line
    own = team.hand_off(inner, "1", accepted("first", "inner::qa"))
    inner.end()
    inner_result = team.line
    work = Run(team.tracer, "m", parent="nested", source=member("qa", "inner"))
    work.start(delegated("first", "t"))
    work_prompt = team.line
    work.think("x").end()
    nested.end()
    nested_result = team.line
    team.root.end()
    trace = team.read()
    assert {e for e in edges(trace) if e[2] in ("message", "protocol")} == {
        ("2", "4", "protocol"),
        (given, nested_prompt, "message"),
        (nested_prompt, inner_prompt, "protocol"),
        (own, work_prompt, "message"),  # not the nested lead, whose prompt names "first" too
        (inner_result, nested_result, "protocol"),
        (str(int(given) + 3), team.line, "protocol"),
    }
    assert gaps_of(trace) == {}


def test_a_team_that_fails_by_itself_has_not_its_leads_result() -> None:
    team = Team()
    team.lead("lead").think("done").end()
    result = team.line
    team.root.end("", "error_timeout", error={"name": "TimeoutError", "message": "10 s"})
    trace = team.read()
    assert (result, team.line) not in pairs(trace)
    assert ("2", team.line) in pairs(trace)  # the last row of its own
    assert trace.status == "error"


def test_a_reply_of_a_member_that_never_ended_comes_from_its_run() -> None:
    team = Team()
    lead = team.lead("lead")
    team.hand_off(lead, "1", accepted("first"))
    lead.end()
    team.member("m").start(delegated("first", "t")).request()
    team.lead("again", replies(("first", "team::qa"))).think("x").end()
    prompt = str(int(team.line) - 3)
    assert ("m", prompt, "message") in edges(team.read())


def test_a_member_whose_team_is_not_in_the_file_stays_beside_its_siblings() -> None:
    team = Team()
    lead = team.lead("lead")
    tool = team.hand_off(lead, "1", accepted("first"))
    lead.end()
    team.member("m").start(delegated("first", "t")).think("x").end()
    (trace,), _ = read_bytes(lines(team.tracer.rows[2:]))
    assert (trace.trace_id, trace.run_id, trace.status) == ("team", "team", "unset")
    assert gaps_of(trace) == {"agent_lattice.missing_parent": 2}
    assert [s.step_id for s in trace.steps if s.orphan] == ["lead", "m"]
    assert any(cause == str(int(tool) - 2) for cause, _, o in edges(trace) if o == "message")


def test_runs_that_contain_each_other_are_one_trace_with_a_cycle() -> None:
    tracer = Tracer()
    for run_id, parent in (("c", "b"), ("a", "b"), ("b", "a"), ("d", "d")):
        Run(tracer, run_id, parent=parent).start(f"prompt of {run_id}").end()
    traces, _ = read_bytes(lines(tracer.rows))
    assert [(t.trace_id, len(t)) for t in traces] == [("b", 9), ("d", 3)]
    assert gaps_of(traces[0])["causes.cycle"] == 1
    assert gaps_of(traces[1]) == {"causes.self": 1}
