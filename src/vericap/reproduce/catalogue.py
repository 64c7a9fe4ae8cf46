"""Which experiments there are, how each is made, and what is not as in its paper."""

from __future__ import annotations

import difflib

from vericap.core.errors import UnknownName
from vericap.core.table import Table
from vericap.meta.catalogue import installed
from vericap.reproduce.experiment import Choices, Experiment, Outcome

_NETWORK = "regions, scene-graph parser and length of training are ours, the equations the paper's"
_SCAN = "SCAN over our regions instead of bottom-up ones"
_PAIRS = "the pairs that are at hand instead of all 4,000"
_OBJECTS = "word vectors are those of our caption encoder instead of word2vec"
_SEEN = "the paper's detector knows 500 classes, ours 80, the visual words some thousands"
_LM = "the language model is a 4-gram (`lm`; a recurrent one, as in the paper, where `lm:model=rnn` is installed)"
_JUMAN = "GiNZA and rules of ours instead of Juman++ and KNP"
_UNKNOWN = "its content is not known to us"
_FAIER_1 = "one random reference, five runs, mean rating; Pearson, Spearman, tau-b; own captions of Flickr8k left out"

EXPERIMENTS = (
    Experiment(
        "faier-table-1", "FAIEr beside other metrics, ratings of Flickr8k and Composite", "faier_agreement:table_1",
        ("flickr8k-expert", "composite"), _FAIER_1,
        f"{_NETWORK}; tau-b and the mean rating are found by `faier-protocol`.",
    ),
    Experiment(
        "faier-table-2", "people against machines", "faier_pairs:table_2", ("human-machine",),
        "one human caption held out, the other four are references; share in which it scores above the machine's.",
        f"{_NETWORK}; four systems of today on the Karpathy test split instead of HM-MSCOCO, which is not published.",
    ),
    Experiment(
        "faier-table-3", "PASCAL-50S by group", "faier_pairs:table_3", ("pascal50s",),
        "five random references, mean and deviation of the runs; majority of 11 votes, and of 48 beside it.",
        f"{_NETWORK}; {_PAIRS}; where no model trained on four references is named, the one of 0 to 4 stands in.",
    ),
    Experiment(
        "faier-table-4", "variants of FAIEr", "faier_agreement:table_4", ("flickr8k-expert", "composite"), _FAIER_1,
        f"{_NETWORK}; variants are models of your own training (`vericap train faier --variant ...`).",
    ),
    Experiment(
        "faier-table-5", "words that name a region's object against other words", "faier_grounding:table_5",
        ("coco", "coco-entities"),
        "regions of photos outside training with words of 1 to 4 references, union nodes with words of the candidate.",
        f"{_NETWORK}; scores of another network are on another scale: compare the gaps.",
    ),
    Experiment(
        "faier-table-6", "retrieval with four references", "faier_retrieval:table_6", ("nocaps", "flickr8k-dev"),
        "four captions of an image stay with it as references; the others are to be found, and images for them.",
        f"{_NETWORK}; Flickr8k stands beside nocaps.",
    ),
    Experiment(
        "faier-figure-4", "agreement by number of references", "faier_agreement:figure_4",
        ("flickr8k-expert", "composite"), f"Spearman with 0 to 5 references, else as Table 1: {_FAIER_1}",
        f"{_NETWORK}; the curves of -1 and -4 need models of your own training.", figure=True,
    ),
    Experiment(
        "faier-figure-5", "four candidates of a photo", "faier_examples:figure_5", (),
        "the paper's own example by metrics that need no photo; six photos of the demo by all.",
        "other photos; candidates were written before any metric had seen them.", figure=True,
    ),
    Experiment(
        "faier-figure-6", "regions matched with references and candidates", "faier_examples:figure_6", (),
        "W_a (v_i * h_jk) for references, z_i . h_ck for candidates, at object level.",
        f"another photo; {_NETWORK}.", figure=True,
    ),
    Experiment(
        "faier-range", "the range of FAIEr's scores (section 4.2)", "faier_pairs:score_range",
        ("flickr8k-expert", "pascal50s", "composite"), "scores of all captions with 0, 1 and 5 references.",
        f"{_NETWORK}.", figure=True,
    ),
    Experiment(
        "faier-protocol", "which protocol made FAIEr's Table 1", "faier_protocol:search", ("flickr8k-expert",),
        "all ways to read what the paper leaves open, by their distance to its numbers for six classic metrics.",
        "SPICE by another parser.",
    ),
    Experiment(
        "reo-table-1", "REO beside other metrics", "reo:table_1",
        ("composite", "publicsys", "pascal50s", "flickr8k-expert"),
        "Kendall's tau-c on rated captions, accuracy on PASCAL-50S (11 votes, five references).",
        f"{_SCAN}; {_PAIRS}; which tau and label the paper took is not known to us; Flickr8k-Expert is not in it.",
    ),
    Experiment(
        "reo-figure-1", "one caption adds, one leaves out", "reo:figure_1", (),
        "two captions of a photo: an overall score against extraness and omission.",
        f"photos of the demo; {_SCAN}.", figure=True,
    ),
    Experiment(
        "reo-figure-3", "the error that is found beside the true one", "reo_errors:figure_3", ("flickr8k-dev",),
        "cosine of the orthogonal part with the words of a known edit.", f"Flickr8k dev captions; {_SCAN}.",
        figure=True,
    ),
    Experiment(
        "reo-figure-4", "captions with scores and reasons", "reo:figure_4", (),
        "four captions of each photo: scores, extra and missing words.", f"{_UNKNOWN}; photos of the demo; {_SCAN}.",
        figure=True,
    ),
    Experiment(
        "reo-direction", "the worse caption scores lower", "reo_errors:direction", ("flickr8k-dev",),
        "a phrase of another photo added, an object that two references name dropped.", "not in the paper.",
    ),
    Experiment(
        "vifidel-table-1", "PASCAL-50S, two machine captions", "vifidel:table_1", ("pascal50s",),
        "accuracy on MM, majority of 48 votes, 0, 1 and 5 random references.",
        f"{_PAIRS}; {_OBJECTS}; {_LM}; {_SEEN}.",
    ),
    Experiment(
        "vifidel-table-2", "Composite, COCO part, machine captions", "vifidel:table_2", ("composite",),
        "Spearman with the mean correctness and thoroughness of captions that are none of the references.",
        f"{_OBJECTS}; {_LM}.",
    ),
    Experiment(
        "vifidel-table-3", "Composite by source, machine captions", "vifidel:table_3", ("composite",),
        "as Table 2, for each source and pooled.", f"{_UNKNOWN}; {_OBJECTS}.",
    ),
    Experiment(
        "vifidel-table-4", "sources of objects", "vifidel:table_4", ("pascal50s",),
        "accuracy without references, majority of 48 votes.", f"{_UNKNOWN}; {_PAIRS}; {_OBJECTS}.",
    ),
    Experiment(
        "vifidel-table-5", "PASCAL-50S by group, gold objects", "vifidel:table_5", ("pascal50s",),
        "accuracy by group, majority of 48 votes, 0, 1 and 5 random references.", f"{_PAIRS}; {_OBJECTS}; {_LM}.",
    ),
    Experiment(
        "vifidel-table-6", "PASCAL-50S by group, detected objects and visual words", "vifidel:table_6", ("pascal50s",),
        "accuracy by group, majority of 48 votes, 0, 1 and 5 random references.",
        f"{_PAIRS}; {_OBJECTS}; {_LM}; {_SEEN}.",
    ),
    Experiment(
        "vifidel-figure-4", "accuracy by number of references", "vifidel:figure_4", ("pascal50s",),
        "mean accuracy of the groups with 0 to 48 random references, gold objects.", f"{_PAIRS}; {_OBJECTS}.",
        figure=True,
    ),
    Experiment(
        "vifidel-figure-5", "objects join the image", "vifidel:figure_5", (),
        "objects that a caption mentions join one after the other, then others.", f"other captions; {_OBJECTS}.",
        figure=True,
    ),
    Experiment(
        "jaspice-table-1", "agreement on Shichimi", "jaspice:table_1", ("shichimi", "jsts"),
        "mean rating; Pearson, Spearman, Kendall tau-b; answers below a second and constant raters left out.",
        f"{_JUMAN}; JSTS stands beside Shichimi.",
    ),
    Experiment(
        "jaspice-table-2", "SPICE over translations, Shichimi", "jaspice:table_2", ("shichimi", "jsts"),
        "as Table 1; captions and references translated by a program of yours.", f"{_JUMAN}; our parser for English.",
    ),
    Experiment(
        "jaspice-table-3", "agreement on PFN-PIC", "jaspice:table_3", ("pfn-pic", "jsts"), "as Table 1.",
        f"{_JUMAN}; JSTS stands beside PFN-PIC.",
    ),
    Experiment(
        "jaspice-table-4", "SPICE over translations, PFN-PIC", "jaspice:table_4", ("pfn-pic", "jsts"), "as Table 2.",
        f"{_JUMAN}; our parser for English.",
    ),
    Experiment(
        "jaspice-table-5", "ablation: parser and graph extension", "jaspice:table_5", ("shichimi", "jsts"),
        "as Table 1; zeros: captions that score 0.", f"{_JUMAN}; JSTS stands beside Shichimi.",
    ),
    Experiment(
        "jaspice-table-7", "why metric and people disagree", "jaspice:table_7", ("shichimi", "jsts"),
        "cases in which ratings and scores, each over its maximum, differ by .5 and more, by cause.",
        f"rules sort the cases, people did in the paper; {_JUMAN}.",
    ),
    Experiment(
        "jaspice-table-8", "agreement by captioning model", "jaspice:table_8", ("shichimi",),
        "Pearson over the means of the models.", f"{_UNKNOWN}; {_JUMAN}.",
    ),
    Experiment(
        "jaspice-r-human", "agreement between raters", "jaspice:r_human", ("shichimi", "pfn-pic", "flickr8k-expert"),
        "mean correlation of two raters, and of one with the mean of the others.", "Flickr8k-Expert stands beside.",
    ),
    Experiment(
        "jaspice-examples", "the authors' worked examples", "jaspice:examples", ("japanese",),
        "scores and tuples that the authors' own tests assert, from raw text.", f"{_JUMAN}.",
    ),
    Experiment(
        "grounding", "is attention alive? pointing game, uniform attention, Table 5", "alive:grounding",
        ("coco", "flickr8k-expert"),
        "pointing game on COCO boxes of photos outside training; Expert tau-c with attention made uniform.",
        "not in the papers.",
    ),
)  # fmt: skip
NAMES = {experiment.name: experiment for experiment in EXPERIMENTS}


def experiment_of(name: str) -> Experiment:
    """An experiment by name."""
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UnknownName(f"no experiment is called '{name}'{hint} (`vericap reproduce list` names them all)")
    return NAMES[name]


def reproduce(name: str, choices: Choices | None = None) -> Outcome:
    """Run one experiment.

    Parameters
    ----------
    name : as `vericap reproduce list` names it.
    choices : data, models, draws, limits; by default all of the data that $VERICAP_DATA holds.

    Examples
    --------
    >>> from vericap.reproduce import reproduce
    >>> print(reproduce("vifidel-figure-5").tables[0].title)
    VIFIDEL, Figure 5: objects join the image
    """
    return experiment_of(name).run(choices or Choices())


def listing(choices: Choices) -> Table:
    """All experiments: what each shows, which of its data is there, whether it draws a figure."""
    here = {*installed(choices.data)}
    here |= {name for name in ("coco", "coco-entities", "japanese") if (choices.folder / name).is_dir()}
    table = Table(["experiment", "what it shows", "data at hand", "data not at hand", "figure"])
    table.title = f"experiments of the papers ({choices.folder})"
    for experiment in EXPERIMENTS:
        data = {
            there: ", ".join(name for name in experiment.data if (name in here) is there) for there in (True, False)
        }
        table.add(experiment.name, experiment.title, data[True] or "-", data[False] or "-", experiment.figure)
    table.notes = ["`vericap reproduce NAME` prints ours beside the paper's, with the protocol and what differs."]
    return table
