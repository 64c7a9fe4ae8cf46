"""Measurements behind the figures of the docs. Run from the repository: `python -m benchmarks.speed.startup`."""
