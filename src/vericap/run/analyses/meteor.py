"""What METEOR's matchers look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from vericap.core.analysis import Analysis, Key
from vericap.core.batch import Batch
from vericap.core.settings import Settings
from vericap.run.analyses.tokens import Tokens
from vericap.text.meteor_features import MATCHERS, MeteorTable


@dataclass(frozen=True)
class MeteorTexts(Analysis[MeteorTable]):
    """All texts as METEOR reads them: words, stems, synonyms, and phrases of its paraphrase table."""

    matchers: tuple[str, ...] = MATCHERS
    tokenizer: str = "ptb"
    english: bool = True
    cost: ClassVar[int] = 500

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Tokens(self.tokenizer),)

    def compute(self, batch: Batch, runtime: Any) -> MeteorTable:
        return MeteorTable.of(batch[Tokens(self.tokenizer)], self.matchers, english=self.english)
