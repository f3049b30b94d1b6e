"""AutoTVM's search: "Learning to Optimize Tensor Programs" (Chen et al., NeurIPS 2018).

`search` is its loop (section 3, algorithm 1), `trees` and `treegru` are its models (3.1, 3.2), of
which `inputs` say what they see, and `nests` what that is of loops; `chains` find points that the
model likes, and `diversity` chooses a batch of them (3.3); `transfer` is what other workloads know
(4). Sections are those of arXiv:1805.08166. What the paper does not give, such as the temperature,
is as it was in TVM (python/tvm/autotvm/tuner), before AutoTVM was removed.
"""
