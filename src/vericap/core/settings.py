"""What a run was asked for: the one place of its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

from vericap.core.errors import VericapError
from vericap.core.languages import LANGUAGES, tokenizer_of

OFF = "off"  # `cache="off"`: nothing is kept on disk
_PATHS = ("images", "features", "cache")
_OF_CALLS = ("metrics", "references", "predictions", "image_names", "ids", "confidence", "explain")  # not settings
_WORK = ("workers", "threads", "progress", "cache", "device")  # settings that move no score


@dataclass(frozen=True)
class Settings:
    """Choices that all metrics of a run share.

    Parameters
    ----------
    lang : str
        Language of the captions, a code of ISO 639-1.
    tokenizer : str
        "ptb", "sudachi", "intl", "char", "zh" or "none"; empty: the language's own.
    df : str
        Where CIDEr's document frequencies come from: "corpus", "coco-val" or a file.
    images : path
        Folder of the images that samples name.
    objects : str
        Where the objects of an image come from: "detector", a file, or several joined by "+".
    features : path
        Feature store to read regions from instead of the images.
    parser : str
        An installed spaCy pipeline for English scene graphs; empty: the shipped one.
    workers : int
        Processes. A script that asks for more than one needs its `if __name__ == "__main__":`.
    threads : int
        Threads of each network; 0: as many as `workers`.
    device : str
        Of networks: cpu, cuda, directml, coreml, auto; empty: the processor, or what $VERICAP_PROVIDERS says.
    seed : int
        Of bootstrap draws.
    cache : path or str
        Folder where slow analyses are kept; "off" keeps nothing; None is the user's cache folder.
    progress : bool
        Whether to show progress bars.

    Examples
    --------
    >>> import vericap
    >>> vericap.Settings(lang="ja").tokenizer
    'sudachi'
    """

    lang: str = "en"
    tokenizer: str = ""
    df: str = "corpus"
    images: Path | None = None
    objects: str = "detector"
    features: Path | None = None
    parser: str = ""
    workers: int = 1
    threads: int = 0
    device: str = ""
    seed: int = 0
    cache: Path | str | None = None
    progress: bool = False

    def choices(self) -> dict[str, str]:
        """The settings that may move a score, as plain data: a run is resumed only where they agree.

        Returns
        -------
        dict
            Text by name of the setting.

        Examples
        --------
        >>> import vericap
        >>> vericap.Settings(workers=2).choices() == vericap.Settings().choices()
        True
        >>> vericap.Settings(lang="ja").choices()["tokenizer"]
        'sudachi'
        """
        return {name: str(value) for name, value in asdict(self).items() if name not in _WORK}

    def __post_init__(self) -> None:
        if self.lang not in LANGUAGES:
            raise VericapError(
                f"`lang={self.lang}` is no language; give its code of two letters (ISO 639-1): en, ja, zh, de, ..."
            )
        if not self.tokenizer:
            object.__setattr__(self, "tokenizer", tokenizer_of(self.lang))
        for name in _PATHS:
            value = getattr(self, name)
            if not isinstance(value, str | PathLike | None):
                raise VericapError(f"`{name}` is a {type(value).__name__}, not the path of a folder or a file")
            if isinstance(value, str) and value != OFF:
                object.__setattr__(self, name, Path(value))
        for name in ("workers", "threads"):
            value = getattr(self, name)
            least = 1 if name == "workers" else 0
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise VericapError(f"`{name}={value}` is not a whole number from {least} on")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings from keyword arguments; an unknown one is named.

        Parameters
        ----------
        options : dict
            Settings by name.

        Returns
        -------
        Settings

        Examples
        --------
        >>> import vericap
        >>> vericap.Settings.of({"lang": "ja"}).lang
        'ja'
        """
        unknown = sorted(set(options) - set(cls.__dataclass_fields__))
        if unknown:
            known = sorted(cls.__dataclass_fields__)
            near = get_close_matches(unknown[0], [*known, *_OF_CALLS], n=1)
            meant = f"did you mean {near[0]}? The settings" if near else "the settings"
            raise VericapError(f"unknown option {', '.join(unknown)}; {meant} are: {', '.join(known)}")
        return cls(**options)

    @property
    def shows_images(self) -> bool:
        """Whether images are at hand: then a sample without one is taken to be named by its id.

        Examples
        --------
        >>> import vericap
        >>> vericap.Settings().shows_images, vericap.Settings(images="photos/").shows_images
        (False, True)
        """
        return self.images is not None or self.features is not None
