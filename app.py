"""Serve the SpecViz page: on a laptop at 127.0.0.1:7860 (or PORT), and as a Hugging Face Space."""

import contextlib
import os
import sys

with contextlib.suppress(ImportError):
    import spaces  # noqa: F401  on ZeroGPU it has to come before anything that might touch the GPU

from specviz.page.launch import serve

if __name__ == "__main__":
    status = serve()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # a thread may still be inside torch, which must not see the interpreter go
