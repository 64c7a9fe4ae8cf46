"""Conditions: what is read, what is refused and where, and that a tree prints as what reads back."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.errors import VericapError
from vericap.run.filter.grammar import ExpressionError, parse
from vericap.run.filter.tree import All, Column, Comparison, Either, Expression, Flag, Not, Share, conjuncts


def one(text: str) -> object:
    (stage,) = parse(text).stages
    return stage


def test_the_issue_examples() -> None:
    assert one("fidelity>=0.6 & chair==0") == All(
        (Comparison(Column("fidelity"), ">=", 0.6), Comparison(Column("chair"), "==", 0.0))
    )
    assert one("top:0.3:verdict") == Share(True, Fraction(3, 10), Column("verdict"))
    assert one("words>=3 & lang==en & !url & !markup") == All(
        (
            Comparison(Column("words"), ">=", 3.0),
            Comparison(Column("lang"), "==", "en"),
            Not(Flag(Column("url"))),
            Not(Flag(Column("markup"))),
        )
    )


def test_and_binds_more_than_or_and_parentheses_more_than_both() -> None:
    a, b, c = Flag(Column("a")), Flag(Column("b")), Flag(Column("c"))
    assert one("a | b & c") == Either((a, All((b, c))))
    assert one("(a | b) & c") == All((Either((a, b)), c))
    assert one("!(a & b) | c") == Either((Not(All((a, b))), c))
    assert one("a & (b & c)") == All((a, b, c))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("vifidel:p=1>=0.5", "vifidel:p=1"),
        ("spice.recall>0.1", "spice.recall"),
        ("faier:refs=1.fidelity>0", "faier:refs=1.fidelity"),
        ("mean(vse, reo-relevance)>=0.4", "mean(vse,reo-relevance)"),
        ("mean(vse,mean(a,b)) > 0", "mean(vse,mean(a,b))"),
        ('"a name > 3"==1', "a name > 3"),
        ("輝度>=3", "輝度"),
        ("top:30%:cider-d:df=coco-val", "cider-d:df=coco-val"),
        ("input.vse<1e-3", "input.vse"),
    ],
)
def test_names_of_columns(text: str, name: str) -> None:
    assert [column.name for column in parse(text).columns] == [name]


def test_stages_and_shares() -> None:
    stages = ["words>=3 & !url", "top:30%:vse", "bottom:.5:chair", "top:2/3:vse"]
    found = parse(" then ".join(stages))
    assert [str(stage) for stage in found.stages] == stages
    assert [share.share for share in found.shares] == [Fraction(3, 10), Fraction(1, 2), Fraction(2, 3)]
    assert [share.best for share in found.shares] == [True, False, True]


@pytest.mark.parametrize(
    ("text", "start", "said"),
    [
        ("", 0, "nothing is said"),
        ("vse=0.3", 3, "did you mean '=='?"),
        ("vse=>0.3", 3, "did you mean '>='?"),
        ("vse>=0.3 && url", 9, "did you mean '&'?"),
        ("vse>=0.3 and url", 9, "did you mean '&'?"),
        ("a || b", 2, "did you mean '|'?"),
        ("a ; b", 2, "did you mean 'then'?"),
        ("vse>=", 3, "a number or a word is missing"),
        ("0.3<=vse", 0, "a column comes first"),
        ("vse>='x'", 5, "compares with a number"),
        ("a & (b | c", 4, "the parenthesis is not closed"),
        ("a & b)", 5, "is expected, not ')'"),
        ("a b", 2, "is expected, not 'b'"),
        ("top:3:vse", 4, "between 0 and 1"),
        ("top:0:vse", 4, "between 0 and 1"),
        ("top:x:vse", 0, "say which share"),
        ("top:0.3:", 8, "a column is expected"),
        ("mean(a,b>3", 0, "')' of mean( is missing"),
        ("'open", 0, "has no partner"),
        ("a & then b", 4, "is expected, not 'then'"),
        ("(" * 51 + "a" + ")" * 51, 50, "inside each other"),
        ("__import__('os').system('x')", 10, "is expected"),
    ],
)
def test_mistakes_are_shown_where_they_are(text: str, start: int, said: str) -> None:
    with pytest.raises(ExpressionError) as error:
        parse(text)
    assert said in str(error.value)
    assert error.value.start == start
    _, shown, marks = str(error.value).split("\n")[-3:]
    assert shown == f"    {text}"
    assert marks.index("^") == 4 + start


def test_too_long_and_too_deep_are_refused() -> None:
    with pytest.raises(VericapError, match="at most"):
        parse("a & " * 5000 + "a")


_NAMES = st.one_of(
    st.sampled_from(["vse", "rouge-l", "vifidel:p=1", "spice.recall", "mean(vse,chair)", "mean(", "mean(a)b", "words"]),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8),
).map(Column)
_VALUES = st.floats(allow_nan=False, allow_infinity=False)
_LEAVES = st.one_of(
    st.builds(Comparison, _NAMES, st.sampled_from([">=", "<=", ">", "<", "==", "!="]), _VALUES),
    st.builds(
        Comparison, _NAMES, st.sampled_from(["==", "!="]), st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    ),
    st.builds(Flag, _NAMES),
    st.builds(Share, st.booleans(), st.sampled_from([Fraction(1, 10), Fraction(3, 10), Fraction(1)]), _NAMES),
)


def _joined(kind: type, parts: list) -> object:
    """As the parser joins: nothing of one kind inside its own kind."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))]
    return kind(tuple(flat))


_NODES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: _joined(All, parts)),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: _joined(Either, parts)),
    ),
    max_leaves=8,
)


@given(st.lists(_NODES, min_size=1, max_size=3))
@settings(max_examples=300, deadline=None)
def test_a_tree_reads_back_from_its_text(stages: list) -> None:
    expression = Expression(tuple(stages))
    assert parse(str(expression)) == expression


@given(st.text(alphabet="abtop:0.3%()!&|<>='\" thenmean,x", max_size=40))
@settings(max_examples=500, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except ExpressionError as error:
        place = error.start
    else:
        place = 0
        assert parse(str(found)) == found
    assert 0 <= place <= len(text)


def test_conjuncts() -> None:
    assert [str(part) for part in conjuncts(one("a & (b | c) & !(d & e)"))] == ["a", "b | c", "!(d & e)"]
