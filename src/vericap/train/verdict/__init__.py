"""Calibration of the verdict on judgements of people and on captions made wrong."""
