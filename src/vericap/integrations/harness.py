"""What evaluation harnesses of vision-language models wrote, as records that `vericap.score` takes.

    records = lmms_eval_records("logs/..._samples_coco2017_cap_val.jsonl")
    vericap.score(records, metrics="coco,spice")

VLMEvalKit's tables need no function: `vericap score Model_COCO_VAL.xlsx --references-field answer --id-field index`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError
from vericap.integrations.reward import plain_caption

_REFERENCES = ("answer", "answers", "references", "captions", "caption")


def lmms_eval_records(file: str | Path) -> list[dict[str, Any]]:
    """Records of a samples file that `lmms-eval --log_samples` wrote for a captioning task.

    The caption is what the task's metric saw (`pred`), else the last filtered response; references are those of the
    metric (`answer`), else the target, else those of the document. Thinking and marks of a chat are taken away, as
    `plain_caption` does.

    Parameters
    ----------
    file : str or Path
        JSON lines, one per sample.

    Returns
    -------
    list of dict
        Records with `id`, `candidate`, `references`.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> line = {"doc_id": 3, "target": ["a dog"], "filtered_resps": ["A dog runs."]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "samples.jsonl")
    ...     _ = file.write_text(json.dumps(line))
    ...     lmms_eval_records(file)
    [{'id': '3', 'candidate': 'A dog runs.', 'references': ['a dog']}]
    """
    path = Path(file)
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); name a samples file of lmms-eval") from error
    found = [_record(path, number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not found:
        raise InputError(f"{path}: no sample; run lmms-eval with --log_samples")
    return found


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    where = f"{path}: line {number}"
    try:
        item = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error}); name a samples file of lmms-eval") from error
    if not isinstance(item, Mapping):
        raise InputError(f"{where}: not a sample of lmms-eval (a dict with doc_id, target and filtered_resps)")
    seen = _seen_by_a_metric(item)
    responses = seen.get("pred", item.get("filtered_resps", item.get("resps")))
    if responses is None:
        raise InputError(f"{where}: no response (pred, filtered_resps or resps); run lmms-eval with --log_samples")
    references = _references(seen) or _listed(item.get("target")) or _references(item.get("doc") or {})
    identity = seen.get("image_id", item.get("doc_id", number))
    return {"id": str(identity), "candidate": plain_caption(_last(responses)), "references": references}


def _seen_by_a_metric(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the task handed to one of its metrics: caption, references and image together."""
    return next((value for value in item.values() if isinstance(value, Mapping) and "pred" in value), {})


def _references(found: Mapping[str, Any]) -> list[str]:
    return next((_listed(found[name]) for name in _REFERENCES if found.get(name)), [])


def _listed(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [str(text) for text in value] if isinstance(value, Sequence) else []


def _last(responses: Any) -> str:
    """The text in lists of lists of responses."""
    while isinstance(responses, Sequence) and not isinstance(responses, str):
        responses = responses[-1] if responses else ""
    return str(responses)
