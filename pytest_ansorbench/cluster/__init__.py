"""Repeats carried out by the workers of a Dask cluster; docs/machines.md."""
