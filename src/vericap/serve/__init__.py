"""The web page and the JSON API behind `vericap serve`; needs the group `serve` (FastAPI, uvicorn)."""

from vericap.serve.limits import Limits, Refused

__all__ = ["Limits", "Refused"]
