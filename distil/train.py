"""Distil the student, on one or more processes, for a given time; a stopped run goes on where its last checkpoint was.

    python -m distil.train --target FOLDER --prepared prepared --run run --minutes 110 --workers 2

Data-parallel: every worker has one thread, reads its own batches and sums gradients with the others (gloo: waiting sleeps). The
learning rate follows the time spent, not the steps, so that a busy machine gets a whole schedule too. RUN/log.jsonl gets a
line per evaluation, RUN/best.pt the averaged weights with the best held-out overlap, RUN/state.pt all that resuming needs.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from transformers import AutoModelForCausalLM

from distil.losses import Batch, distillation_losses
from distil.prepare import TEMPERATURES
from distil.rows import Rows, load_rows
from distil.student import Student, cut_student

AVERAGE = 0.998  # decay of the weights' running average, a step
WARM_UP = 0.02  # of the time
CLIP = 1.0  # the longest gradient
OVERLAP_FROM = 0.4  # of the time: from here on the overlap joins the loss


class Progress:
    """Seconds of training so far, over all sessions of a run, as a share of the budget."""

    def __init__(self, budget: float, spent: float):
        self.budget, self.begun = budget, time.monotonic() - spent

    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def share(self) -> float:
        return self.seconds() / self.budget


def learning_rate(peak: float, share: float) -> float:
    """Linear warm-up, then a cosine down to a hundredth of the peak at share 1."""
    if share < WARM_UP:
        return peak * max(share, 1e-3) / WARM_UP
    return peak * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, (share - WARM_UP) / (1 - WARM_UP)))))


def epoch_batches(
    rows: Rows, weight: np.ndarray, epoch: int, tokens: int, workers: int
) -> list[list[np.ndarray]]:
    """One epoch in an order of its own: for each step, a list of row indices for each worker, at most `tokens` padded ids each.

    A row of weight w is used floor(w) times and once more with the chance that is left."""
    rng = np.random.default_rng(epoch)
    use = np.repeat(np.arange(len(rows)), np.floor(weight + rng.random(len(rows))).astype(int))
    rng.shuffle(use)
    lengths = np.diff(rows.start)
    batches: list[np.ndarray] = []
    for pool in np.array_split(use, max(1, len(use) // 512)):
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        while len(pool):
            room = np.arange(1, len(pool) + 1) * lengths[pool]
            n = max(1, int((room <= tokens).sum()))
            batches.append(pool[:n])
            pool = pool[n:]
    order = rng.permutation(len(batches))
    return [[batches[j] for j in order[i : i + workers]] for i in range(0, len(order) - workers + 1, workers)]


def padded(rows: Rows, indices: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids [rows, length], padded on the right with 0, and where the target's opinion is known, bool, same shape."""
    width = int(max(rows.start[i + 1] - rows.start[i] for i in indices))
    ids = np.zeros((len(indices), width), np.int64)
    where = np.zeros((len(indices), width), bool)
    for r, i in enumerate(indices):
        row, scored, first = rows.row(i), rows.scored(i), int(rows.start[i])
        ids[r, : row.stop - row.start] = rows.tokens[row]
        where[r, scored.start - first : scored.stop - first] = True
    return torch.from_numpy(ids), torch.from_numpy(where)


def scored_positions(rows: Rows, indices: np.ndarray) -> np.ndarray:
    return np.concatenate([np.arange(s.start, s.stop) for s in map(rows.scored, indices)])


def known(rows: Rows, drawn: np.ndarray, at: np.ndarray) -> Batch:
    return Batch(
        torch.from_numpy(rows.top_ids[at].astype(np.int64)),
        torch.from_numpy(rows.top_logp[at].astype(np.float32)),
        torch.from_numpy(drawn[at].astype(np.int64)),
    )


def fit_tail(rows: Rows, extra: dict[str, np.ndarray]) -> float:
    """The `tail` of losses.target_law for TEMPERATURES[0], from the held-out rows, whose whole laws are known."""
    power = 1 / TEMPERATURES[0]
    p = np.exp(rows.top_logp[scored_positions(rows, np.arange(len(rows)))].astype(np.float64))
    rest = np.clip(1 - p.sum(-1), 0, None)
    scaled = np.exp(extra["normaliser"][:, 0] - extra["normaliser"][:, 1] * power) - (p**power).sum(-1)
    use = (rest > 0.02) & (scaled > 0)
    return float(np.exp(np.mean(np.log(scaled[use] / rest[use]) / (power - 1) - np.log(p[use, -1]))))


@torch.inference_mode()
def evaluate(
    student: Student, rows: Rows, extra: dict[str, np.ndarray], rank: int, workers: int
) -> dict[str, float]:
    """Full-vocabulary overlap at each of TEMPERATURES and greedy agreement on the held-out rows, shared among the workers."""
    sums = torch.zeros(len(TEMPERATURES) + 2, dtype=torch.float64)
    offset = np.concatenate(
        [[0], np.cumsum([rows.scored(i).stop - rows.scored(i).start for i in range(len(rows))])]
    )
    for i in range(rank, len(rows), workers):
        ids, where = padded(rows, np.array([i]))
        with torch.autocast("cpu", torch.bfloat16):
            z = student(ids, where).float()
        part = slice(offset[i], offset[i + 1])
        target = torch.from_numpy(extra["logits"][part]).float()
        for t, temperature in enumerate(TEMPERATURES):
            p = (target / temperature - torch.from_numpy(extra["normaliser"][part, t])[:, None]).exp()
            sums[t] += torch.minimum(p, torch.softmax(z / temperature, -1)).sum()
        sums[-2] += (z.argmax(-1) == torch.from_numpy(extra["best"][part])).sum()
        sums[-1] += len(z)
    if workers > 1:
        dist.all_reduce(sums)
    names = [f"overlap_{t}" for t in TEMPERATURES] + ["greedy"]
    return {name: round(float(sums[i] / sums[-1]), 5) for i, name in enumerate(names)}


def flat_gradients(student: Student) -> torch.Tensor:
    """One buffer behind all gradients, so that workers sum them in one message; its last element carries the clock."""
    parameters = [p for p in student.parameters() if p.requires_grad]
    buffer = torch.zeros(sum(p.numel() for p in parameters) + 1)
    at = 0
    for p in parameters:
        p.grad = buffer[at : at + p.numel()].view_as(p)
        at += p.numel()
    return buffer


def save(path: Path, state: dict) -> None:
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    os.replace(partial, path)


@dataclass
class Place:
    """How far a run has come: steps, passes over the rows, steps of this pass, tokens, seconds, the best held-out overlap."""

    step: int = 0
    epoch: int = 0
    done: int = 0
    tokens: int = 0
    spent: float = 0.0
    best: float = 0.0


class Worker:
    """One of the processes that train a student together; every one holds the same weights."""

    def __init__(self, rank: int, args: argparse.Namespace) -> None:
        self.rank, self.args, self.place = rank, args, Place()
        self.rows, extra = load_rows(args.prepared / "train.npz")
        self.drawn, self.weight = extra["drawn"], extra["weight"]
        self.test, self.test_extra = load_rows(args.prepared / "heldout.npz")
        self.tail = fit_tail(self.test, self.test_extra)
        id_map = torch.from_numpy(np.load(args.prepared / "head.npz")["id_map"])
        target = AutoModelForCausalLM.from_pretrained(args.target, dtype=torch.float32)
        self.student = cut_student(target, args.layers, id_map)
        self.average = copy.deepcopy(self.student).requires_grad_(False)
        self.optimizer = self._optimizer()
        self._resume()
        self.buffer = flat_gradients(self.student)
        self.progress = Progress(args.minutes * 60, self.place.spent)
        self.share = self.progress.share()  # what all workers agree on
        self.sums = torch.zeros(
            3, dtype=torch.float64
        )  # cross-entropy, overlap, positions since the last look

    def _optimizer(self) -> torch.optim.Optimizer:
        matrices = [p for p in self.student.parameters() if p.ndim > 1]
        others = [p for p in self.student.parameters() if p.ndim <= 1]
        groups = [
            {"params": matrices, "weight_decay": self.args.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=True)

    def _resume(self) -> None:
        saved = self.args.run / "state.pt"
        if not saved.exists():
            return
        state = torch.load(saved, weights_only=True)
        for name in ("student", "average", "optimizer"):
            getattr(self, name).load_state_dict(state[name])
        self.place = Place(**{f.name: state[f.name] for f in fields(Place)})

    def train(self) -> None:
        """Train until the time is up, looking at the held-out rows now and then."""
        place, every = self.place, self.args.every * 60
        next_look = place.spent + every if place.step else 0.0
        for batch in self._batches():
            seconds = self.share * self.args.minutes * 60
            if seconds >= next_look:
                self.look()
                next_look = seconds + every
            if self.share >= 1 or (self.args.steps and place.step >= self.args.steps):
                break
            self.step(batch[self.rank])
            place.done += 1
        self.look()

    def _batches(self) -> Iterator[list[np.ndarray]]:
        """Every worker's rows for one step after another, from the run's place on, without end."""
        place = self.place
        while True:
            epoch = epoch_batches(
                self.rows, self.weight, place.epoch, self.args.batch_tokens, self.args.workers
            )
            yield from epoch[place.done :]
            place.epoch, place.done = place.epoch + 1, 0

    def step(self, batch: np.ndarray) -> None:
        """One step on this worker's rows and, through the summed gradients, on everybody's."""
        ids, where = padded(self.rows, batch)
        facts = known(self.rows, self.drawn, scored_positions(self.rows, batch))
        with torch.autocast("cpu", torch.bfloat16):
            logits = self.student(ids, where)
        cross_entropy, overlap = distillation_losses(logits, facts, TEMPERATURES[0], self.tail)
        self.buffer.zero_()
        blend(cross_entropy.mean(), overlap.mean(), self.share).backward()
        self._update()
        self.place.step += 1
        self.place.tokens += len(overlap) * self.args.workers
        self.sums += torch.tensor(
            [float(cross_entropy.detach().sum()), float(overlap.detach().sum()), len(overlap)]
        )

    def _update(self) -> None:
        """Average the gradients over the workers, agree on the time, clip, step, and move the running average."""
        self.buffer[-1] = self.progress.share()
        if self.args.workers > 1:
            dist.all_reduce(self.buffer)
            self.buffer /= self.args.workers
        self.share = float(self.buffer[-1])
        self.buffer[-1] = 0
        self.buffer *= min(1.0, CLIP / (float(self.buffer.norm()) + 1e-6))
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.args.rate, self.share)
        self.optimizer.step()
        new = 1 - min(AVERAGE, (self.place.step + 1) / (self.place.step + 20))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.parameters()), list(self.student.parameters()), new)

    def look(self) -> None:
        """Evaluate the averaged weights; the first worker logs, keeps the best and saves what resuming needs."""
        scores = evaluate(self.average, self.test, self.test_extra, self.rank, self.args.workers)
        if self.rank:
            return
        self.place.spent = self.progress.seconds()
        cross_entropy, overlap = (float(x) for x in self.sums[:2] / self.sums[2].clamp_min(1))
        self.sums.zero_()
        place = self.place
        line = {
            "seconds": round(place.spent),
            "step": place.step,
            "epoch": place.epoch,
            "tokens": place.tokens,
        }
        line |= {"train_loss": round(cross_entropy, 4), "train_overlap": round(overlap, 4)} | scores
        with (self.args.run / "log.jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)
        if scores["overlap_0.8"] > place.best:
            place.best = scores["overlap_0.8"]
            best = {"average": self.average.state_dict(), "layers": self.args.layers, "log": line}
            save(self.args.run / "best.pt", best)
        models = {name: getattr(self, name).state_dict() for name in ("student", "average", "optimizer")}
        save(self.args.run / "state.pt", models | asdict(place))


def blend(cross_entropy: torch.Tensor, overlap: torch.Tensor, share: float) -> torch.Tensor:
    """The loss: cross-entropy at first, later exp(-3 overlap) of it and the rest of 1 - overlap (LK losses, arXiv 2602.23881)."""
    if share <= OVERLAP_FROM:
        return cross_entropy
    mix = math.exp(-3 * float(overlap.detach()))
    return mix * cross_entropy + (1 - mix) * (1 - overlap)


def work(rank: int, args: argparse.Namespace) -> None:
    """One worker's whole life."""
    torch.set_num_threads(args.threads)
    if args.workers > 1:
        meeting = f"file://{args.run.resolve()}/rendezvous"
        # a worker may be stopped for a while: nobody gives up waiting for it
        dist.init_process_group(
            "gloo", init_method=meeting, rank=rank, world_size=args.workers, timeout=timedelta(days=1)
        )
    Worker(rank, args).train()
    if args.workers > 1:
        dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path, required=True, help="folder with the target's safetensors")
    parser.add_argument("--prepared", type=Path, required=True, help="what distil.prepare wrote")
    parser.add_argument(
        "--run", type=Path, required=True, help="folder of this run; an existing one is resumed"
    )
    parser.add_argument("--minutes", type=float, default=110)
    parser.add_argument(
        "--steps", type=int, default=0, help="stop after so many steps (0: only when the time is up)"
    )
    parser.add_argument("--every", type=float, default=5, help="minutes between evaluations and checkpoints")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="a worker's threads")
    parser.add_argument("--layers", type=lambda s: [int(x) for x in s.split(",")], default=[0, -1])
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--weight-decay", type=float, default=0.05)
    parser.add_argument("--batch-tokens", type=int, default=1600, help="padded ids of a worker's batch")
    args = parser.parse_args()
    args.run.mkdir(parents=True, exist_ok=True)
    (args.run / "rendezvous").unlink(missing_ok=True)
    if args.workers == 1:
        work(0, args)
    else:
        mp.spawn(work, (args,), nprocs=args.workers)


if __name__ == "__main__":
    main()
