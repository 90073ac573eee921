"""What the content of a message says: plain text, or a list of parts as model APIs have them."""

from typing import Any

from tracegraph.ingest.attributes import dump, text_of
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.tool_payload import size_of
from tracegraph.model.codes import UNKNOWN
from tracegraph.model.digest import digest_text, digest_value


def plain_content(content: Any) -> Any:
    """Return content without its wrapping: text where all its parts are text, else as it is.

    A part of text is ``{"type": "text", "text": ...}`` in the APIs of OpenAI and Anthropic. One
    tool may answer with text and with a list of one such part; both say the same. None where it
    says nothing, or is nested too deeply to be compared.
    """
    if content is None or content == [] or is_too_deep(content):
        return None
    if isinstance(content, str):
        return content if content.strip() else None
    if isinstance(content, list):
        texts = [_text_of_part(part) for part in content]
        if all(text is not None for text in texts):
            return "\n".join(text for text in texts if text) or None
    return content


def content_text(content: Any) -> str | None:
    """Return content as text: itself, or JSON; None where it says nothing."""
    return text_of(plain_content(content))


def content_digest(content: Any) -> tuple[str | None, int]:
    """Return the digest of content and its size in bytes; (None, -1) where it says nothing."""
    plain = plain_content(content)
    if plain is None:
        return None, UNKNOWN
    if isinstance(plain, str):
        return digest_text(plain), size_of(plain)
    return digest_value(plain), size_of(dump(plain))


def _text_of_part(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type") in ("text", "output_text"):
        text = part.get("text")
        return text if isinstance(text, str) else None
    return None
