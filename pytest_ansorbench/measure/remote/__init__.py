"""The engine that measures on devices behind TVM's RPC."""
