"""From a run of agentdelta records to a trace in a draft.

A call and its return are one TOOL step under the call's number. The start and every end of a chain
are CHAIN steps named ``start`` and ``end``: they are what the recorder saw of the chains that ran
(nested chains have ends of their own), they carry the run's input and answer, and author-made edges
name them. A status is taken from metadata only: a return proves that a tool ended, not that it did
its work.
"""

import ast
import json
from collections.abc import Sequence
from typing import Any

from tracegraph.ingest.agentdelta.causes import (
    END,
    LLM,
    START,
    is_chain,
    protocol_causes,
    resolve,
)
from tracegraph.ingest.agentdelta.pairing import CALL, RETURN, Pairing, pair, tool_name
from tracegraph.ingest.agentdelta.records import Node, Run
from tracegraph.ingest.agentdelta.status import Outcome, read_outcome
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import Source
from tracegraph.model.codes import FIDELITY_CODE, HEURISTIC, KIND_CODE, SIGNAL_BIT
from tracegraph.model.digest import digest_text, digest_value
from tracegraph.model.draft import Draft

_KINDS = {START: "CHAIN", END: "CHAIN", LLM: "LLM", CALL: "TOOL", RETURN: "TOOL"}
_CUT_AT = {START: 500, END: 500, LLM: 2000, RETURN: 500, CALL: 500}
"""Where the recorder cuts content (of a call: the arguments, before it wraps them), unmarked."""
_DAMAGE = ("torn_line", "unreadable_line", "unreadable_record")
_MAX_LITERAL = 100_000


def add_run(draft: Draft, run: Run, trace_id: str, source: Source) -> None:
    """Append the run to the draft as a trace."""
    nodes = sorted(run.nodes, key=lambda node: node.step)  # stable: ties stay in file order
    is_damaged = any(run.losses.counts[f"agentdelta.{what}"] for what in _DAMAGE)
    chain = is_chain(nodes, run.edges, is_damaged)
    draft.begin(
        trace_id,
        source="agentdelta",
        file=source.name,
        file_digest=source.digest,
        run_id=run.run_id,
        fidelity=FIDELITY_CODE["order_only" if chain else "full"],
        contained=False,
    )
    if chain:
        _add_chain(draft, nodes, run)
    else:
        _add_linked(draft, nodes, run)
    draft.traces.gaps[-1].update(run.losses.counts)


def _add_chain(draft: Draft, nodes: Sequence[Node], run: Run) -> None:
    """Add the steps of a run whose edges say only what followed what."""
    pairing = pair(nodes, {}, run.losses)
    steps = [at for at, n in enumerate(nodes) if n.kind != RETURN or at in pairing.stray]
    rows = _add_steps(draft, nodes, steps, pairing, run.losses)
    # A file without any edge is not the recorder's, so that its protocol is only a guess there.
    evidence = None if run.edges else HEURISTIC
    for explained in protocol_causes(nodes, pairing):
        effect = rows[explained.node]
        draft.steps.orphan[effect] = explained.is_open
        for cause in explained.causes:
            draft.link(effect, rows[cause], "protocol", evidence)


def _add_linked(draft: Draft, nodes: Sequence[Node], run: Run) -> None:
    """Add the steps of a run with author-made edges; those of a call and its return meet in one."""
    links = resolve(nodes, run.edges, run.losses)
    pairing = pair(nodes, links.causes(), run.losses)
    call_of = {answer: call for call, answer in pairing.answer.items()}
    steps = [at for at in range(len(nodes)) if at not in call_of]
    rows = _add_steps(draft, nodes, steps, pairing, run.losses)
    rows.update({answer: rows[call] for answer, call in call_of.items()})
    for orphan in links.orphans:
        draft.steps.orphan[rows[orphan]] = True
    for cause, effect in links.pairs:
        if rows[cause] != rows[effect] or cause == effect:
            draft.link(rows[effect], rows[cause], "edge")


def _add_steps(
    draft: Draft, nodes: Sequence[Node], steps: Sequence[int], pairing: Pairing, losses: Losses
) -> dict[int, int]:
    """Append a step for each of some nodes. Return the row of each."""
    final = max((at for at in steps if nodes[at].kind == END), default=-1)
    unanswered = set(pairing.open_calls) - pairing.maybe_answered
    seen: dict[int, int] = {}
    rows: dict[int, int] = {}
    for at in steps:
        node = nodes[at]
        seen[node.step] = times = seen.get(node.step, 0) + 1
        if times > 1:
            losses.add("agentdelta.repeated_step", f"step {node.step} is there twice")
        if node.kind not in _KINDS:
            losses.add("agentdelta.unknown_node_type", f"step {node.step}: {node.kind!r}")
        signals = SIGNAL_BIT["final_answer"] if at == final else 0
        signals |= SIGNAL_BIT["unanswered_call"] if at in unanswered else 0
        kind = _KINDS.get(node.kind, "UNKNOWN")
        if node.kind == RETURN and at not in pairing.stray:
            kind = "UNKNOWN"  # one of the open calls is its TOOL step, it is not known which
        answer = pairing.answer.get(at)
        rows[at] = _add_step(
            draft,
            str(node.step) if times == 1 else f"{node.step}~{times}",
            kind,
            node,
            None if answer is None else nodes[answer],
            signals,
        )
    return rows


def _add_step(
    draft: Draft, step_id: str, kind: str, node: Node, answer: Node | None, signals: int
) -> int:
    """Append the step of a node; of a call together with the return that answers it."""
    outcome = read_outcome(node) if answer is None else read_outcome(answer)
    if outcome == Outcome():
        outcome = read_outcome(node)
    result = answer if node.kind == CALL else node
    arguments = _arguments(node) if node.kind == CALL else None
    cut = any(_is_cut(part) for part in (node, answer) if part is not None)
    given, said, attributes = _content(node, arguments, result)
    return draft.step(
        step_id,
        kind=KIND_CODE[kind],
        name=_name(node),
        status=outcome.status,
        status_source=outcome.status_source,
        agent=node.text_of("agent", "agent_name"),
        model=node.text_of("model") if node.kind == LLM else None,
        error_type=outcome.error_type,
        error_message=outcome.error_message,
        args=None if arguments is None or _is_cut(node) else _digest_literal(arguments),
        result=_digest_result(result) if kind == "TOOL" and result is not None else None,
        signals=signals | outcome.signals | (SIGNAL_BIT["truncated"] if cut else 0),
        input=given,
        output=said,
        attributes=attributes,
    )


def _name(node: Node) -> str | None:
    if node.kind in (START, END):
        return node.kind
    return tool_name(node) if node.kind in (CALL, RETURN) else node.text_of("name")


def _arguments(call: Node) -> Any:
    """Return what a call was given: from its metadata, else the text in its parentheses."""
    recorded = call.of("arguments", "args")
    if recorded is not None:
        return recorded
    _, parenthesis, rest = (call.content or "").partition("(")
    return rest.removesuffix(")") if parenthesis else None


def _is_cut(node: Node) -> bool:
    """Tell whether content reached the length at which the recorder cuts: it may be a part only."""
    if node.kind == CALL:
        text = None if node.of("arguments", "args") is not None else _arguments(node)
    else:
        text = node.content
    return isinstance(text, str) and len(text) >= _CUT_AT.get(node.kind, len(text) + 1)


def _digest_literal(value: Any) -> str | None:
    """Digest a value recorded as it is, as JSON, or as Python shows plain data."""
    if not isinstance(value, str):
        return digest_value(value)
    if value[:1] in ("{", "[") and len(value) <= _MAX_LITERAL:
        try:
            return digest_value(ast.literal_eval(value))  # reads literals, runs nothing
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            pass
    return digest_text(value)


def _digest_result(result: Node) -> str | None:
    return None if _is_cut(result) or result.content is None else _digest_literal(result.content)


def _content(
    node: Node, arguments: Any, result: Node | None
) -> tuple[str | None, str | None, str | None]:
    """Return input, output and attributes of a step."""
    given = arguments if node.kind == CALL else node.content if node.kind == START else None
    if given is not None and not isinstance(given, str):
        given = json.dumps(given, sort_keys=True, ensure_ascii=False)
    said = None if result is None or node.kind == START else result.content
    held = {"id": node.id, "metadata": node.metadata or None}
    known = {key: value for key, value in held.items() if value is not None}
    attributes = json.dumps(known, sort_keys=True, ensure_ascii=False) if known else None
    return given, said, attributes
