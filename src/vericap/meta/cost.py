"""What a metric costs: processor seconds per 1,000 captions, cold."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import replace

from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import OFF, Settings
from vericap.run.engine import Run
from vericap.run.runtime import forget

CAPTIONS = 1000


def processor_seconds(metric: Metric, samples: Sequence[Sample], settings: Settings) -> float | None:
    """Seconds of processor time for 1,000 captions, all threads and processes together; None where it fails.

    Cold: the metric alone, nothing on disk is used, models are opened anew.
    """
    samples = list(samples)[:CAPTIONS]
    forget()
    start = _used()
    try:
        Run([metric], replace(settings, cache=OFF)).score(samples)
    except (VericapError, ImportError):
        return None  # the table has the reason
    return (_used() - start) * CAPTIONS / len(samples)


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
