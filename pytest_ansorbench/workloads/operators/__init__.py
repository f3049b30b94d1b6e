"""The operator families: one file each, holding the operator and the shapes it is tuned at.

A new family is a new file here, a line in `catalogue` and a line in the package's `__all__`.
"""
