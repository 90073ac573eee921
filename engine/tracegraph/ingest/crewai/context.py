"""The outputs of other tasks that a task was given: its context, in the prompt that CrewAI makes.

The prompt of a task names it in one phrase (``task_with_context`` of CrewAI's English prompts);
several outputs stand there with a line between them (``aggregate_raw_outputs_from_tasks``).
"""

_LABEL = "This is the context you're working with:\n"
_BETWEEN = "\n\n----------\n\n"
_BEHIND = ("\n\nBegin!", "\n\nProvide your complete response:", "\n\nCurrent Task:")


def contexts_in(content: object) -> list[str]:
    """Return the outputs in the prompt of a task, none where it was given none."""
    if not isinstance(content, str):
        return []
    _, label, context = content.partition(_LABEL)
    if not label:
        return []
    for mark in _BEHIND:
        context = context.partition(mark)[0]
    return parts_of(context)


def parts_of(context: object) -> list[str]:
    """Return the outputs that make up a context."""
    parts = context.split(_BETWEEN) if isinstance(context, str) else ()
    return [text for part in parts if (text := part.strip())]
