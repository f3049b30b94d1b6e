"""The engine that measures on this machine, each program in a process of its own."""
