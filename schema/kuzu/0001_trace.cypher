// The causal graph of agent runs, as Kuzu tables (version 1).
//
// Readable columns carry what people query; a missing value is NULL. Columns that start with "_" are
// the engine's own: integer codes and keys, never NULL (-1 is unknown), because Kuzu's logic over
// NULL inside EXISTS is wrong. Keys ascend with (trace, seq): segment * 2^32 + row in the segment.
// Readable times are cut to microseconds, the precision of Kuzu's own functions; _start, _end and
// _duration are exact.

// One execution of an agent.
CREATE NODE TABLE Trace (
    _key INT64 PRIMARY KEY,    // segment * 2^32 + index of the trace in the segment
    trace_id STRING,           // as recorded; not unique over sources or files
    source STRING,             // adapter that read it
    file STRING,               // name of the source file
    run_id STRING,
    session_id STRING,         // session, thread or conversation
    agent STRING,
    status STRING,             // unset | ok | error: of the run as a whole
    fidelity STRING,           // full | parent_only | order_only: which causes the source can hold
    started_at TIMESTAMP,      // earliest start
    ended_at TIMESTAMP,        // latest end
    cyclic BOOL,               // CAUSED_BY holds a cycle
    step_count INT64,
    error_count INT64,         // steps of status error
    gaps STRING,               // JSON object: disclosed losses, code to count
    attributes STRING,         // JSON object of allowlisted attributes
    _source INT64,             // text code
    _run_id INT64,             // text code
    _session_id INT64,         // text code
    _agent INT64,              // text code
    _status INT64,             // 0 unset, 1 ok, 2 error
    _fidelity INT64            // 0 full, 1 parent_only, 2 order_only
);

// One thing that was done: a model call, a tool call, an agent's turn.
CREATE NODE TABLE Step (
    _key INT64 PRIMARY KEY,    // segment * 2^32 + row of the step in the segment
    step_id STRING,            // unique in its trace
    trace_id STRING,
    seq INT64,                 // place in the total order of the trace, from 0
    kind STRING,               // AGENT CHAIN LLM TOOL RETRIEVER RERANKER EMBEDDING GUARDRAIL ...
    name STRING,               // tool, agent or node name
    status STRING,             // unset | ok | error
    status_source STRING,      // what decided the status
    agent STRING,              // agent that acted
    model STRING,              // model that answered
    started_at TIMESTAMP,
    ended_at TIMESTAMP,        // as recorded, even where it precedes the start
    duration_ms DOUBLE,
    error_type STRING,
    error_message STRING,
    tokens_prompt INT64,
    tokens_completion INT64,
    tokens_total INT64,
    cost DOUBLE,               // in its recorded currency
    tool_call_id STRING,       // pairs a request with its answer
    args_digest STRING,        // equal digests: equal arguments
    result_digest STRING,      // equal digests: equal result
    args_size INT64,           // bytes of the recorded arguments as text
    result_size INT64,         // bytes of the recorded result as text
    docs INT64,                // retrieved documents
    signals STRING[],          // codes found at ingest
    wrapper BOOL,              // span that a framework opened for a graph node
    orphan BOOL,               // a recorded parent is not in the source
    lossy BOOL,                // more than one cause: TREE_PARENT shows one of several
    depth INT64,               // tree ancestors
    children INT64,            // tree children
    unknown_fields STRING,     // fields whose absence proves nothing, joined by commas
    input STRING,              // NULL unless content is kept
    output STRING,             // NULL unless content is kept
    attributes STRING,         // JSON object; NULL unless content is kept
    _trace INT64,              // key of the Trace
    _seq INT64,
    _kind INT64,               // position in the list of kinds, 0 UNKNOWN
    _status INT64,             // 0 unset, 1 ok, 2 error
    _status_source INT64,      // text code
    _name INT64,               // text code
    _agent INT64,              // text code
    _model INT64,              // text code
    _error_type INT64,         // text code
    _error_message INT64,      // text code
    _tool_call_id INT64,       // text code
    _args INT64,               // text code
    _result INT64,             // text code
    _start INT64,              // ns since the epoch
    _end INT64,                // ns since the epoch; -1 also where it precedes the start
    _duration INT64,           // ns
    _tokens_prompt INT64,
    _tokens_completion INT64,
    _tokens_total INT64,
    _docs INT64,
    _cost DOUBLE,
    _signals INT64,            // bit mask
    _depth INT64,
    _children INT64,
    _lossy BOOL,
    _o0 INT64,                 // order bound: start, or seq in a trace without any time
    _o1 INT64,                 // order bound: end if possible, or seq
    _pre INT64,                // segment * 2^32 + preorder number in the tree
    _last INT64,               // segment * 2^32 + preorder number of the last descendant
    _scope INT64,              // key of the nearest ancestor that is no wrapper, -1: the trace
    _parent INT64              // key of the tree parent
);

// The effect (from) was caused by the cause (to). Every recorded cause is kept.
CREATE REL TABLE CAUSED_BY (
    FROM Step TO Step,
    origin STRING,             // what says so: span_parent, tool_call_id, span_link, ...
    evidence STRING,           // declared | containment | derived | heuristic
    _evidence INT64            // 1 declared, 2 containment, 3 derived, 4 heuristic
);

// Child (from) and parent (to) in the derived tree: at most one parent, a lossy projection of
// CAUSED_BY.
CREATE REL TABLE TREE_PARENT (
    FROM Step TO Step,
    evidence STRING            // evidence of the cause that it was projected from
);

CREATE REL TABLE IN_TRACE (
    FROM Step TO Trace
);
