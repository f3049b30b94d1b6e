"""The operator families.

Ansor's have a file each, with the shapes that they are tuned at; `catalogue` lists them. Those of
today's models are together where they are alike, and `suites` has their shapes.
"""
