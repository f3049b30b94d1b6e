"""Landscapes: sub-spaces of a task's decisions, measured as a whole, to search without a machine.

`records` is what a file holds, `files` writes and reads it, `checking` says what is wrong with one
and `card` what there is to find in it. `choosing` takes a sub-space of a design space, `programs`
makes programs of points and `recording` measures them; that takes TVM. `recorded` is a landscape as
a design space, `replaying` searches it; these do not.
"""
