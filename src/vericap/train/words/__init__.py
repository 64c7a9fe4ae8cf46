"""Training of the visual words: what people see and say of a photo, and where."""
