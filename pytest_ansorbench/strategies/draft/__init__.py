"""Draft: a search in the space of a sketch's decisions, which makes few programs.

A round goes one way: `space` says what can be decided, `neighbourhood` gathers vectors of
decisions, `encoding` and `footprints` make features of them, `model` predicts their throughput and
`compiling` what it costs to try them, `niches` keeps them apart, `sharing` divides the trials among
sketches; `draft` is the search that does all this. Of the space, `knobs` are the decisions, and
`placement` knows where blocks can be computed. `survey` is what a trained cost model is asked
before the first round. `evidence` is what is known of a task, `siblings` what other tasks of a
network have measured, `experience` what was measured before, `prior` how much these two count;
`expectation` is what a scheduler is told.
"""
