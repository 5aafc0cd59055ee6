"""SpecViz: speculative decoding, exact, with every step in view.

>>> from specviz import decode, load_pair
>>> trace = decode(load_pair("toy"), "1 15 42", k=4, max_new_tokens=8)
>>> trace.metrics["tokens"]
8
"""

from specviz.costs import measure_costs
from specviz.decoding import Run, autoregress, decode, resume, start, start_branch
from specviz.errors import SpecVizError
from specviz.pairs import Pair, load_pair, with_draft
from specviz.replay import replay
from specviz.rules import EXACT, Rules
from specviz.sampling import Sampling
from specviz.trace import Trace

__version__ = "0.1.0"

__all__ = [
    "EXACT",
    "Pair",
    "Rules",
    "Run",
    "Sampling",
    "SpecVizError",
    "Trace",
    "autoregress",
    "decode",
    "load_pair",
    "measure_costs",
    "replay",
    "resume",
    "start",
    "start_branch",
    "with_draft",
]
