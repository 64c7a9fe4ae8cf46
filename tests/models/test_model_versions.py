"""What the store says of a model."""

from vericap.core import shipped


def test_a_version_tells_one_training_from_another() -> None:
    files = {"scan.safetensors": "abcdef0123456789", "meta.txt": "99"}
    assert shipped.version({"name": "scan", "files": files}) == "scan-abcdef01"
    assert shipped.version({"name": "scan"}) == "scan"
