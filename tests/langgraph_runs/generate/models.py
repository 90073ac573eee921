"""A chat model that answers what a script says, with usage, as a real one does."""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

NAME = "scripted-1"


class ScriptedModel(BaseChatModel):
    """Answers with the messages of its script, one after the other."""

    script: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        answer = self.script.pop(0)
        message = AIMessage(
            content=answer.content,
            tool_calls=answer.tool_calls,
            response_metadata={"model_name": NAME, "finish_reason": "stop"},
            usage_metadata={
                "input_tokens": 10 * len(messages),
                "output_tokens": 7,
                "total_tokens": 10 * len(messages) + 7,
            },
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "ScriptedModel":
        """Return itself: the script knows which tools it asks for."""
        return self


def asks(*calls: tuple[str, str, dict[str, Any]], text: str = "") -> AIMessage:
    """Return a message that asks for tool calls, each an (id, tool name, arguments)."""
    return AIMessage(
        content=text,
        tool_calls=[
            {"id": call_id, "name": name, "args": arguments, "type": "tool_call"}
            for call_id, name, arguments in calls
        ],
    )


def says(text: str) -> AIMessage:
    """Return a message that asks for nothing."""
    return AIMessage(content=text)
