"""Metrics where other programs expect them: rewards of trainers, batches of Ray Data and Spark, Data-Juicer filters.

Adapters that need another package are modules of their own, imported only by who has it:
`vericap.integrations.torchmetrics`, `vericap.integrations.evaluate`. The COCO tool's shapes: `vericap.compat.coco`.
"""

from vericap.integrations.batches import BatchFilter, BatchScorer
from vericap.integrations.harness import lmms_eval_records
from vericap.integrations.reward import Reward, plain_caption, reward
from vericap.integrations.self_critical import SelfCritical

__all__ = ["BatchFilter", "BatchScorer", "Reward", "SelfCritical", "lmms_eval_records", "plain_caption", "reward"]
