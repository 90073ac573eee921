"""The words of a mapping: fields of a step, units, and what programs call things.

``NAMES`` is what ``--map-template`` goes by. It says what a column is plainly called, compared
without case and underscores; a name that means several things is not in it.
"""

import re
from typing import Final

from tracegraph.model.codes import KIND_CODE, STATUS_CODE

NAMES: Final[dict[str, str]] = {
    "step_id": "step_id span_id id node_id event_id record_id uid uuid step step_no step_number "
    "seq index",
    "parent": "parent parent_id parent_span_id parent_step_id parent_step parent_uuid parent_uid "
    "span_parent_id span_parent",
    "causes": "causes caused_by depends_on dependencies predecessors after previous previous_id "
    "prev prev_id inputs_from",
    "trace_id": "trace_id trace trace_uuid",
    "run_id": "run_id run run_uuid execution_id job_id",
    "session_id": "session_id session conversation_id thread_id chat_id conversation thread",
    "name": "name step_name tool_name tool function function_name action event event_name "
    "operation op node node_name task label title "
    "span_name",
    "kind": "kind type step_type event_type span_kind span_type node_type category role",
    "status": "status ok success succeeded successful passed outcome state status_code is_success "
    "error is_error failed failure has_error errored",
    "error_type": "error_type exception_type exc_type error_class exception_class error_name "
    "error_code",
    "error_message": "error_message error error_msg exception exception_message exc err errmsg "
    "failure_reason",
    "agent": "agent agent_name agent_id actor",
    "model": "model model_name model_id llm llm_model",
    "start": "start start_time started_at started start_ts begin begin_time start_timestamp ts "
    "timestamp time datetime date_time created_at logged_at at "
    "start_ms started_ms start_time_ms begin_ms ts_ms timestamp_ms start_us start_ns",
    "end": "end end_time ended_at ended finished_at finish_time finish completed_at end_ts "
    "end_timestamp stop stop_time end_ms ended_ms end_time_ms finish_ms end_us end_ns",
    "duration": "duration_ms ms latency_ms elapsed_ms time_ms took_ms runtime_ms response_time_ms "
    "duration_s duration_seconds latency_s latency_seconds elapsed_s elapsed_seconds seconds "
    "duration_us duration_ns elapsed_ns latency_us duration_secs secs took_s time_s",
    "tokens_prompt": "tokens_prompt prompt_tokens input_tokens tokens_in tokens_input in_tokens "
    "prompt_token_count input_token_count usage_in usage_input usage_prompt",
    "tokens_completion": "tokens_completion completion_tokens output_tokens tokens_out "
    "tokens_output out_tokens completion_token_count output_token_count usage_out usage_output "
    "usage_completion",
    "tokens_total": "tokens_total total_tokens tokens token_count total_token_count usage_total",
    "cost": "cost cost_usd total_cost usd price total_cost_usd usage_cost_usd "
    "usage_cost usage_total_cost",
    "tool_call_id": "tool_call_id call_id tool_use_id function_call_id",
    "args": "args arguments input inputs params parameters tool_input tool_args kwargs request "
    "prompt query",
    "result": "result results output outputs response tool_output answer returned return_value "
    "completion observation",
    "docs": "docs documents retrieved_documents num_docs doc_count n_docs docs_count",
}
"""The fields of a step, in the order of DESIGN section 3, and the column names of each by rank."""

FIELDS: Final = tuple(NAMES)
TIMES: Final = ("start", "end")
SCALES: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Nanoseconds of each unit."""
ISO: Final = "iso"

OWN_STATUSES: Final = dict(STATUS_CODE)
OWN_KINDS: Final = {word.casefold(): code for word, code in KIND_CODE.items()}
"""The engine's own words, which need no mapping."""

STATUS_WORDS: Final = {
    "ok": "true ok success succeeded successful passed pass done completed complete finished",
    "error": "false error errored failed fail failure exception timeout timed_out crashed",
    "unset": "unset unknown pending running started in_progress queued",
}
KIND_WORDS: Final = {
    "AGENT": "agent subagent sub_agent",
    "CHAIN": "chain workflow pipeline graph node router",
    "LLM": "llm model llm_call model_call generation completion chat assistant chat_model",
    "TOOL": "tool tool_call tool_use function function_call tool_result",
    "RETRIEVER": "retriever retrieval retrieve search_index vector_search",
    "RERANKER": "reranker rerank",
    "EMBEDDING": "embedding embed embeddings",
    "GUARDRAIL": "guardrail guard moderation",
    "EVALUATOR": "evaluator eval evaluation judge",
    "PROMPT": "prompt prompt_template",
}
"""Words that ``--map-template`` assigns where it sees them; a mapping holds what it uses."""
NOTHING: Final = ("none", "null", "nil", "nan", "n/a", "na", "-", "undefined")
"""Texts that programs write where they mean nothing."""
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER: Final = re.compile(r"[^a-z0-9]+")


def plain(name: str) -> str:
    """Return a name as it is compared: ``spanId`` and ``Span-ID`` are ``span_id``."""
    return _OTHER.sub("_", _HUMP.sub("_", name).lower()).strip("_")
