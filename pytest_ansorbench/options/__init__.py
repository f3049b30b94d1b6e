"""Options, their ini twins and marker keywords, resolved into one frozen `Settings`.

`declarations` alone is imported in every session of pytest; `settings` and `resolve` with
`--ansor-bench`.
"""
