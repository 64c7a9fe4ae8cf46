"""Training of the n-gram language model; it needs no torch."""
