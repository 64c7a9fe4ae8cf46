"""What a run works with: networks and models opened once per process, photos, the disk cache, progress, processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from vericap.core import devices
from vericap.core.settings import Settings
from vericap.run.progress import Bar

if TYPE_CHECKING:
    from vericap.run.cache import Cache, NoCache
    from vericap.run.encoding import CachedEncoder
    from vericap.text.encoders import SentenceEncoder
    from vericap.vision.detector_source import Detects
    from vericap.vision.regions import Extractor

T = TypeVar("T")
_lock = RLock()
_opened: dict[Hashable, Any] = {}  # of this process: what is costly to open stays warm between runs
_runtimes: dict[Hashable, Runtime] = {}


class Runtime:
    """The resources of runs with the same cache, threads and progress bars.

    `threads` is the number of threads of each network, `workers` the number of processes: two different numbers.
    """

    def __init__(self, settings: Settings) -> None:
        self.workers = settings.workers
        self.threads = settings.threads or settings.workers
        self.progress = settings.progress
        self._where = settings.cache
        if settings.device:
            devices.use(settings.device)

    @cached_property
    def cache(self) -> Cache | NoCache:
        """The disk cache; a run that keeps nothing never loads it."""
        from vericap.run.cache import open_cache

        return open_cache(self._where)

    @classmethod
    def of(cls, settings: Settings) -> Runtime:
        """The runtime of these settings, the same at every call."""
        # The cache folder of the environment may change between calls (tests do so).
        places = tuple(os.environ.get(name) for name in ("VERICAP_CACHE", "XDG_CACHE_HOME"))
        key = (settings.workers, settings.threads, settings.progress, settings.device, str(settings.cache), places)
        with _lock:
            if key not in _runtimes:
                _runtimes[key] = cls(settings)
            return _runtimes[key]

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made at the first call of this process."""
        with _lock:
            if name not in _opened:
                _opened[name] = make()
            found: T = _opened[name]
            return found

    # --- networks -----------------------------------------------------------------------------------------------

    def encoder(self, name: str = "captions") -> CachedEncoder:
        """A sentence encoder (`text.encoders`), with this run's cache."""
        from vericap.run.encoding import CachedEncoder

        return CachedEncoder(self.network(name), self.cache, progress=self.progress)

    def network(self, name: str = "captions") -> SentenceEncoder:
        """A sentence encoder alone; a folder that was written anew is read anew."""
        from vericap.text.encoders import encoder_name, open_encoder

        key = ("encoder", name, encoder_name(name), self.threads)
        return self.once(key, lambda: open_encoder(name, threads=self.threads))

    def detector(self, model: str) -> Detects:
        """An object detector: `detector`, `path.onnx`, or `hub/NAME`; a file that was written anew is opened anew."""
        from vericap.vision.detector_source import detector_name, open_detector

        name = detector_name(model)
        return self.once(("detector", name, self.threads), lambda: open_detector(model, threads=self.threads))

    def extractor(self) -> Extractor:
        """The region extractor behind the shipped models."""
        from vericap.vision.regions import Extractor

        return self.once(("extractor", self.threads), lambda: Extractor(threads=self.threads))

    def model(self, part: str, name: str, make: Callable[[str], T]) -> T:
        """A model in NumPy: the shipped one ("default") or a folder; a folder that was written anew is read anew."""
        stamp = 0 if name == "default" else _stamp(Path(name) / "meta.json")
        return self.once((part, name, stamp), lambda: make(name))

    @cached_property
    def folder(self) -> Path:
        """Where converted files (word vectors) are kept: beside the cache, or in a place that goes with the process."""
        if self.cache.folder is None:
            from tempfile import TemporaryDirectory

            self._temporary = TemporaryDirectory(prefix="vericap-")
            return Path(self._temporary.name)
        return self.cache.folder

    # --- progress -----------------------------------------------------------------------------------------------

    def bar(self, what: str, total: int, unit: str = "it") -> Bar:
        """A progress bar, shown where the run shows any."""
        return Bar(what=what, total=total, show=self.progress, unit=unit)


def forget() -> None:
    """Close everything this process has opened: what is used next is opened anew."""
    with _lock:
        _opened.clear()
        _runtimes.clear()


def _stamp(file: Path) -> int:
    return file.stat().st_mtime_ns if file.is_file() else 0
