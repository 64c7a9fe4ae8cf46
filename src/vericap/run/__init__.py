"""The engine: what is needed, computed once, in batches."""
