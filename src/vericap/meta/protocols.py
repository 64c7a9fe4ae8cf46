"""Protocols: everything besides the metric that moves an agreement number, under one name.

Numbers of different protocols are not comparable: averaging the three experts of Flickr8k instead of
keeping them apart moves CIDEr-D by 1.5 points. A result carries its protocol's name.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from vericap.core.errors import UnknownName, VericapError
from vericap.core.table import Table

# Statistics of statements that are true or false, in words.
DECISIONS = {
    "auc": "area under the ROC curve, true against false",
    "threshold-accuracy": "accuracy, true against false, with the threshold that suits the other half of the images",
}
# What is judged where it is not a whole caption.
JUDGED_PARTS = {
    "word": "content words, wrong against right, by the support that a metric's reasons give them; and sentences, "
    "each scored as a caption of its own",
    "graph": "tuples of the parser against those of people, words compared by their base forms",
}


@dataclass(frozen=True)
class Protocol:
    """How judgements become rows, which references a caption gets, and which statistic is taken."""

    name: str
    statistic: str  # pearson, spearman, tau-b, tau-c; accuracy of pairs; auc, threshold-accuracy of true and false
    raters: str = "flat"  # flat: a row per rating; mean, median: a row per caption
    aspect: str = "rating"
    label: str = ""  # pairs: which preference
    level: str = "caption"  # caption, image (mean over images), system (over system means), word, graph
    drop_own: bool = False  # leave out captions that are among the image's references
    remove: str = ""  # from the references: "candidate", or "judged" (any judged for the image)
    references: int | None = None  # None: all; n: drawn at random
    fixed: bool = False  # the references the data set chose
    runs: int = 1
    tie: float = 0.5  # credit for equal scores of a pair
    grouped: bool = True  # pairs: the mean over groups where there are some; else every pair counts alike
    symmetric: bool = False  # mean of both directions (sentence pairs)
    minimum_seconds: float = 0.0  # faster answers are left out
    drop_constant_raters: bool = False  # raters who always gave the same answer
    sentence_share: float = 0.0  # a sentence is wrong where more than this share of its content words is
    note: str = ""

    def changed(
        self, *, references: int | None = None, runs: int | None = None, all_references: bool = False
    ) -> Protocol:
        """The protocol with another number of references; the name says so."""
        if references is None and runs is None and not all_references:
            return self
        count = None if all_references else self.references if references is None else references
        # 0 references leave nothing to draw, so one run is enough; so do all of them.
        new = self.runs if runs is None else runs
        if count is None or count == 0:
            new = 1
        if count == self.references and new == self.runs:
            return self
        shown = "all references" if count is None else f"{count} reference{'s' * (count != 1)}"
        base = self.name.split("[")[0]
        suffix = f"[{shown}, {new} run{'s' * (new != 1)}]"
        return replace(self, name=base + suffix, references=count, runs=new, fixed=False)

    def describe(self) -> str:
        """The choices in words."""
        parts = [self.note] if self.note else []
        if self.statistic == "accuracy":
            parts.append(f"pairwise accuracy against `{self.label}`, equal scores count {self.tie:g}")
        elif self.level in JUDGED_PARTS:
            parts.append(JUDGED_PARTS[self.level])
            if self.level == "word":
                share = f"more than {100 * self.sentence_share:g} %" if self.sentence_share else "any"
                parts.append(f"a sentence is wrong where {share} of its content words are")
        elif self.statistic in DECISIONS:
            parts.append(DECISIONS[self.statistic])
        else:
            parts.append({"flat": "ratings kept apart", "mean": "mean rating", "median": "median rating"}[self.raters])
            parts.append({"tau-b": "Kendall tau-b", "tau-c": "Kendall tau-c"}.get(self.statistic, self.statistic))
        if self.level in ("image", "system"):
            parts.append({"image": "per image, then averaged", "system": "over system means"}[self.level])
        if self.drop_own:
            parts.append("captions of the image itself left out")
        if self.remove:
            parts.append(
                {
                    "candidate": "the judged caption taken out of its references",
                    "judged": "judged captions of the image taken out of its references",
                }[self.remove]
            )
        if self.level != "graph":
            parts.append(self._references())
        if self.symmetric:
            parts.append("mean of both directions")
        return "; ".join(parts)

    def _references(self) -> str:
        if self.fixed:
            return "the data set's own references"
        if self.references is None:
            return "all references"
        if self.references == 0:
            return "no references"
        count = f"{self.references} random reference{'s' * (self.references != 1)}"
        return f"{count}, {self.runs} runs" if self.runs > 1 else count


def _family(dataset: str, statistics: tuple[str, ...], **options: object) -> list[Protocol]:
    return [Protocol(name=f"{dataset}/{s}", statistic=s, **options) for s in statistics]  # type: ignore[arg-type]


def _faier(dataset: str, **options: object) -> list[Protocol]:
    """How FAIEr's Tables 1 and 4 were made: one random reference, five runs, the mean rating.

    The paper names Pearson, Spearman and Kendall and leaves out the 158 own captions of Flickr8k; which tau and what
    becomes of several raters was found by trying: `vericap reproduce faier-protocol`.
    """
    names = {"faier-1": "tau-b", "faier-1-spearman": "spearman", "faier-1-pearson": "pearson"}
    shared = {"raters": "mean", "references": 1, "runs": 5, **options}
    return [Protocol(f"{dataset}/{name}", statistic, **shared) for name, statistic in names.items()]  # type: ignore[arg-type]


_RANKS = ("tau-c", "tau-b", "spearman", "pearson")

# The first protocol of a data set is its default.
PROTOCOLS: dict[str, list[Protocol]] = {
    "flickr8k-expert": [
        Protocol("flickr8k-expert/published", "tau-c", drop_own=True),
        Protocol("flickr8k-expert/published-tau-b", "tau-b", drop_own=True),
        Protocol("flickr8k-expert/mean-tau-c", "tau-c", raters="mean", drop_own=True),
        Protocol("flickr8k-expert/mean-spearman", "spearman", raters="mean", drop_own=True),
        Protocol("flickr8k-expert/mean-pearson", "pearson", raters="mean", drop_own=True),
        *_faier("flickr8k-expert", drop_own=True),
        Protocol("flickr8k-expert/all-pairs", "tau-c", remove="candidate"),
    ],
    "flickr8k-cf": [
        Protocol("flickr8k-cf/published", "tau-b", remove="judged", note="share of yes"),
        Protocol("flickr8k-cf/tau-c", "tau-c", remove="judged", note="share of yes"),
        Protocol("flickr8k-cf/remove-candidate", "tau-b", remove="candidate", note="share of yes"),
        Protocol("flickr8k-cf/drop-own", "tau-b", drop_own=True, note="share of yes"),
    ],
    "pascal50s": [
        Protocol("pascal50s/consensus48", "accuracy", label="consensus48", references=5, runs=5),
        Protocol("pascal50s/votes11", "accuracy", label="votes11", references=5, runs=5),
        Protocol("pascal50s/consensus48-fixed", "accuracy", label="consensus48", fixed=True),
        Protocol("pascal50s/votes11-fixed", "accuracy", label="votes11", fixed=True),
    ],
    "composite": [
        Protocol("composite/published", "tau-c", remove="candidate", note="correctness"),
        Protocol("composite/thoroughness", "tau-c", aspect="thoroughness", remove="candidate"),
        Protocol("composite/mean-spearman", "spearman", raters="mean", remove="candidate"),
        *_faier("composite", note="correctness"),
        Protocol("composite/machine", "spearman", raters="mean", drop_own=True, note="correctness"),
        Protocol("composite/machine-thoroughness", "spearman", raters="mean", drop_own=True, aspect="thoroughness"),
    ],
    "publicsys": [
        Protocol("publicsys/spearman", "spearman"),
        Protocol("publicsys/pearson", "pearson"),
        Protocol("publicsys/tau-b", "tau-b"),
        Protocol("publicsys/tau-c", "tau-c"),
        Protocol("publicsys/image", "pearson", level="image"),
        Protocol("publicsys/system", "pearson", level="system"),
    ],
    "thumb": [
        Protocol("thumb/total", "pearson", note="total score"),
        *(
            Protocol(f"thumb/{aspect}", "pearson", aspect=aspect, note=aspect)
            for aspect in ("precision", "recall", "fluency", "conciseness", "inclusive")
        ),
        Protocol("thumb/total-tau-c", "tau-c", note="total score"),
        Protocol("thumb/system", "pearson", level="system", note="total score"),
    ],
    "polaris": _family("polaris", _RANKS),
    "nebula": _family("nebula", _RANKS),
    "foil": [
        Protocol("foil/4-references", "accuracy", label="original", references=4, remove="candidate"),
        Protocol("foil/1-reference", "accuracy", label="original", references=1, remove="candidate"),
    ],
    "human-machine": [
        Protocol("human-machine/4-references", "accuracy", label="human", note="the human caption should win"),
    ],
    "shichimi": [
        Protocol(f"shichimi/{s}", s, raters="mean", minimum_seconds=1.0, drop_constant_raters=True)
        for s in ("pearson", "spearman", "tau-b")
    ],
    "pfn-pic": [
        Protocol(f"pfn-pic/{s}", s, raters="mean", minimum_seconds=1.0, drop_constant_raters=True)
        for s in ("pearson", "spearman", "tau-b")
    ],
    **{
        name: _family(name, ("pearson", "spearman", "tau-b"), symmetric=True)
        for name in ("jsts", "jsts-train", "jsick")
    },
}
PROTOCOLS.update(
    {
        "longcap-arena": [
            *(
                Protocol(f"longcap-arena/{aspect}", "tau-c", aspect=aspect, note=aspect)
                for aspect in ("descriptiveness", "relevance", "fluency")
            ),
            Protocol("longcap-arena/mean", "tau-c", note="mean of the three"),
            Protocol("longcap-arena/descriptiveness-tau-b", "tau-b", aspect="descriptiveness", note="descriptiveness"),
        ],
        "cxc-sits": [
            *(Protocol(f"cxc-sits/{s}", s, remove="candidate") for s in ("spearman", "pearson", "tau-c")),
            Protocol("cxc-sits/foreign", "spearman", drop_own=True),
            Protocol("cxc-sits/no-references", "spearman", references=0),
        ],
        "cxc-sts": _family("cxc-sts", ("spearman", "pearson", "tau-b"), symmetric=True),
        "vsr": [
            Protocol("vsr/auc", "auc"),
            Protocol("vsr/accuracy", "threshold-accuracy"),
            Protocol("vsr/no-references", "auc", references=0),
        ],
        "faithscore": [
            Protocol("faithscore/facts", "auc", note="single facts"),
            Protocol("faithscore/accuracy", "threshold-accuracy", note="single facts"),
            Protocol("faithscore/no-references", "auc", references=0, note="single facts"),
        ],
        "hat": [
            Protocol("hat/words", "auc", level="word"),
            Protocol("hat/no-references", "auc", level="word", references=0),
        ],
        "mhal": [
            Protocol("mhal/words", "auc", level="word", references=0, sentence_share=0.5),
            Protocol("mhal/any-word", "auc", level="word", references=0),
            Protocol("mhal/coco-references", "auc", level="word", sentence_share=0.5),
        ],
        "detailverify": [
            Protocol("detailverify/words", "auc", level="word", references=0),
            Protocol("detailverify/corrected-reference", "auc", level="word", note="the corrected text as reference"),
        ],
        "caparena": [
            Protocol("caparena/battles", "accuracy", label="winner", grouped=False, note="no battle with a person"),
            Protocol(
                "caparena/levels", "accuracy", label="winner", note="no battle with a person; mean of four levels"
            ),
        ],
        "imageinwords": [
            Protocol(f"imageinwords/{aspect}", "accuracy", label=aspect, references=0, grouped=False)
            for aspect in ("comprehensiveness", "specificity", "hallucination", "human-likeness", "opening")
        ],
        "factual": [Protocol("factual/tuples", "f1", level="graph")],
    }
)
PROTOCOLS["shichimi"].append(Protocol("shichimi/system", "pearson", level="system"))

PLAIN_RATINGS = [
    *_family("ratings", _RANKS),
    *(Protocol(f"ratings/mean-{s}", s, raters="mean") for s in _RANKS),
    *(Protocol(f"ratings/median-{s}", s, raters="median") for s in _RANKS),
    *(Protocol(f"ratings/filtered-{s}", s, minimum_seconds=1.0, drop_constant_raters=True) for s in _RANKS),
    Protocol("ratings/system", "pearson", level="system"),
    Protocol("ratings/image", "pearson", level="image"),
]
PLAIN_SPANS = [
    Protocol("spans/words", "auc", level="word"),
    Protocol("spans/no-references", "auc", level="word", references=0),
]
PLAIN_PAIRS = [Protocol("pairs/accuracy", "accuracy", label="preference")]
# Ratings collected with `vericap annotate`: the mean of the questions, then each question.
CAMPAIGN = [
    Protocol("campaign/rating", "tau-c", note="mean of the questions"),
    *(Protocol(f"campaign/{name}", "tau-c", aspect=name, note=name) for name in ("fidelity", "adequacy", "fluency")),
    *(
        Protocol(
            f"campaign/{name}-filtered",
            "tau-c",
            aspect=name,
            minimum_seconds=1.0,
            drop_constant_raters=True,
            note=f"{name}, without answers below a second and raters who never varied",
        )
        for name in ("rating", "fidelity", "adequacy", "fluency")
    ),
    Protocol("campaign/mean-spearman", "spearman", raters="mean", note="mean of the questions"),
    Protocol("campaign/system", "pearson", level="system", note="mean of the questions"),
]


def protocols_of(dataset: str, *, pairs: bool = False, spans: bool = False) -> list[Protocol]:
    """The protocols of a known data set, or the general ones of a campaign or of a user's file."""
    if dataset == "campaign":
        return CAMPAIGN
    return PROTOCOLS.get(dataset) or (PLAIN_PAIRS if pairs else PLAIN_SPANS if spans else PLAIN_RATINGS)


def protocol_of(dataset: str, name: str | None = None, *, pairs: bool = False, spans: bool = False) -> Protocol:
    """A protocol by name (`published` or `flickr8k-expert/published`); the first one without a name."""
    known = protocols_of(dataset, pairs=pairs, spans=spans)
    if name is None:
        return known[0]
    for protocol in known:
        if name in (protocol.name, protocol.name.partition("/")[2]):
            return protocol
    short = [protocol.name.partition("/")[2] for protocol in known]
    near = difflib.get_close_matches(name, short, n=1, cutoff=0.4)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise UnknownName(f"data set '{dataset}' has no protocol '{name}'{hint} (it has: {', '.join(short)})")


def check_same(one: Protocol, two: Protocol) -> None:
    """Refuse to compare numbers that were made in different ways."""
    if one.name != two.name:
        raise VericapError(
            f"numbers of protocol '{one.name}' and '{two.name}' are not comparable: {one.describe()} / {two.describe()}"
        )


def protocol_table(dataset: str, *, pairs: bool = False, spans: bool = False) -> Table:
    """The protocols of a data set and what each does."""
    table = Table(["protocol", "what it does"], title=f"protocols of {dataset}, the default first")
    for protocol in protocols_of(dataset, pairs=pairs, spans=spans):
        table.add(protocol.name, protocol.describe())
    return table
