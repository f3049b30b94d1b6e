"""`ansor-bench tune`, `pytest_ansorbench.tune` and what they are made of."""
