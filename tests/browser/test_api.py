"""The public endpoints, through Gradio's own client."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pandas as pd
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from specviz import Trace, decode, load_pair, replay


@pytest.fixture(scope="module")
def client(server: str) -> Iterator[Client]:
    opened = Client(server, verbose=False)
    yield opened
    opened.close()


def test_only_decode_and_csv_are_listed_and_their_inputs_have_types(client: Client) -> None:
    endpoints = client.view_api(return_format="dict")["named_endpoints"]
    assert set(endpoints) == {"/decode", "/csv"}
    types = {
        each["parameter_name"]: each["type"]["type"]
        for each in endpoints["/decode"]["parameters"]
        if "type" in each["type"]
    }
    assert types["prompt"] == "string" and types["k"] == "integer" and types["temperature"] == "number"


def test_decode_gives_the_trace_that_python_gives(client: Client) -> None:
    data = client.predict(prompt="1 15 42", pair="toy", k=3, max_new_tokens=12, seed=5, api_name="/decode")
    ours = decode(load_pair("toy"), "1 15 42", k=3, max_new_tokens=12, seed=5)
    assert data["token_ids"] == ours.token_ids
    assert replay(Trace(data)) == []


def test_csv_gives_the_table(client: Client) -> None:
    table = pd.read_csv(
        io.StringIO(
            client.predict(prompt="1 15 42", pair="toy", draft="noise", max_new_tokens=12, api_name="/csv")
        )
    )
    assert set(table.draft) == {"noise"}
    assert table.tokens_total.iloc[-1] == 12


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"prompt": " "}, "The prompt is empty"),
        ({"prompt": "1", "k": 17}, "K must be a whole number from 0 to 16"),
        ({"prompt": "1", "pair": "../etc"}, "There is no pair"),
        ({"prompt": "1", "max_new_tokens": 10**9}, "from 1 to 256"),
        ({"prompt": "fox"}, "'fox' is none"),
    ],
)
def test_bad_input_is_one_sentence(client: Client, given: dict[str, object], answer: str) -> None:
    with pytest.raises(AppError, match=answer) as caught:
        client.predict(**{"pair": "toy", **given}, api_name="/decode")
    assert "Traceback" not in str(caught.value)
