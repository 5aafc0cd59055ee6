"""Seeded traces in the shape of the real ones, for the pictures that no run gives on demand: hostile tokens and odd endings."""

from __future__ import annotations

from typing import Any

import numpy as np

WORDS = [
    "The",
    " old",
    " keeper",
    " lit",
    " the",
    " lamp",
    " and",
    " waited",
    " for",
    " storm",
    "\n",
    "\t",
    " café",
    " 猫",
]
HOSTILE = [
    "<img src=x onerror=window.__pwned=1>",
    "${window.__pwned=2}",
    "</script><script>window.__pwned=3</script>",
    "{{window.__pwned=4}}",
    "`}${window.__pwned=5}",
    "=HYPERLINK(1)",
    "\u202eשלום",
    "\u200b",
    "",
    "\udcf0",
    "\ud800",
    "x" * 400,
]
M = 6


def _law(rng: np.random.Generator, size: int) -> np.ndarray:
    weights = rng.gamma(0.35, size=size) + 1e-6
    return weights / weights.sum()


def _interval(law: np.ndarray, u: float) -> tuple[int, float, float]:
    ends = np.minimum(np.cumsum(law), 1.0)
    ends[-1] = 1.0
    index = int(np.searchsorted(ends, u, side="right"))
    return index, float(ends[index - 1]) if index else 0.0, float(ends[index])


def _entropy(law: np.ndarray) -> float:
    kept = law[law > 0]
    return float(-(kept * np.log(kept)).sum())


def _row(p: np.ndarray, q: np.ndarray, drawn: list[int]) -> dict[str, Any]:
    ids = sorted({*np.argsort(-p)[:M].tolist(), *np.argsort(-q)[:M].tolist(), *drawn})
    owed = np.maximum(p - q, 0)
    rest = [i for i in range(len(p)) if i not in ids]
    starts_q, starts = np.cumsum(q) - q, np.cumsum(owed) - owed
    return {
        "ids": ids,
        "p": [float(p[i]) for i in ids],
        "q": [float(q[i]) for i in ids],
        "p_raw": [float(p[i]) for i in ids],
        "q_raw": [float(q[i]) for i in ids],
        "q_low": [float(starts_q[i]) for i in ids],
        "low": [float(starts[i] / owed.sum()) for i in ids],
        "p_rest": float(p[rest].sum()),
        "q_rest": float(q[rest].sum()),
        "overlap_rest": float(np.minimum(p, q)[rest].sum()),
    }


def _draft(rng: np.random.Generator, size: int) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    q = _law(rng, size)
    p = 0.6 * q + 0.4 * _law(rng, size)
    u, coin = float(rng.random()), float(rng.random())
    token, low, high = _interval(q, u)
    kept = coin * q[token] < p[token]
    draft = {
        "id": token, "u_draft": u, "low": low, "high": high, "q": float(q[token]), "p": float(p[token]), "coin": coin,
        "state": "accepted" if kept else "rejected", "overlap": float(np.minimum(p, q).sum()), "mass": float(np.maximum(p - q, 0).sum()),
        "entropy_p": _entropy(p), "entropy_q": _entropy(q), "call": None, "row": _row(p, q, [token]),
    }  # fmt: skip
    return draft, p, q


def _final(rng: np.random.Generator, kind: str, p: np.ndarray, q: np.ndarray) -> dict[str, Any]:
    owed = np.maximum(p - q, 0)
    law, mass = (owed / owed.sum(), float(owed.sum())) if kind == "residual" else (p, None)
    u = float(rng.random())
    token, low, high = _interval(law, u)
    residual = kind == "residual"
    return {
        "kind": kind, "id": token, "u": u, "low": low, "high": high, "p": float(p[token]), "q": float(q[token]) if residual else None,
        "mass": mass, "overlap": float(np.minimum(p, q).sum()) if residual else None, "entropy_p": _entropy(p),
        "entropy_q": _entropy(q) if residual else None, "fallback": False, "row": None if residual else _row(p, q, [token]),
    }  # fmt: skip


def _step(rng: np.random.Generator, size: int, k: int) -> dict[str, Any]:
    drafts, rejected = [], None
    for _ in range(k):
        draft, p, q = _draft(rng, size)
        if rejected:
            draft.update(state="discarded", coin=None, overlap=None, mass=None)
        elif draft["state"] == "rejected":
            rejected = (p, q, draft)
        drafts.append(draft)
    if rejected:
        final = _final(rng, "residual", *rejected[:2])
        rejected[2]["row"] = _row(*rejected[:2], [rejected[2]["id"], final["id"]])
    else:
        final = _final(rng, "bonus", _law(rng, size), _law(rng, size))
    return {"drafts": drafts, "final": final}


def fixture_trace(
    seed: int = 7, k: int = 4, steps: int = 12, words: list[str] = WORDS, run_id: str = "fixture"
) -> dict[str, Any]:
    """A trace of `steps` steps over the vocabulary `words`, every number consistent with every other."""
    rng = np.random.default_rng(seed)
    done: list[dict[str, Any]] = []
    token_ids: list[int] = []
    drafted = 0
    for number in range(1, steps + 1):
        step = _step(rng, len(words), k)
        token_ids += [draft["id"] for draft in step["drafts"] if draft["state"] == "accepted"] + [
            step["final"]["id"]
        ]
        drafted += k
        done.append({
            "step": number, "k": k, "k_reason": None, **step, "extra": None,
            "ms": {"draft": 9.0, "verify": 49.0, "rest": 3.0, "step": 61.0},
            "totals": {"tokens": len(token_ids), "target_passes": number, "draft_passes": drafted},
        })  # fmt: skip
    settings = {
        "label": "", "pair": "fixture", "draft": {"kind": "noise", "name": "noise"}, "k": k, "temperature": 1.0, "top_k": 0, "top_p": 1.0,
        "seed": seed, "max_new_tokens": len(token_ids), "chat": False, "end_ids": [], "top_m": M, "fault": None, "overrides": [],
    }  # fmt: skip
    source = {"source": "none", "sha256": None, "dtype": "float64", "device": "cpu"}
    return {
        "format": "specviz-trace", "version": 1, "run_id": run_id, "parent": None, "created": "2026-01-01T00:00:00+00:00",
        "settings": settings, "weights": {"target": source, "draft": source}, "machine": "test", "prompt": {"text": "Once", "ids": [0]},
        "tokens": {str(i): word for i, word in enumerate(words)}, "prefill_ms": {"target": 1.0, "draft": 1.0}, "costs": None,
        "baseline": None, "steps": done, "token_ids": token_ids, "stop": "length",
    }  # fmt: skip
