"""Compiled kernels; optional, so that an install without a compiler still works."""

from setuptools import Extension, setup

KERNELS = {
    # module under vericap.native -> its C sources
    "meteor": [f"src/vericap/native/{part}.c" for part in ("meteor", "meteor_phrases", "meteor_search")],
    "transport": ["src/vericap/native/transport.c"],
    "ptb": ["src/vericap/native/ptb.c"],
    "text": [f"src/vericap/native/{part}.c" for part in ("text", "ngrams", "cider")],
    "attention": ["src/vericap/native/attention.c"],
    "backbone": ["src/vericap/native/backbone.c"],
    "dense": ["src/vericap/native/dense.c"],
    "regions": ["src/vericap/native/regions.c"],
    "resize": ["src/vericap/native/resize.c"],
}

setup(
    ext_modules=[
        Extension(f"vericap.native._{name}", sources, optional=True, extra_compile_args=["-O3", "-ffp-contract=off"])
        for name, sources in KERNELS.items()
    ]
)
