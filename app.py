"""Serve the SpecViz page: on a laptop at 127.0.0.1:7860 (or PORT), and as a Hugging Face Space."""

import contextlib

with contextlib.suppress(ImportError):
    import spaces  # noqa: F401  on ZeroGPU it has to come before anything that might touch the GPU

from specviz.page.launch import run

if __name__ == "__main__":
    run()
