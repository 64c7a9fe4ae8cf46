"""What the benchmarks share: where the data is, captions to score, judged sets, runs and result files."""
