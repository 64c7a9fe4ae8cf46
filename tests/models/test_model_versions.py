"""What the store says of a model."""

from vericap.models import store


def test_a_version_tells_one_training_from_another() -> None:
    files = {"scan.safetensors": "abcdef0123456789", "meta.txt": "99"}
    assert store.version({"name": "scan", "files": files}) == "scan-abcdef01"
    assert store.version({"name": "scan"}) == "scan"
