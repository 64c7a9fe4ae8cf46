"""Which judgement data sets there are, where each comes from, and how its files must lie."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from vericap.core.errors import MissingPart, UnknownName
from vericap.core.table import Table
from vericap.meta.judgements import Judgements


@dataclass(frozen=True)
class Entry:
    """A data set: its reader, its home, its layout and size."""

    name: str
    title: str
    reader: str
    folders: tuple[str, ...]
    files: tuple[str, ...]  # one of these must be there
    source: str
    citation: str
    layout: str
    size: str
    lang: str = "en"

    def locate(self, data: Path) -> Path | None:
        """The folder that holds the data set, or None."""
        for folder in [data / name for name in self.folders] + [data]:
            if any((folder / name).is_file() for name in self.files):
                return folder
        return None

    def missing(self, data: Path) -> MissingPart:
        return MissingPart(
            f"data set '{self.name}' ({self.title}) is not in {data}\n"
            f"  source:  {self.source}\n"
            f"  cite:    {self.citation}\n"
            f"  size:    {self.size}\n"
            f"  layout:  {self.layout}\n"
            f"  put it in {data / self.folders[0]}, or name another folder with `data_folder=DIR` or VERICAP_DATA"
        )


_READERS = "vericap.meta.datasets"
_COCO = "COCO captions_val2014.json in the same folder or in ../coco"

ENTRIES = (
    Entry(
        "flickr8k-expert",
        "Flickr8k-Expert",
        f"{_READERS}.flickr8k:read_expert",
        ("flickr8k", "Flickr8k_text"),
        ("ExpertAnnotations.txt",),
        "https://hockenmaier.cs.illinois.edu/DenotationGraph/ (Flickr8k_text.zip, request form)",
        "Hodosh, Young, Hockenmaier 2013, JAIR 47",
        "ExpertAnnotations.txt (image, caption id, three ratings 1-4), Flickr8k.token.txt, Images/",
        "5,822 pairs x 3 experts; text 4 MB, photos 1 GB",
    ),
    Entry(
        "flickr8k-cf",
        "Flickr8k-CF",
        f"{_READERS}.flickr8k:read_crowd",
        ("flickr8k", "Flickr8k_text"),
        ("CrowdFlowerAnnotations.txt",),
        "https://hockenmaier.cs.illinois.edu/DenotationGraph/ (Flickr8k_text.zip, request form)",
        "Hodosh, Young, Hockenmaier 2013, JAIR 47",
        "CrowdFlowerAnnotations.txt (image, caption id, share of yes, yes, no), Flickr8k.token.txt, Images/",
        "47,830 pairs; text 6 MB, photos 1 GB",
    ),
    Entry(
        "pascal50s",
        "PASCAL-50S",
        f"{_READERS}.pascal50s:read",
        ("pascal50s", "pascal", "pyCIDErConsensus"),
        ("pairs.jsonl", "pair_pascal.mat", "pyCIDErConsensus/pair_pascal.mat"),
        "https://filebox.ece.vt.edu/~vrama91/CIDEr_miscellanous/cider_datasets.tar",
        "Vedantam, Zitnick, Parikh 2015, CVPR",
        "pair_pascal.mat + consensus_pascal.mat, or pairs.jsonl (image, group, captions, consensus48, "
        "votes11) "
        "+ references.json; photos in images/ or JPEGImages/",
        "4,000 pairs on 1,000 images, 48 or 11 votes each; 40 MB",
    ),
    Entry(
        "composite",
        "Composite",
        f"{_READERS}.composite:read",
        ("composite", "AMT_eval"),
        ("8k_correctness.csv", "30k_correctness.csv", "coco_correctness.csv"),
        "https://imagesdg.wordpress.com/image-to-scene-description-graph/ (AMT_eval)",
        "Aditya, Yang, Baral, Aloimonos, Fermüller 2018, CVIU",
        "{8k,30k,coco}_correctness.csv and ..._throughness.csv (semicolons; Input.image_url, Input.textN, "
        "Answer.QNAnswer), Flickr8k.token.txt, results_20130124.token, captions_val2014.json",
        "about 12,000 rated captions; 3 MB and the captions of the three image sets",
    ),
    Entry(
        "publicsys",
        "PublicSys",
        f"{_READERS}.publicsys:read",
        ("publicsys", "Hallucination/data"),
        ("imageIDs.txt", "human_scores/imageIDs.txt"),
        "https://github.com/LisaAnne/Hallucination (data/human_scores; setup.sh brings generated_sentences)",
        "Rohrbach, Hendricks, Burns, Darrell, Saenko 2018, EMNLP",
        f"human_scores/imageIDs.txt, human_scores/0*.txt (five systems), generated_sentences/*.json, {_COCO}",
        "2,500 captions of five systems on 500 COCO images; under 100 MB",
    ),
    Entry(
        "thumb",
        "THumB 1.0",
        f"{_READERS}.thumb:read",
        ("thumb", "THumB"),
        ("mscoco_THumB-1.0.jsonl", "mscoco/mscoco_THumB-1.0.jsonl"),
        "https://github.com/jungokasai/THumB (mscoco/)",
        "Kasai, Sakaguchi, Dunagan, Morrison, Le Bras, Choi, Smith 2022, NAACL",
        "mscoco_THumB-1.0.jsonl (seg_id, SYS, hyp, image, P, R, Fl, Con, Inc, human_score), "
        "mscoco_references.json (JSON lines: seg_id, refs)",
        "2,500 captions of four systems and people on 500 COCO images; 1 MB",
    ),
    Entry(
        "polaris",
        "Polaris",
        f"{_READERS}.polaris:read_polaris",
        ("polaris",),
        ("polaris_test.csv", "polaris.csv"),
        "https://huggingface.co/datasets/yuwd/Polaris",
        "Wada, Kaneda, Saito, Sugiura 2024, CVPR (Polos)",
        "polaris_test.csv (imgid, mt, refs, score 0-1), images/",
        "131,020 judgements in all; the test part 26,123 captions, 12 MB and photos",
    ),
    Entry(
        "nebula",
        "Nebula",
        f"{_READERS}.polaris:read_nebula",
        ("nebula",),
        ("nebula_test.csv", "nebula.csv"),
        "https://huggingface.co/datasets/Ka2ukiMatsuda/Nebula",
        "Matsuda, Wada, Sugiura 2024, ACCV (DENEB)",
        "nebula_test.csv (imgid, mt, refs, score or human_score 0-1), images/",
        "32,978 images with judgements of 805 annotators in all; text under 50 MB",
    ),
    Entry(
        "foil",
        "FOIL",
        f"{_READERS}.foil:read",
        ("foil", "FOIL-IT"),
        ("foilv1.0_test_2017.json", "foil.json"),
        "https://foilunitn.github.io (foilv1.0_test_2017.json)",
        "Shekhar, Pezzelle, Klimovich, Herbelot, Nabi, Sangineto, Bernardi 2017, ACL",
        f"foilv1.0_test_2017.json, {_COCO}",
        "about 99,000 pairs; 60 MB and COCO's captions",
    ),
    Entry(
        "nocaps",
        "nocaps (retrieval)",
        f"{_READERS}.nocaps:read",
        ("nocaps",),
        ("nocaps_val_4500_captions.json", "nocaps_val.json"),
        "https://nocaps.org/download",
        "Agrawal, Desai, Wang, Chen, Jain, Johnson, Batra, Parikh, Lee, Anderson 2019, ICCV",
        "nocaps_val_4500_captions.json (COCO caption format, images with domain), images/",
        "4,500 images, 45,000 captions; text 7 MB, photos 1.5 GB",
    ),
    Entry(
        "flickr8k-dev",
        "Flickr8k development images (retrieval)",
        f"{_READERS}.nocaps:read_flickr8k_split",
        ("flickr8k", "Flickr8k_text"),
        ("Flickr_8k.devImages.txt",),
        "https://hockenmaier.cs.illinois.edu/DenotationGraph/ (Flickr8k_text.zip, request form)",
        "Hodosh, Young, Hockenmaier 2013, JAIR 47",
        "Flickr_8k.devImages.txt, Flickr8k.token.txt, Images/",
        "1,000 images, 5,000 captions",
    ),
    Entry(
        "human-machine",
        "human vs machine pairs",
        f"{_READERS}.systems:read_human_machine",
        ("human-machine", "coco"),
        ("hm_pairs.jsonl", "karpathy_test_references.json"),
        "made from COCO's Karpathy test split: the first human caption is held out; or your own pairs",
        "Wang, Yao, Wang, Wu, Chen 2021, CVPR (FAIEr, Table 2)",
        "hm_pairs.jsonl (image, human, machine, references), or karpathy_test_references.json and "
        "karpathy_test_<system>.json (COCO results)",
        "5,000 images per system",
    ),
    Entry(
        "karpathy-test",
        "systems on COCO's Karpathy test split",
        f"{_READERS}.systems:read_karpathy",
        ("coco", "karpathy"),
        ("karpathy_test_references.json",),
        "https://cs.stanford.edu/people/karpathy/deepimagesent/ (split) and the outputs of the systems",
        "Karpathy, Fei-Fei 2015, CVPR",
        "karpathy_test_references.json ({image id: captions}), karpathy_test_<system>.json (COCO results)",
        "5,000 images per system",
    ),
    Entry(
        "shichimi",
        "Shichimi",
        f"{_READERS}.polaris:read_shichimi",
        ("shichimi",),
        ("shichimi.csv", "shichimi_test.csv"),
        "https://github.com/keio-smilab23/JaSPICE (ask the authors; no archive or layout is published)",
        "Wada, Kaneda, Sugiura 2023, CoNLL (JaSPICE)",
        "shichimi.csv, the authors' Polaris columns, a line per rating: imgid, mt, refs, score 1-5, "
        "and where known model, worker, seconds",
        "103,170 ratings of captions of STAIR Captions images",
        lang="ja",
    ),
    Entry(
        "pfn-pic",
        "PFN-PIC ratings",
        f"{_READERS}.polaris:read_pfn_pic",
        ("pfn-pic", "pfn_pic"),
        ("pfn_pic.csv", "pfn-pic.csv"),
        "https://github.com/keio-smilab23/JaSPICE (ask the authors), https://github.com/pfnet-research/picking-instruction",
        "Wada, Kaneda, Sugiura 2023, CoNLL (JaSPICE); Hatori et al. 2018, ICRA",
        "pfn_pic.csv: imgid, mt, refs, score 1-5, and where known model, worker, seconds",
        "fetching instructions for objects in 1,180 photos, rated by people",
        lang="ja",
    ),
    Entry(
        "jsts",
        "JSTS (JGLUE), validation part",
        f"{_READERS}.japanese:read_jsts",
        ("japanese", "jsts", "jsts-v1.1", "jsts-v1.3"),
        ("jsts_valid.jsonl", "valid-v1.1.json", "valid-v1.3.json"),
        "https://github.com/yahoojapan/JGLUE (datasets/jsts)",
        "Kurihara, Kawahara, Shibata 2022, LREC",
        "jsts_valid.jsonl (sentence_pair_id, yjcaptions_id, sentence1, sentence2, label 0-5)",
        "1,457 sentence pairs; 0.4 MB",
        lang="ja",
    ),
    Entry(
        "jsts-train",
        "JSTS (JGLUE), training part",
        f"{_READERS}.japanese:read_jsts_train",
        ("japanese", "jsts", "jsts-v1.1", "jsts-v1.3"),
        ("jsts_train.jsonl", "jsts_train.jsonl.gz", "train-v1.1.json", "train-v1.3.json"),
        "https://github.com/yahoojapan/JGLUE (datasets/jsts)",
        "Kurihara, Kawahara, Shibata 2022, LREC",
        "jsts_train.jsonl or .gz, as the validation part",
        "12,451 sentence pairs; 3 MB",
        lang="ja",
    ),
    Entry(
        "jsick",
        "JSICK, test part",
        f"{_READERS}.japanese:read_jsick",
        ("jsick", "japanese"),
        ("jsick.tsv", "jsick/jsick.tsv"),
        "https://github.com/verypluming/JSICK",
        "Yanaka, Mineshima 2022, TACL 10",
        "jsick.tsv (data, pair_ID, sentence_A_Ja, sentence_B_Ja, relatedness_score_Ja 1-5)",
        "9,927 sentence pairs, 4,927 in the test part; 3 MB",
        lang="ja",
    ),
)

DATASETS = {entry.name: entry for entry in ENTRIES}


def data_folder(given: str | Path | None = None) -> Path:
    """Where data lies: the given folder, else $VERICAP_DATA, else ./data."""
    return Path(given or os.environ.get("VERICAP_DATA") or "data")


def entry_of(name: str) -> Entry:
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=2, cutoff=0.4)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UnknownName(
            f"no data set is called '{name}'{hint} (there are: {', '.join(DATASETS)}; "
            "a file of your own is given by its path, .jsonl or .csv)"
        )
    return DATASETS[name]


def load(name: str, data: str | Path | None = None, *, scale: tuple[float, float] | None = None) -> Judgements:
    """A known data set by name, or a file of one's own by path."""
    if name not in DATASETS and (name.endswith((".jsonl", ".csv", ".tsv", ".gz")) or Path(name).is_file()):
        from vericap.meta.datasets.plain import read

        return read(Path(name), scale=scale)
    entry, root = entry_of(name), data_folder(data)
    folder = entry.locate(root)
    if folder is None:
        raise entry.missing(root)
    module, function = entry.reader.split(":")
    found: Judgements = getattr(import_module(module), function)(folder)
    return found


def installed(data: str | Path | None = None) -> list[str]:
    """Names of the data sets that are there."""
    root = data_folder(data)
    return [entry.name for entry in ENTRIES if entry.locate(root) is not None]


def listing(data: str | Path | None = None) -> Table:
    """All known data sets: which are here, how large they are, where they come from."""
    root = data_folder(data)
    table = Table(["data set", "here", "size", "source"], title=f"judgement data sets ({root})")
    for entry in ENTRIES:
        table.add(entry.name, entry.locate(root) is not None, entry.size, entry.source)
    return table
