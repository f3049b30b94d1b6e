"""How a candidate becomes a latency: builder, runner, correctness check."""
