"""Numbers only: time to target, ratios, intervals, gates. Records in, records out."""
