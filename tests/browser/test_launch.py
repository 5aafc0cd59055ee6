"""How the page is served: ports, hosts, and the flags that keep it safe."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import httpx
import pytest

from specviz.page import launch


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_a_taken_port_is_one_sentence_and_status_2(
    taken_port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PORT", str(taken_port))
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert launch.serve() == 2
    assert (
        capsys.readouterr().err
        == f"Port {taken_port} is taken: stop what uses it, or set PORT to another number.\n"
    )


@pytest.mark.parametrize("text", ["http", "0", "65536", "-1", "8 0"])
def test_a_port_that_is_none_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PORT", text)
    assert launch.serve() == 2
    assert capsys.readouterr().err == f"PORT must be a number from 1 to 65535, not {text!r}.\n"


def test_what_should_be_closed_is_closed(server: str) -> None:
    assert httpx.get(server + "monitoring/summary").status_code == 403
    assert httpx.get(server + "gradio_api/runs").status_code == 404
    big = {"files": ("big.json", b"0" * (5 << 20))}
    assert httpx.post(server + "gradio_api/upload", files=big).status_code == 413
