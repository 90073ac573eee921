"""Who&When: labelled logs of failed multi-agent runs."""
