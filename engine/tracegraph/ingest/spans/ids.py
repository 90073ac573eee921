"""OpenTelemetry trace and span ids in every coding that exporters were seen to write.

The specification demands hex. protobuf's own JSON mapping writes base64, and readers that take hex
for base64 and write it back as hex produce ids half as long again. The length decides the coding,
never whether the text happens to decode.
"""

import base64
import binascii
import re

TRACE_ID_DIGITS = 32
SPAN_ID_DIGITS = 16
_HEX = re.compile(r"[0-9a-fA-F]+").fullmatch


def normal_id(text: str | None, digits: int) -> tuple[str | None, bool]:
    """Return an id as lower-case hex, and whether it was recorded as the specification demands.

    An absent, blank or all-zero id is None: OTLP's words for *no id*. Text in no known coding is
    kept as it is: an opaque id still joins what belongs together.

    Args:
        text: the id as recorded.
        digits: hex digits of such an id: 32 for traces, 16 for spans.
    """
    if not text:
        return None, True
    if len(text) == digits and _HEX(text):
        text = text.lower()
        return (text if text.strip("0") else None), True
    return _nonstandard(text, digits), False


def _nonstandard(text: str, digits: int) -> str:
    if len(text) == digits + 2 and text[:2] == "0x" and _HEX(text[2:]):
        return text[2:].lower()
    if len(text) == _base64_length(digits) and text.endswith("="):
        try:
            return base64.b64decode(text, validate=True).hex()
        except binascii.Error:
            return text
    if len(text) == digits * 3 // 2 and _HEX(text):
        mended = base64.b64encode(bytes.fromhex(text)).decode()
        if len(mended) == digits and _HEX(mended):
            return mended.lower()
    return text


def _base64_length(digits: int) -> int:
    return (digits // 2 + 2) // 3 * 4
