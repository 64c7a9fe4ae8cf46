"""schemathesis over the server's own OpenAPI description: no server error, no answer that is not described."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from served import Client

pytest.importorskip("schemathesis", reason="schemathesis is not installed (pip install 'vericap[fuzz]')")
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.slow
def test_no_server_error(client: Client, tmp_path: Path) -> None:
    words = ["run", f"http://127.0.0.1:{client.port}/openapi.json", "--checks", CHECKS, "--max-examples", "12"]
    words += ["--seed", "1", "--request-timeout", "60", "--continue-on-failure"]
    run = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", *words]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    tested = re.search(r"Operations:.*?(\d+) tested", done.stdout, re.DOTALL) or re.search(
        r"Tested:\s+(\d+)", done.stdout
    )
    assert tested is not None, done.stdout[-2000:]
    assert int(tested[1]) >= 8, done.stdout[-2000:]
    assert client.get("/health").json()["status"] == "ok"  # it lives
