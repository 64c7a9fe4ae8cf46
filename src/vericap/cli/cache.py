"""See what the disk cache keeps, where and how much, and clear it.

vericap cache
vericap cache clear
vericap cache clear graphs-en
"""

from __future__ import annotations

import argparse
import json

from vericap.core.errors import InputError, UnknownName
from vericap.core.table import Table
from vericap.run.cache import FILE, Cache, NoCache, open_cache, shown_size
from vericap.run.cache_file import Kind


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _add_common(parser, place=None, as_json=False)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    clear = actions.add_parser("clear", help="remove one kind of results, or all that is kept")
    clear.add_argument("kind", nargs="?", metavar="KIND", help="as in the list of `vericap cache`; by default all")
    # The same options after the word `clear`, where they must not undo those before it.
    _add_common(clear, place=argparse.SUPPRESS, as_json=argparse.SUPPRESS)


def _add_common(parser: argparse.ArgumentParser, *, place: str | None, as_json: bool | str) -> None:
    parser.add_argument("--cache", default=place, metavar="DIR", help="the cache's folder, if not the usual one")
    parser.add_argument("--json", action="store_true", default=as_json, help="print as JSON")


def run(args: argparse.Namespace) -> int:
    cache = open_cache(args.cache)
    if cache.folder is not None and cache.folder.exists() and not cache.folder.is_dir():
        raise InputError(f"`cache={cache.folder}` is a file; name the folder of the cache")
    try:
        return _clear(cache, args.kind, args.json) if args.action == "clear" else _show(cache, args.json)
    finally:
        cache.close()


def _clear(cache: Cache | NoCache, kind: str | None, as_json: bool) -> int:
    known = [each.kind for each in cache.kinds()]
    if kind is not None and kind not in known:
        raise UnknownName(f"the cache has no kind '{kind}'; it has {', '.join(known) or 'none at all'}")
    freed = cache.clear(kind)
    what = f"{kind} has left" if kind else "everything has left"
    print(json.dumps({"cleared": kind, "freed": freed}) if as_json else f"{what} the cache: {shown_size(freed)}")
    return 0


def _show(cache: Cache | NoCache, as_json: bool) -> int:
    kinds = cache.kinds()
    print(json.dumps(_record(cache, kinds), indent=2) if as_json else _page(cache, kinds))
    return 0


def _record(cache: Cache | NoCache, kinds: list[Kind]) -> dict[str, object]:
    return {
        "folder": None if cache.folder is None else str(cache.folder),
        "limit": cache.limit,
        "size": cache.size(),
        "kinds": [{**vars(kind), "last_used": kind.last_used.isoformat()} for kind in kinds],
    }


def _page(cache: Cache | NoCache, kinds: list[Kind]) -> str:
    if cache.folder is None:
        return "the cache is off: nothing is kept"
    lines = [
        f"place  {cache.folder / FILE}",
        f"limit  {shown_size(cache.limit)} (VERICAP_CACHE_LIMIT changes it)",
        f"size   {shown_size(cache.size())}",
        "",
    ]
    return "\n".join([*lines, _table(kinds).text().rstrip() if kinds else "nothing is kept yet"])


def _table(kinds: list[Kind]) -> Table:
    table = Table(["kind", "entries", "size", "last used"])
    for kind in kinds:
        moment = kind.last_used.astimezone().strftime("%Y-%m-%d %H:%M")
        table.add(kind.kind, None if kind.left_over else kind.entries, shown_size(kind.bytes), moment)
    left = [kind.kind for kind in kinds if kind.left_over]
    if left:
        table.notes = [f"No longer read (an earlier version, or damaged): {', '.join(left)}. `clear` removes them."]
    return table
