"""SpecViz: speculative decoding, exact, with every step in view.

>>> from specviz import decode, load_pair
>>> trace = decode(load_pair("toy"), "1 15 42", k=4, max_new_tokens=8)
>>> trace.metrics["tokens"]
8
"""

from specviz.decoding.branch import resume, start_branch
from specviz.decoding.plain import autoregress
from specviz.decoding.rules import EXACT, Rules
from specviz.decoding.run import Run, decode, start
from specviz.decoding.sampling import Sampling
from specviz.errors import SpecVizError
from specviz.exactness.replay import replay
from specviz.models.pairs import Pair, load_pair, with_draft
from specviz.record.trace import Trace
from specviz.speed.contest import race
from specviz.speed.costs import measure_costs

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
    "race",
    "replay",
    "resume",
    "start",
    "start_branch",
    "with_draft",
]
