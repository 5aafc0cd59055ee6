import dataclasses

import pytest
import torch

from specviz.decoding.drafters import LookupDrafter, ModelDrafter, NoiseDrafter, input_ids
from specviz.decoding.rules import EXACT
from specviz.decoding.sampling import Sampling
from specviz.models.toy import ToyCursor, toy_model

CPU = torch.device("cpu")


def law(logits):
    return EXACT.draft_law(logits, Sampling(1.0))


def propose(drafter, sequence, k, u=0.5):
    return drafter.propose(sequence, k, lambda position: u, law)


@pytest.mark.parametrize(
    ("sequence", "k", "copied"),
    [
        ([1, 2, 3, 4, 9, 2, 3, 4], 3, [9, 2, 3]),
        ([1, 2, 3, 7, 2, 3, 8, 1, 2, 3], 1, [7]),  # three tokens match before a later match of two
        ([5, 6, 5, 7, 5], 2, [7, 5]),  # the latest match, and no further than the text goes
        ([4, 4, 4], 4, [4]),
        ([1, 2, 3], 4, []),
        ([1], 4, []),
        ([1, 2, 1, 2], 0, []),
    ],
)
def test_lookup_copies_what_followed_the_latest_longest_match(sequence, k, copied):
    proposal = propose(LookupDrafter(10, CPU), sequence, k)
    assert proposal.ids == copied
    for token, row in zip(copied, proposal.tested, strict=True):
        assert row.tolist() == [float(i == token) for i in range(10)]


@pytest.mark.parametrize("u", [0.0, 0.37, 0.999])
def test_a_lookup_is_drawn_like_any_other_law(u):
    proposal = propose(LookupDrafter(10, CPU), [1, 2, 1, 2], 2, u)
    assert [(drawn.low, drawn.high) for drawn in proposal.draws] == [(0.0, 1.0)] * 2


def test_noise_is_uniform_over_the_targets_vocabulary():
    proposal = propose(NoiseDrafter(8, CPU), [1], 3, u=0.49)
    assert proposal.ids == [3] * 3
    assert all(row.tolist() == [1 / 8] * 8 for row in proposal.tested)


def test_the_drawn_row_is_the_tested_row():
    proposal = propose(ModelDrafter(toy_model(0.5), 100, CPU), [1, 2], 4, u=0.3)
    for row, ends, drawn in zip(proposal.tested, proposal.ends, proposal.draws, strict=True):
        assert drawn.high - drawn.low == pytest.approx(float(row[drawn.id]), abs=1e-15)
        assert torch.equal(torch.minimum(row.cumsum(0), torch.tensor(1.0))[:-1], ends[:-1])


class Fixed(ToyCursor):
    """Answers with the same logits, as many as it is given, and remembers what it read."""

    def __init__(self, logits):
        super().__init__(1.0)
        self.logits, self.vocab = torch.tensor(logits, dtype=torch.float64), len(logits)

    def extend(self, ids, rows):
        self._read.extend(ids)
        return self.logits.repeat(rows, 1)


def fixed(logits, **changes):
    cursor = Fixed(logits)
    return dataclasses.replace(toy_model(1.0), vocab=len(logits), cursor=lambda: cursor, **changes), cursor


def test_a_smaller_draft_vocabulary_has_no_mass_beyond_it():
    model, _ = fixed([0.0, 0.0, 0.0])
    assert propose(ModelDrafter(model, 5, CPU), [0], 1).law(0).tolist() == pytest.approx([1 / 3] * 3 + [0, 0])


def test_a_larger_draft_vocabulary_is_masked_before_the_warp():
    model, _ = fixed([1.0, 1.0, 9.0])
    assert propose(ModelDrafter(model, 2, CPU), [0], 1).law(0).tolist() == [0.5, 0.5]


def test_a_trimmed_vocabulary_is_mapped_onto_the_targets_ids():
    model, cursor = fixed([0.0, 1.0], id_map=torch.tensor([4, 1]))
    proposal = propose(ModelDrafter(model, 5, CPU), [0, 1], 2, u=0.9)
    e = 2.718281828459045
    assert proposal.law(0).tolist() == pytest.approx([0, e / (1 + e), 0, 0, 1 / (1 + e)])
    assert proposal.ids == [4, 4]  # in the target's id order the second half of the interval is id 4's
    assert cursor._read == [
        0,
        1,
        0,
    ]  # it reads in its own ids: 1 is its row 1, 4 its row 0, and 0 is not known to it


def test_ids_without_an_input_row_are_read_as_the_drafts_end_token():
    model, _ = fixed([0.0] * 4, end_ids=frozenset({2}))
    feed = input_ids(model)
    assert [feed(token) for token in (0, 3, 4, 99)] == [0, 3, 2, 2]
    trimmed, _ = fixed([0.0] * 2, id_map=torch.tensor([7, 2]), end_ids=frozenset({2}))
    assert [input_ids(trimmed)(token) for token in (7, 2, 0)] == [0, 1, 1]
