"""The text of a token: the bytes that an id adds to a text.

An emoji may be spread over four tokens, so the text of one token is bytes, and only the sum of them is a string.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any


def token_pieces(tokenizer: Any) -> Callable[[int], bytes]:
    """Return a function from an id to the bytes that it adds to a text.

    An emoji may be spread over four tokens, so the text of a token is bytes and only the sum of them is a string.
    An id without an entry (a padded vocabulary has some) reads as ⟨id 151999⟩.
    """
    if tokenizer is None:
        return lambda token: f"⟨id {token}⟩".encode()
    if hasattr(tokenizer, "piece"):
        return tokenizer.piece
    added = {id_: token.content for id_, token in tokenizer.added_tokens_decoder.items()}
    raw = _byte_level if _is_byte_level(tokenizer) else _sentencepiece
    size = len(tokenizer)

    @cache
    def piece(token: int) -> bytes:
        if token in added:
            return added[token].encode()
        entry = tokenizer.convert_ids_to_tokens(token) if token < size else None
        return raw(entry) if entry is not None else f"⟨id {token}⟩".encode()

    return piece


def _is_byte_level(tokenizer: Any) -> bool:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and "ByteLevel" in f"{backend.decoder} {backend.pre_tokenizer}"


def _byte_alphabet() -> dict[str, int]:
    """The printable characters that byte-level BPE writes its 256 bytes with."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


_ALPHABET = _byte_alphabet()


def _byte_level(entry: str) -> bytes:
    if all(character in _ALPHABET for character in entry):
        return bytes(_ALPHABET[character] for character in entry)
    return entry.encode()


def _sentencepiece(entry: str) -> bytes:
    byte = re.fullmatch(r"<0x([0-9A-Fa-f]{2})>", entry)
    return bytes([int(byte.group(1), 16)]) if byte else entry.replace("▁", " ").encode()
