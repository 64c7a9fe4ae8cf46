"""What is no captions is refused by name, record by record where some are good, and never unpacked or run."""

from __future__ import annotations

import gzip
import json
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from input_files import PHOTOS, TEXTS, add, captions, tar

from vericap.core.errors import InputError
from vericap.io import load, open_input


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("x.txt", b"\xff\xd8\xff\xe0" + bytes(100), "is a JPEG image"),
        ("x.csv", PHOTOS["a"], "is a PNG image"),
        ("x.txt", b"<!DOCTYPE html><html>404</html>", "is a web page"),
        ("x.json", b"  <html><body>no</body></html>", "is a web page"),
        ("x.jsonl", b"%PDF-1.7 ....", "is a PDF"),
        ("x.txt", b"PK\x03\x04 some zip", "is a zip archive"),
        ("x", b"\x80\x04\x95pickled", "is a pickle, which is never opened"),
        ("x.txt", b"a dog\0 runs\n", "holds NUL bytes"),
        ("x.tar", b"a dog\n", "not a readable tar file"),
        ("x.arrow", b"ARROW1\0\0broken", "not a readable Arrow file"),
        ("x.parquet", b"a dog\n", "not a readable Parquet file"),
    ],
)
def test_what_is_no_captions_is_refused_by_name(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=reason) as caught:
        load(tmp_path / name)
    assert name in str(caught.value)


def test_a_tar_is_no_text_whatever_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a tar file, which cannot be read as text"):
        load(tar(tmp_path / "x.txt"), format="text")
    assert captions(tmp_path / "x.txt") == TEXTS  # its content tells


def test_evil_members_of_a_tar_are_refused_one_by_one(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        add(archive, "good.txt", b"a dog")
        for name in ("/etc/passwd.txt", "../up.txt", "C:/x.txt", "a/../../b.txt"):
            add(archive, name, b"evil")
        for name, kind, target in (
            ("soft.txt", tarfile.SYMTYPE, "/etc/passwd"), ("hard.txt", tarfile.LNKTYPE, "good.txt"),
            ("device.txt", tarfile.CHRTYPE, ""), ("pipe.txt", tarfile.FIFOTYPE, ""),
        ):  # fmt: skip
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
        large = tarfile.TarInfo("large.txt")
        large.size = 0
        archive.addfile(large)
    loaded = load(tmp_path / "x.tar")
    assert [s.candidate for s in loaded.samples] == ["a dog", ""]
    reasons = [str(problem) for problem in loaded.problems]
    assert sum("points outside the archive" in reason for reason in reasons) == 4
    assert sum("is a link" in reason for reason in reasons) == 2
    assert sum("is a device or a pipe" in reason for reason in reasons) == 2


def test_bombs_are_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(bytes(300 << 20), 9))
    with pytest.raises(InputError, match="like a bomb"):
        load(tmp_path / "x.jsonl.gz")
    with zipfile.ZipFile(tmp_path / "x.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "x")
        archive.writestr("xl/worksheets/sheet1.xml", bytes(300 << 20))
    with pytest.raises(InputError, match="like a bomb"):
        load(tmp_path / "x.xlsx")


def test_an_image_of_ten_gigapixels_is_refused_by_name(tmp_path: Path) -> None:
    import zlib

    from vericap.vision.images import decode

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(kind + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + kind + data + crc

    size = (100_000).to_bytes(4, "big")
    head = chunk(b"IHDR", size + size + b"\x08\x02\0\0\0")
    data = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    with pytest.raises(InputError, match=r"huge\.png: .*(pixels|bomb)"):
        decode(data, "huge.png")


def test_text_that_no_file_can_hold_is_a_bad_record(tmp_path: Path) -> None:
    lines = ['{"id": "1", "candidate": "a dog"}', r'{"id": "2", "candidate": "\ud800"}',
             r'{"id": "3", "candidate": "x", "references": ["ok", "\udfff y"]}', r'{"id": "\ud801", "candidate": "x"}',
             '{"id": "4", "candidate": ' + "[" * 5000 + "}",
             '{"id": "5", "candidate": ' + "1" * 5000 + "}"]  # fmt: skip
    (tmp_path / "x.jsonl").write_text("\n".join(lines) + "\n")
    loaded = load(tmp_path / "x.jsonl")
    assert [s.id for s in loaded.samples] == ["1"]
    assert sum("half a character" in str(problem) for problem in loaded.problems) == 3
    assert len(loaded.problems) == 5


def test_parquet_text_that_is_not_utf8_is_named_by_row(tmp_path: Path) -> None:
    def text(values: list[bytes]) -> pa.Array:
        return pa.array(values, pa.binary()).view(pa.string())

    references = pa.ListArray.from_arrays([0, 1, 2, 3, 4], text([b"r", b"s", b"\xff", b"t"]))
    table = pa.table(
        {"id": ["1", "2", "3", "4"], "candidate": text([b"ok", b"\xe9", b"x", b"y"]), "references": references}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    loaded = load(tmp_path / "x.parquet")
    assert [s.id for s in loaded.samples] == ["1", "4"]
    assert [str(p).split(": ", 1)[1] for p in loaded.problems] == [
        "row 2: text that is not UTF-8 (byte 0 of the cell)", "row 3: text that is not UTF-8 (byte 0 of the cell)",
    ]  # fmt: skip


def test_references_of_other_captions_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": "1", "candidate": "a dog", "references": ["own"]}\n')
    (tmp_path / "r.json").write_text('{"9": ["a cat"]}')
    with pytest.raises(InputError, match="no id in common"):
        load(tmp_path / "x.jsonl", [tmp_path / "r.json"])


def test_many_references_lie_in_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vericap.io import references

    monkeypatch.setattr(references, "FEW", 3)
    monkeypatch.setattr(references.Gathered.__init__, "__defaults__", (3,))
    ids = [f"写真{n}\\u5199" for n in range(8)] + ["写\ud800"]  # a database must hold any id, half characters too
    (tmp_path / "x.jsonl").write_text("".join(json.dumps({"id": i, "candidate": "c"}) + "\n" for i in ids[:8]))
    rows = [
        {"id": ids[n % 9], "caption": f"“ref” {n}", **({"image": "\ud800.jpg"} if n == 8 else {})} for n in range(18)
    ]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_input(tmp_path / "x.jsonl", [tmp_path / "r.jsonl"]) as source:
        assert source.references is not None
        assert source.references.file is not None
        assert source.references.count == 9
        (records,) = source
        assert source.references.example() in ids
    assert [s.references for s in records.samples] == [(f"“ref” {n}", f"“ref” {n + 9}") for n in range(8)]
