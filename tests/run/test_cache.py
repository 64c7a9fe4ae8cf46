"""The disk cache gives back what was put, stays below its limit, and survives processes, threads and damage."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.cli import parser_for
from vericap.core.errors import InputError, UnknownName, VericapError, VericapWarning
from vericap.core.keys import content_key
from vericap.run.cache import FILE, LIMIT, Cache, NoCache, default_folder, open_cache, parse_size, shown_size

quiet = pytest.mark.filterwarnings("ignore::vericap.core.errors.VericapWarning")
KIND = "graphs-en"


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    opened = Cache(tmp_path / "cache", limit=10_000)
    yield opened
    opened.close()


def in_file(cache: Cache, query: str, *values: object) -> list[tuple[int, ...]]:
    """What SQLite itself says of the file."""
    db = sqlite3.connect(cache.folder / FILE)
    with db:
        rows = db.execute(query, values).fetchall()
    db.close()
    return rows


def age(cache: Cache, key: str, hours: float) -> None:
    in_file(cache, "UPDATE entries SET used = used - ? WHERE key = ?", int(3600 * hours), key)


def assert_exact(cache: Cache) -> None:
    """The kept totals are the sums over the entries."""
    counted = "SELECT name, count(*), sum(size) FROM entries JOIN kinds ON kind = kinds.id GROUP BY name"
    assert sorted(in_file(cache, counted)) == sorted((kind.kind, kind.entries, kind.bytes) for kind in cache.kinds())
    assert in_file(cache, "SELECT coalesce(sum(length(value)), 0) FROM entries") == [(cache.size(),)]


# --- keys and values --------------------------------------------------------------------------------------------


def test_content_key_tells_parts_apart() -> None:
    keys = [content_key("ab", "c"), content_key("a", "bc"), content_key("abc"), content_key("abc", ""), content_key()]
    assert len(set(keys)) == len(keys)
    assert content_key("é", "\ud800") == content_key("é".encode(), b"\xed\xa0\x80")


items = st.lists(st.tuples(st.text(max_size=3), st.binary(max_size=20)), max_size=12)
steps = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.booleans(), items), max_size=8)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_it_is_a_dictionary_per_kind(puts: list[tuple[str, bool, list[tuple[str, bytes]]]]) -> None:
    expected: dict[str, dict[str, bytes]] = {"a": {}, "b": {}}
    with TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        for kind, reopen, pairs in puts:
            cache.part(kind).put(iter(pairs))
            expected[kind].update(pairs)
            if reopen:
                cache.close()
        asked = ["nothing of the kind", *expected["a"], *expected["b"]]
        for kind, values in expected.items():
            assert cache.part(kind).get(asked) == values
        assert cache.size() == sum(len(value) for values in expected.values() for value in values.values())
        assert cache.clear("a") == sum(map(len, expected["a"].values()))
        assert cache.part("a").get(asked) == {}
        assert cache.part("b").get(asked) == expected["b"]
        cache.close()


def test_many_keys_and_large_values(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    pairs = {content_key(str(number)): os.urandom(number % 300) for number in range(3000)}
    pairs[content_key("large")] = os.urandom(1 << 20)
    cache.part(KIND).put(pairs.items())
    assert cache.part(KIND).get([*pairs, *pairs]) == pairs
    assert_exact(cache)
    cache.close()


def test_nothing_is_made_before_the_first_put(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "deep" / "folder")
    cache.part(KIND).put([])
    assert cache.part(KIND).get(["key"]) == {}
    assert (cache.kinds(), cache.size(), cache.clear()) == ([], 0, 0)
    assert list(tmp_path.iterdir()) == []


def test_off_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for where in ("off", "none", Path("off"), "OFF"):
        cache = open_cache(where)
        cache.part(KIND).put([("key", b"value")])
        assert cache.part(KIND).get(["key"]) == {}
        assert isinstance(cache, NoCache)
        assert (cache.kinds(), cache.size(), cache.clear(), cache.folder) == ([], 0, 0, None)
    monkeypatch.setenv("VERICAP_CACHE", "off")
    assert isinstance(open_cache(None), NoCache)
    assert list(tmp_path.iterdir()) == []


def test_places_and_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERICAP_CACHE", str(tmp_path / "mine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("VERICAP_CACHE_LIMIT", raising=False)
    assert default_folder() == Cache().folder == tmp_path / "mine"
    monkeypatch.delenv("VERICAP_CACHE")
    assert default_folder() == tmp_path / "xdg" / "vericap"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder() == tmp_path / ".cache" / "vericap"
    assert (Cache().limit, Cache(limit=7).limit) == (LIMIT, 7)
    monkeypatch.setenv("VERICAP_CACHE_LIMIT", "1.5 GB")
    assert Cache().limit == 3 << 29
    monkeypatch.setenv("VERICAP_CACHE_LIMIT", "much")
    with pytest.raises(InputError, match="VERICAP_CACHE_LIMIT=much is not a size"):
        Cache()


def test_sizes() -> None:
    assert [parse_size(text) for text in ("12", "500MB", "2gib", "1 k")] == [12, 500 << 20, 2 << 30, 1024]
    assert [shown_size(number) for number in (0, 1023, 1536, 4 << 30)] == ["0 bytes", "1023 bytes", "1.5 KB", "4.0 GB"]


# --- the limit --------------------------------------------------------------------------------------------------


@quiet
def test_oldest_used_leave_first(cache: Cache) -> None:
    part = cache.part(KIND)
    for number in range(10):
        part.put([(str(number), bytes(1000))])
        age(cache, str(number), 20 - number)
    assert cache.size() == 10_000
    part.get(["0"])  # the oldest is used again, and stays
    cache.part("other").put([("new", bytes(500))])
    assert sorted(part.get([str(number) for number in range(10)])) == ["0", "3", "4", "5", "6", "7", "8", "9"]
    assert cache.part("other").get(["new"]) == {"new": bytes(500)}
    assert_exact(cache)


def test_use_is_noted_once_an_hour(cache: Cache) -> None:
    part, used = cache.part(KIND), "SELECT used FROM entries"
    part.put([("key", b"value")])
    age(cache, "key", 0.5)
    before = in_file(cache, used)
    part.get(["key"])
    assert in_file(cache, used) == before
    age(cache, "key", 1)
    part.get(["key"])
    assert in_file(cache, used) > before


@quiet
@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 400), min_size=1, max_size=8), max_size=12))
def test_never_above_the_limit(sizes: list[list[int]]) -> None:
    with TemporaryDirectory() as folder:
        cache = Cache(Path(folder), limit=1000)
        for number, batch in enumerate(sizes):
            cache.part(f"kind {number % 3}").put((f"{number} {place}", bytes(size)) for place, size in enumerate(batch))
            assert cache.size() <= 1000
            assert_exact(cache)
        cache.close()


@quiet
def test_file_shrinks_with_a_lower_limit_and_when_cleared(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=1 << 24)
    cache.part("a").put((str(number), os.urandom(30_000)) for number in range(200))
    cache.part("b").put((str(number), os.urandom(30_000)) for number in range(50))
    cache.close()
    full = (tmp_path / FILE).stat().st_size
    assert full > 7_500_000
    assert cache.clear("b") == 1_500_000
    assert (tmp_path / FILE).stat().st_size < full - 1_400_000
    small = Cache(tmp_path, limit=1_000_000)
    small.part("b").put([("one", b"more")])
    small.close()
    assert (tmp_path / FILE).stat().st_size < 1_300_000
    assert cache.clear() > 0
    assert (tmp_path / FILE).stat().st_size < 100_000
    assert cache.kinds() == []


def test_told_once_per_process_when_entries_leave(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from vericap.run.cache import Cache
cache = Cache(Path(sys.argv[1]), limit=2048)
for number in range(20):
    cache.part("kind").put([(str(number), bytes(1024))])
"""
    run = subprocess.run([sys.executable, "-W", "always", "-c", script, str(tmp_path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("VericapWarning") == 1
    assert "limit of 2.0 KB" in run.stderr
    assert [file.name for file in tmp_path.iterdir()] == [FILE]  # closed at the end: no journal stays


# --- several at once --------------------------------------------------------------------------------------------


def write_and_read(cache: Cache, name: str) -> bool:
    """Some puts and gets of one writer; whether all it read was right."""
    good = True
    for round_ in range(20):
        texts = [f"{name} {round_} {number}" for number in range(20)]
        mine = {content_key(text): text.encode() for text in texts}
        shared = {content_key(str(number)): bytes([number]) * 100 for number in range(20)}
        cache.part(KIND).put([*mine.items(), *shared.items()])
        found = cache.part(KIND).get([*mine, *shared])
        good = good and found.items() <= {**mine, **shared}.items()
    return good


@quiet
@pytest.mark.parametrize("limit", [1 << 20, 5000])
def test_processes_at_once(tmp_path: Path, limit: int) -> None:
    # Nobody has made the file yet, and with the small limit all of them also remove entries.
    cache = Cache(tmp_path / "new", limit=limit)
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        assert all(pool.map(write_and_read, [cache] * 6, "abcdef"))
    assert cache.size() <= limit
    if limit == 1 << 20:
        assert [kind.entries for kind in cache.kinds()] == [6 * 20 * 20 + 20]
    assert_exact(cache)
    cache.close()


def test_threads_at_once(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(write_and_read, [cache] * 6, "abcdef"))
    assert [kind.entries for kind in cache.kinds()] == [6 * 20 * 20 + 20]
    assert_exact(cache)
    cache.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_both_sides_of_a_fork(tmp_path: Path) -> None:
    script = """
import os, sys, threading
from pathlib import Path
from vericap.run.cache import Cache
part = Cache(Path(sys.argv[1])).part("kind")
def fill(name):
    for number in range(100):
        part.put([(f"{name} {number}", b"value")])
thread = threading.Thread(target=fill, args=["thread"])
thread.start()
child = os.fork()
fill("parent" if child else "child")
if not child:
    os._exit(0)
thread.join()
assert os.waitpid(child, 0)[1] == 0
names = [f"{name} {number}" for name in ("thread", "parent", "child") for number in range(100)]
assert len(part.get(names)) == 300
"""
    run = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr


def test_pickled_cache_is_the_same_place(cache: Cache) -> None:
    cache.part(KIND).put([("key", b"value")])
    part = pickle.loads(pickle.dumps(cache.part(KIND)))
    assert part.get(["key"]) == {"key": b"value"}
    assert (part.cache.folder, part.cache.limit) == (cache.folder, cache.limit)
    part.cache.close()


def test_removed_file_is_made_anew(cache: Cache) -> None:
    cache.part(KIND).put([("old", b"value")])
    for file in cache.folder.iterdir():
        file.unlink()
    assert cache.part(KIND).get(["old"]) == {}
    cache.part(KIND).put([("new", b"value")])
    assert cache.part(KIND).get(["old", "new"]) == {"new": b"value"}


# --- what can go wrong ------------------------------------------------------------------------------------------


def spoil(file: Path, start: int) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:start] + b"spoilt" * ((len(data) - start) // 6))


@pytest.mark.parametrize("start", [0, 100, 8192])
@pytest.mark.parametrize("first", ["get", "put"])
def test_damaged_file_is_put_aside(tmp_path: Path, start: int, first: str) -> None:
    cache = Cache(tmp_path)
    cache.part(KIND).put((str(number), bytes(200)) for number in range(1000))
    cache.close()
    spoil(tmp_path / FILE, start)
    part = cache.part(KIND)
    with pytest.warns(VericapWarning, match="damaged"):
        part.put([("key", b"value")]) if first == "put" else part.get(["1"])
    part.put([("key", b"value")])
    assert cache.part(KIND).get(["key", "1"]) == {"key": b"value"}
    assert (tmp_path / f"{FILE}.damaged").is_file()
    assert [(kind.kind, kind.left_over) for kind in cache.kinds()] == [(KIND, False), (f"{FILE}.damaged", True)]
    cache.clear()
    cache.close()
    assert [file.name for file in tmp_path.iterdir()] == [FILE]


def test_unusable_folder_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = Cache(tmp_path / "file" / "cache")
    assert cache.part(KIND).get(["key"]) == {}
    assert (cache.kinds(), cache.size(), cache.clear()) == ([], 0, 0)
    with pytest.raises(VericapError, match=r"cannot be used .*pass `cache=DIR`"):
        cache.part(KIND).put([("key", b"value")])


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write everywhere")
def test_read_only_folder_reads_as_empty(cache: Cache) -> None:
    cache.part(KIND).put([("key", b"value")])
    cache.close()
    cache.folder.chmod(0o500)
    try:
        assert cache.part(KIND).get(["key"]) == {}
        with pytest.raises(VericapError, match="cannot be used"):
            cache.part(KIND).put([("key", b"value")])
    finally:
        cache.folder.chmod(0o700)


def earlier_file(file: Path, table: str = "entries (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(file)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(f"CREATE TABLE IF NOT EXISTS {table}")
    db.close()
    return file


def test_files_of_the_earlier_version_are_listed_and_removed(cache: Cache) -> None:
    old = earlier_file(cache.folder / "graphs-en.sqlite")
    own = earlier_file(cache.folder / "holiday.sqlite", "photos (name TEXT)")
    (listed,) = cache.kinds()
    assert (listed.kind, listed.left_over, listed.bytes) == ("graphs-en.sqlite", True, old.stat().st_size)
    assert cache.part("graphs-en").get(["key"]) == {}
    assert cache.clear("graphs-en") == 0
    assert cache.clear() == listed.bytes
    assert (old.exists(), own.exists()) == (False, True)


# --- the command ------------------------------------------------------------------------------------------------
# Here and not in tests/cli/, where the file would have the same name: pytest takes a name once.


def command(*words: str | Path) -> int:
    args = parser_for("cache").parse_args(list(map(str, words)))
    return int(args.run(args))


def test_command_shows(cache: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    cache.part(KIND).put([("a", bytes(1000)), ("b", bytes(1000))])
    cache.part("regions-1").put([("a", bytes(3000))])
    assert command("--cache", cache.folder) == 0
    printed = capsys.readouterr().out
    assert str(cache.folder / FILE) in printed
    assert "limit  4.0 GB" in printed
    assert "size   4.9 KB" in printed
    assert [line.split()[:2] for line in printed.splitlines()[-2:]] == [["regions-1", "1"], [KIND, "2"]]


def test_command_as_json(cache: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    cache.part(KIND).put([("a", bytes(1000))])
    assert command("--cache", cache.folder, "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["folder"], record["limit"], record["size"]) == (str(cache.folder), LIMIT, 1000)
    assert [(kind["kind"], kind["entries"], kind["bytes"]) for kind in record["kinds"]] == [(KIND, 1, 1000)]


@pytest.mark.parametrize("before", [True, False])
def test_command_clears(cache: Cache, capsys: pytest.CaptureFixture[str], before: bool) -> None:
    options = ["--json", "--cache", cache.folder]
    cache.part(KIND).put([("a", bytes(1000))])
    cache.part("other").put([("a", bytes(500))])
    earlier_file(cache.folder / "objects.sqlite")
    assert command(*([*options, "clear", KIND] if before else ["clear", *options, KIND])) == 0
    assert json.loads(capsys.readouterr().out) == {"cleared": KIND, "freed": 1000}
    assert [kind.kind for kind in cache.kinds()] == ["other", "objects.sqlite"]
    assert command("clear", "--cache", cache.folder) == 0
    assert "everything has left the cache" in capsys.readouterr().out
    assert cache.kinds() == []


def test_command_names_mistakes(cache: Cache, tmp_path: Path) -> None:
    cache.part(KIND).put([("a", b"value")])
    with pytest.raises(UnknownName, match=f"no kind 'graph'; it has {KIND}"):
        command("clear", "graph", "--cache", cache.folder)
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match="is a file"):
        command("--cache", tmp_path / "file")


def test_command_without_a_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--cache", "off") == 0
    assert command("--cache", tmp_path / "none yet") == 0
    assert command("clear", "--cache", "off") == 0
    printed = capsys.readouterr().out
    assert "the cache is off" in printed
    assert "nothing is kept yet" in printed
    assert list(tmp_path.iterdir()) == []
