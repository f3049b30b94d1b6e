"""A sketch's decisions as vectors: what every search on them needs, and no search.

`knobs` are the decisions that a sketch leaves open, `space` is one sketch and `design_space` all
sketches of a task; `traced` are those of TVM, and `placement` knows where blocks can be computed.
Nothing else here needs TVM. `encoding` and `footprints` make features of points, `model` predicts
their throughput, and `acquisition` what they are worth where that is unsure. `replays` makes
programs of points, none twice; `point_search` is the proposer of any search for points.
"""
