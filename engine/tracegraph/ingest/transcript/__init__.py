"""From the turns of a conversation to steps: what all logs of messages have in common."""
