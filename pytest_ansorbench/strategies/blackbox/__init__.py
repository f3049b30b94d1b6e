"""Searches of decisions that know nothing of programs: what any cost model has to beat."""
