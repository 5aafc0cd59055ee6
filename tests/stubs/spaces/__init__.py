"""Stands for Hugging Face's `spaces` on a machine without ZeroGPU, and does to a function what ZeroGPU does.

It has to be imported before torch; a decorated function has to be a top-level generator, runs in a forked process, and
what goes in and what comes out is pickled. An error loses its text, as it does there. What it saw stands in `seen`.
"""

import functools
import inspect
import multiprocessing
import os
import pickle
import sys

if "torch" in sys.modules:
    raise RuntimeError("torch was imported before the `spaces` package")

seen = {"functions": [], "pids": []}
END, ERROR = "end", "error"
fork = multiprocessing.get_context("fork")


def GPU(task=None, *, duration=60):
    """Return a decorator that sends a generator function's calls to a forked process."""
    return functools.partial(_decorated, duration=duration) if task is None else _decorated(task, duration)


def _decorated(task, duration):
    assert inspect.isgeneratorfunction(task)
    assert "<locals>" not in task.__qualname__, "ZeroGPU wants a top-level function"
    seen["functions"].append((f"{task.__module__}.{task.__name__}", duration))

    @functools.wraps(task)
    def elsewhere(*args, **kwargs):
        import gradio

        sent, results, stop = pickle.dumps((args, kwargs)), fork.SimpleQueue(), fork.Event()
        worker = fork.Process(target=_work, args=(task, sent, results, stop), daemon=True)
        worker.start()
        seen["pids"].append(worker.pid)
        try:
            while True:
                kind, value = pickle.loads(results.get())
                if kind == END:
                    return
                if kind == ERROR:
                    raise gradio.Error(value)
                yield value
        finally:
            stop.set()
            worker.join()

    return elsewhere


def _work(task, sent, results, stop):
    import torch

    torch.set_num_threads(1)  # a forked process has none of its parent's threads
    args, kwargs = pickle.loads(sent)
    try:
        for value in task(*args, **kwargs):
            if stop.is_set():
                os._exit(0)
            results.put(pickle.dumps((None, value)))
    except Exception as error:
        results.put(pickle.dumps((ERROR, type(error).__name__)))
    results.put(pickle.dumps((END, None)))
