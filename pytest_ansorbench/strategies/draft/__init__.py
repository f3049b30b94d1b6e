"""Draft: a search in the space of a sketch's decisions, which makes few programs.

A round goes one way: `neighbourhood` gathers points of the design space (`decisions`), whose model
predicts their throughput; `sharing` divides the trials among sketches; `draft` is the search that
does all this. `survey` is what a trained cost model is asked before the first round. `evidence` is
what is known of a task, `prior` how much experience of other workloads counts beside it.
"""
