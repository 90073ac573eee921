"""What to do about values that a mapping could not use, where there is something to do."""

from typing import Final

REMEDIES: Final = {
    "mapped.duplicate_step": 'parts of one step? write same_id = "parts" under [rows]',
    "mapped.unreadable_duration": "write a number without a unit, as 0.5",
    "mapped.unreadable_cost": "write a number, as 0.5",
    "mapped.unreadable_token_count": "write a whole number, as 1200",
    "mapped.unreadable_timestamp": "write ISO 8601, as 2026-11-30T10:00:00Z, or an epoch number",
}
"""By gap code, in words that the report of ``ingest`` puts behind it."""
