"""Measurements on devices behind TVM's RPC."""
