"""Every classic mistake changes the law by exactly the figure it should, and the enumeration sees it in a real model."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from specviz import EXACT, Sampling, SpecVizError, Trace, decode, load_pair, replay
from specviz.__main__ import main
from specviz.exactness.faults import FAULTS, fault_named
from specviz.exactness.findings import ROUNDING, Finding, complaints, findings, in_table, with_tiny_models
from specviz.exactness.one_step import first_token, position_of_laws
from specviz.exactness.worlds import FOUR, FOUR_DRAFT, START, P, Q, tiny_pair

REFERENCE = {  # total variation of the first token and of the first three, on the tables over three tokens
    "argmax-draft": ("3/10", "33/100"),
    "resample-from-p": ("3/20", "3/20"),
    "resample-without-rejected": ("53/560", "53/560"),
    "absolute-difference": ("3/20", "17/100"),
    "clamped-residual": ("3/150010", "3/150010"),
    "bonus-after-rejection": ("0", "23/200"),
    "argmax-bonus": ("0", "19/100"),
    "bonus-from-q": ("0", "313/2000"),
    "tested-at-temperature-1": ("27/361", "2241/27436"),
    "drawn-at-temperature-1": ("27/475", "14911/262200"),
    "target-at-temperature-1": ("3/19", "4692363/26818690"),
    "tested-untruncated": ("3/32", "3/32"),
    "target-untruncated": ("1/5", "113/400"),
    "sample-or-coin": ("2/25", "2/25"),
    "lenience-0.8": ("1/8", "1/8"),
    "lenience-0.5": ("3/10", "8/25"),
    "inverted-ratio": ("3/10", "53/144"),
    "drop-unsure-draft": ("1/10", "14/125"),
    "one-coin": ("0", "7/100"),
    "sample-engine": ("70000000/166666667", "92500000/166666667"),
}
ONE_POSITION = {  # total variation of one token: on the tables over three tokens, and on those over four
    "coin-is-draft-uniform": ("1/5", "3/20"),
    "residual-reuses-coin": ("0", "3/20"),
    "one-uniform-a-position": ("1/5", "39/140"),
}
DEFAULT_TARGET_VOCABULARY = 49_152
EXACT_ROWS = {
    "argmax-draft-one-hot",
    "exact-match",
    "no-bonus",
    "stop-after-unsure-draft",
    "draft-at-temperature-1",
}


@cache
def everything() -> dict[tuple[str | None, str], Finding]:
    return {
        (finding.fault.name if finding.fault else None, finding.world): finding for finding in findings("all")
    }


def total_variation_of(one: list[float], other: list[float]) -> float:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / 2


def test_every_fault_has_a_reference() -> None:
    assert {*REFERENCE, *ONE_POSITION, *EXACT_ROWS} == {*FAULTS}
    assert {name for name, fault in FAULTS.items() if fault.exact} == EXACT_ROWS


@pytest.mark.parametrize("name", REFERENCE)
def test_a_fault_is_off_by_its_reference(name: str) -> None:
    found = everything()[name, "three tokens"]
    first, three = (float(Fraction(figure)) for figure in REFERENCE[name])
    assert found.first == pytest.approx(first, abs=1e-9)
    assert found.three == pytest.approx(three, abs=1e-9)


@pytest.mark.parametrize("name", ONE_POSITION)
def test_a_fault_of_one_position_is_off_by_its_reference(name: str) -> None:
    for world, figure in zip(("three tokens", "four tokens"), ONE_POSITION[name], strict=True):
        assert everything()[name, world].first == pytest.approx(float(Fraction(figure)), abs=1e-9)


@pytest.mark.parametrize("name", sorted({*REFERENCE, *ONE_POSITION}))
def test_the_enumeration_of_a_real_model_fails_with_the_fault(name: str) -> None:
    assert everything()[name, "tiny model"].three > 1e-6
    assert not everything()[name, "tiny model"].exact


@pytest.mark.parametrize("name", [None, *sorted(EXACT_ROWS)])
def test_what_only_looks_like_a_mistake_is_exact(name: str | None) -> None:
    for (fault, _), finding in everything().items():
        if fault == name:
            assert finding.three < ROUNDING and finding.exact


def test_nothing_is_to_be_complained_about_unless_a_law_is_not_what_it_should_be() -> None:
    found = list(everything().values())
    assert list(complaints(found)) == []
    worlds = [finding for finding in found if finding.fault and finding.fault.name == "residual-reuses-coin"]
    unseen = [finding for finding in worlds if finding.world == "three tokens"]
    assert "right in every world" in next(complaints(unseen))
    off = everything()["resample-from-p", "three tokens"]
    wrong = Finding("three tokens", None, off.sampling, off.k, off.paths, off.law, off.target)
    assert "the algorithm is exact, but" in next(complaints([wrong]))


def test_every_fault_says_what_it_does_and_why_it_is_wrong() -> None:
    for name, fault in FAULTS.items():
        assert fault.name == name == fault.rules.name
        assert fault.does.endswith(".") and fault.why.endswith(".") and fault.row
        assert fault.why.startswith("Exact:") == fault.exact
    assert EXACT.name is None


# --- what the descriptions say ----------------------------------------------------------------------------------------


def first_law(name: str, p: list[float], q: list[float]) -> list[float]:
    law = first_token(position_of_laws(p, q), FAULTS[name].rules)
    return (law.kept + law.drawn).tolist()


def law_of(name: str, place: int, before: tuple[int, ...] = ()) -> list[float]:
    """The law of a text's token at a place, counted from 0, among the texts that begin in one way."""
    texts = everything()[name, "three tokens"].law.items()
    weights = [
        sum(weight for text, weight in texts if text[: len(before)] == before and text[place] == token)
        for token in range(3)
    ]
    return [weight / sum(weights) for weight in weights]


def test_what_is_drawn_from_the_absolute_difference_is_halfway_from_p_to_q() -> None:
    """So half of what a token was drafted too often stays."""
    p, q = P[START], Q[START]
    assert "half of what they had too much stays: halfway from p to q" in FAULTS["absolute-difference"].why
    halfway = [(own + drafted) / 2 for own, drafted in zip(p, q, strict=True)]
    assert first_law("absolute-difference", p, q) == pytest.approx(halfway, abs=1e-12)
    # not where p and q are the same, and not "as much again", which would be q
    assert abs(halfway[1] - p[1]) > 0.05 < abs(halfway[1] - q[1])


def test_the_crumbs_of_a_clamped_residual_add_up_with_a_real_vocabulary() -> None:
    words = re.search(
        r"with ([\d,]+) and ([\d.]+) owed, (\d+) % .* off by ([\d.]+)\.$", FAULTS["clamped-residual"].why
    )
    assert words
    vocabulary, owed = int(words[1].replace(",", "")), float(words[2])
    assert vocabulary == DEFAULT_TARGET_VOCABULARY
    p, q = ([0.5, 0.5], [0.5 + owed, 0.5 - owed])
    rest = [0.0] * (vocabulary - 2)
    law = first_law("clamped-residual", p + rest, q + rest)
    wrong = (sum(law[2:]) + law[0] - p[0]) / owed  # of the replacements, those that are owed nothing
    assert round(100 * wrong) == int(words[3])
    assert round(sum(max(0.0, got - own) for got, own in zip(law, p + rest, strict=True)), 2) == float(
        words[4]
    )
    assert everything()["clamped-residual", "three tokens"].three < 1e-4


def test_a_coin_that_is_the_drafts_number_still_keeps_what_p_likes_better() -> None:
    """Only a draft with p < q depends on its place: with the tokens in another order the law is another one."""
    p, q = FOUR[START], FOUR_DRAFT[START]
    kept = first_token(position_of_laws(p, q), FAULTS["coin-is-draft-uniform"].rules).kept
    liked = [token for token in range(4) if p[token] >= q[token]]
    assert liked and [kept[token] for token in liked] == pytest.approx([q[token] for token in liked])
    backwards = first_law("coin-is-draft-uniform", p[::-1], q[::-1])[::-1]
    assert total_variation_of(backwards, first_law("coin-is-draft-uniform", p, q)) > 0.05
    assert first_law("resample-from-p", p[::-1], q[::-1])[::-1] == pytest.approx(
        first_law("resample-from-p", p, q)
    )


def test_one_coin_draws_the_later_tokens_towards_the_draft() -> None:
    target = everything()[None, "three tokens"].target
    own = [
        [sum(w for text, w in target.items() if text[place] == token) for token in range(3)]
        for place in range(3)
    ]
    off = [total_variation_of(law_of("one-coin", place), own[place]) for place in range(3)]
    assert off == pytest.approx([0, 0.05, 0.0246666667], abs=1e-9)
    moved = 0
    for first in range(3):
        for got, p, q in zip(law_of("one-coin", 1, (first,)), P[first], Q[first], strict=True):
            assert min(p, q) - 1e-12 <= got <= max(p, q) + 1e-12
            moved += abs(got - p) > 0.01
    assert moved >= 4


def test_lenience_keeps_up_to_twice_as_often() -> None:
    p, q = [0.1, 0.9], [0.5, 0.5]
    kept = {
        name: first_token(position_of_laws(p, q), FAULTS[name].rules).kept[0]
        for name in ("lenience-0.5", "lenience-0.8")
    }
    assert kept["lenience-0.5"] == pytest.approx(2 * 0.1) and kept["lenience-0.8"] == pytest.approx(0.1 / 0.8)


def test_the_sample_engine_is_four_switches_and_a_fifth_mistake_that_one_step_does_not_show() -> None:
    """Its figure is the same without the fifth; the fifth alone leaves a step right, and whole runs of a model wrong."""
    engine = FAULTS["sample-engine"]
    four = replace(engine, rules=replace(engine.rules, address=EXACT.address))
    fifth = replace(engine, rules=replace(EXACT, name="seeded-every-step", address=engine.rules.address))
    whole = everything()["sample-engine", "three tokens"].three
    assert in_table("three tokens", P, Q, four).three == pytest.approx(whole, abs=1e-12)
    assert in_table("three tokens", P, Q, fifth).exact
    assert with_tiny_models(fifth).first < ROUNDING and with_tiny_models(fifth).three > 0.05
    for name in ("argmax-draft", "resample-from-p", "bonus-after-rejection", "argmax-bonus"):
        changed = [
            field
            for field in ("draft_law", "residual", "finals", "bonus_law")
            if getattr(FAULTS[name].rules, field) is not getattr(EXACT, field)
        ]
        assert len(changed) == 1
        assert getattr(engine.rules, changed[0]) is getattr(FAULTS[name].rules, changed[0])


def test_a_trace_that_knows_a_fault_by_its_former_name_still_replays() -> None:
    trace = decode(load_pair("toy"), "1 15 42", max_new_tokens=8, rules=FAULTS["sample-engine"].rules)
    trace.data["settings"]["fault"] = "article-engine"
    assert replay(trace) == []


# --- a run with a fault -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAULTS)
def test_a_run_with_a_fault_says_so_and_replays_by_that_faults_rules(name: str) -> None:
    sampling = Sampling(0.9, top_k=5, top_p=0.95)
    for pair, prompt in ((load_pair("toy"), "1 15 42"), (tiny_pair(6), [0, 1])):
        for seed in range(3):
            trace = decode(
                pair, prompt, k=4, max_new_tokens=16, seed=seed, sampling=sampling, rules=FAULTS[name].rules
            )
            assert trace.data["settings"]["fault"] == name
            assert replay(Trace.from_json(trace.to_json())) == []
            assert len(trace.token_ids) <= 16
            with pytest.raises(SpecVizError, match="JSON only"):
                trace.to_csv()


@pytest.mark.parametrize(
    "name",
    [
        "resample-from-p",
        "bonus-after-rejection",
        "no-bonus",
        "inverted-ratio",
        "one-coin",
        "drop-unsure-draft",
    ],
)
def test_a_run_with_a_fault_does_not_replay_as_the_algorithm(name: str) -> None:
    """Otherwise the replay would not check what the fault changed."""
    differences = 0
    for seed in range(5):
        trace = decode(
            load_pair("toy"),
            "1 15 42",
            k=4,
            max_new_tokens=24,
            seed=seed,
            sampling=Sampling(0.9),
            rules=FAULTS[name].rules,
        )
        trace.data["settings"]["fault"] = None
        differences += len(replay(trace))
    assert differences


def test_a_second_final_draw_is_replayed_like_the_first() -> None:
    pair, rules = load_pair("toy"), FAULTS["bonus-after-rejection"].rules
    traces = [
        decode(pair, "1 15 42", k=2, max_new_tokens=16, seed=seed, rules=rules, sampling=Sampling(0.9))
        for seed in range(4)
    ]
    both = next((t, s) for t in traces for s in t.data["steps"] if s["extra"] is not None)
    trace, step = both
    assert [step["final"]["kind"], step["extra"]["kind"]] == ["residual", "bonus"]
    step["extra"]["u"] /= 2
    assert any("the random number at" in text for text in replay(trace))
    step["extra"] = None
    assert any("residual and bonus was due" in text for text in replay(trace))


def test_a_fault_in_one_run_does_not_touch_another() -> None:
    pair, wrong = load_pair("toy"), FAULTS["sample-engine"].rules
    before = decode(pair, "1 15 42", max_new_tokens=12).token_ids
    decode(pair, "1 15 42", max_new_tokens=12, rules=wrong)
    assert decode(pair, "1 15 42", max_new_tokens=12).token_ids == before


def test_a_fault_never_goes_on_after_an_end_token() -> None:
    pair = tiny_pair(3)
    for seed in range(40):
        for name in ("bonus-after-rejection", "sample-engine"):
            ids = decode(pair, [0, 1], k=2, max_new_tokens=8, seed=seed, rules=FAULTS[name].rules).token_ids
            assert not set(ids[:-1]) & pair.target.end_ids


@pytest.mark.parametrize("name", ["no-such", "", ["no-bonus"], 3])
def test_an_unknown_fault_lists_the_known_ones(name: object) -> None:
    with pytest.raises(SpecVizError, match="no-bonus, tested-at"):
        fault_named(name)
    trace = decode(load_pair("toy"), "1 15 42", max_new_tokens=4)
    trace.data["settings"]["fault"] = name
    with pytest.raises(SpecVizError, match="no-bonus, tested-at"):
        replay(trace)


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_prints_laws_and_writes_json(tmp_path, capsys) -> None:
    path = tmp_path / "x.json"
    assert main(["exactness", "--fault", "argmax-draft", "--json", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "argmax-draft" in printed and FAULTS["argmax-draft"].why in printed
    assert "0.33" in printed
    findings_ = json.loads(path.read_text())
    assert [(entry["fault"], entry["world"]) for entry in findings_] == [
        (None, "three tokens"),
        (None, "four tokens"),
        (None, "tiny model"),
        ("argmax-draft", "three tokens"),
        ("argmax-draft", "tiny model"),
    ]
    right, wrong = findings_[0], findings_[3]
    assert right["exact"] and not wrong["exact"]
    assert right["law"] == pytest.approx(right["target"], abs=1e-12)
    assert wrong["total_variation"]["three_tokens"] == pytest.approx(0.33, abs=1e-9)


def test_the_command_refuses_an_unknown_fault_in_one_line(capsys) -> None:
    assert main(["exactness", "--fault", "nix"]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and "resample-from-p" in printed.err


def test_the_command_refuses_a_file_that_cannot_be_written_before_it_starts(tmp_path, capsys) -> None:
    assert main(["exactness", "--json", str(tmp_path)]) == 2
    assert "can't be written" in capsys.readouterr().err


def test_the_command_exits_with_one_where_a_law_is_off(monkeypatch, capsys) -> None:
    monkeypatch.setattr("specviz.exactness.findings.EXACT", FAULTS["resample-from-p"].rules)
    assert main(["exactness"]) == 1
    assert "is off by 0.15" in capsys.readouterr().out
