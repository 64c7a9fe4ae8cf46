"""Which captions to keep: conditions on scores, texts and input columns, read by a grammar of our own."""
