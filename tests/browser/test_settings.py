"""Every cap that the page enforces by itself, without a browser: widgets' bounds are not trusted."""

from __future__ import annotations

import math
from typing import Any

import pytest

from specviz.errors import SpecVizError
from specviz.page.settings import read_settings

GOOD: dict[str, Any] = {
    "prompt": "1 15 42", "pair": "toy", "draft": "model", "k": 4, "temperature": 0.8, "top_k": 0, "top_p": 1.0,
    "max_new_tokens": 64, "seed": 7, "chat": None, "agreement": 0.9,
}  # fmt: skip
BAD: list[tuple[str, Any]] = [
    ("prompt", ""), ("prompt", " \n\t"), ("prompt", None), ("prompt", 7), ("prompt", "x" * 8001),
    ("pair", "gpt-9"), ("pair", "/etc"), ("pair", None), ("draft", "oracle"), ("draft", "/etc"),
    ("k", -1), ("k", 17), ("k", 2.5), ("k", None), ("k", "4"), ("k", True), ("k", math.nan), ("k", math.inf),
    ("temperature", -0.1), ("temperature", 2.1), ("temperature", math.nan), ("temperature", None), ("temperature", "hot"),
    ("top_k", -1), ("top_k", 1.5), ("top_p", 0), ("top_p", 1.1), ("top_p", None),
    ("max_new_tokens", 0), ("max_new_tokens", 257), ("max_new_tokens", None),
    ("seed", -1), ("seed", 2**53), ("seed", 0.5), ("chat", "maybe"), ("chat", 1), ("agreement", 1.1), ("agreement", None),
]  # fmt: skip


def test_good_settings_pass_and_whole_floats_count_as_whole() -> None:
    settings = read_settings(*{**GOOD, "k": 4.0, "seed": 7.0}.values())
    assert (settings.options.k, settings.options.seed, settings.options.sampling.temperature) == (4, 7, 0.8)
    assert isinstance(settings.options.k, int)


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_setting_is_refused_in_one_sentence(name: str, value: Any) -> None:
    with pytest.raises(SpecVizError) as caught:
        read_settings(*{**GOOD, name: value}.values())
    text = str(caught.value)
    assert text.endswith((".", "in it.")) and "\n" not in text and len(text) < 200


def test_an_empty_draft_is_the_pairs_own() -> None:
    assert read_settings(*{**GOOD, "draft": ""}.values()).draft == "model"
