"""What a wheel must be before it is published: `python tools/check_wheel.py dist/*.whl`.

Below the size limit, every licence text inside, the licence expression of pyproject.toml in its metadata, every file
that the `meta.json` of a shipped part names, and nothing of tests or benchmarks.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from email.parser import BytesParser
from pathlib import Path, PurePosixPath

TOP = Path(__file__).resolve().parent.parent
LIMIT = 75  # MB; PyPI takes 100


def project(wheel: Path) -> Path:
    """The folder of the project a wheel was built from."""
    name = wheel.name.split("-")[0].replace("_", "-")
    return TOP if name == "vericap" else TOP / "packages" / name


def faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel, in words."""
    text = (project(wheel) / "pyproject.toml").read_text("utf-8")
    licence = re.search(r'^license = "(.*)"$', text, re.MULTILINE)
    found = []
    size = wheel.stat().st_size / 1e6
    if size > LIMIT:
        found.append(f"{size:.1f} MB; the limit is {LIMIT} MB")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        stated = BytesParser().parsebytes(archive.read(about))["License-Expression"]
        if licence is None or stated != licence[1]:
            found.append(f"says License-Expression: {stated}, not that of pyproject.toml")
        for meta in (name for name in names if name.endswith("/meta.json")):
            for file in json.loads(archive.read(meta)).get("files", {}):
                if str(PurePosixPath(meta).parent / file) not in names:
                    found.append(f"{file} is missing beside {meta}")
    packed = {
        PurePosixPath(name).relative_to(PurePosixPath(about).parent / "licenses")
        for name in names
        if "/licenses/" in name
    }
    texts = [
        line
        for block in re.findall(r"^license-files = \[(.*?)\]", text, re.DOTALL | re.MULTILINE)
        for line in re.findall(r'"(.*?)"', block)
    ]
    wanted = {
        PurePosixPath(file.relative_to(project(wheel)).as_posix())
        for pattern in texts
        for file in project(wheel).glob(pattern)
    }
    found += [f"{name}: no licence text of that name inside" for name in sorted(map(str, wanted - packed))]
    found += [
        f"{name} does not belong in a wheel" for name in names if name.startswith(("tests/", "benchmarks/", "tools/"))
    ]
    return found


def main() -> int:
    wheels = [Path(name) for name in sys.argv[1:]]
    if not wheels:
        print("name the wheels to check: python tools/check_wheel.py dist/*.whl", file=sys.stderr)
        return 2
    wrong = 0
    for wheel in wheels:
        told = faults(wheel)
        wrong += len(told)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB" + "".join(f"\n  {fault}" for fault in told))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
