"""Metrics where other programs expect them: rewards of trainers, batches of Ray Data and Spark, Data-Juicer filters."""

from vericap.integrations.batches import BatchFilter, BatchScorer
from vericap.integrations.reward import Reward, plain_caption, reward

__all__ = ["BatchFilter", "BatchScorer", "Reward", "plain_caption", "reward"]
