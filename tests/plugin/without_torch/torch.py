"""Stands in for a PyTorch that is not installed."""

raise ModuleNotFoundError("No module named 'torch'", name="torch")
