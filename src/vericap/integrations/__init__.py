"""Metrics where other programs expect them: rewards of reinforcement-learning trainers."""

from vericap.integrations.reward import Reward, plain_caption, reward

__all__ = ["Reward", "plain_caption", "reward"]
