"""Readers of published judgement data, one file per data set or family."""
