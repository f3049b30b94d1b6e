"""Searches of decisions that measure and predict nothing: what any model has to beat."""
