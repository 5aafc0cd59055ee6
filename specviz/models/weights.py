"""Whether a folder of model weights is whole, and which weights it holds: checks and hashes.

Nothing here uses the network, torch or transformers, so that listing a catalogue is quick. Where weights come from is
`fetching`'s business.
"""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from specviz.errors import SpecVizError

RECORD = "specviz.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
FLOATS = ("F64", "F32", "F16", "BF16")


def check(folder: Path) -> None:
    """Raise SpecVizError, in one sentence, if `folder` can't be a loadable model: cheap, reads headers only."""
    if not folder.is_dir():
        raise SpecVizError(f"There is no folder {folder}; give the folder that holds config.json.")
    config = _read_json(folder / "config.json")
    if "model_type" not in config:
        raise SpecVizError(
            f"{folder / 'config.json'} names no model_type, so {folder} is not a model's folder."
        )
    if "quantization_config" in config:
        raise SpecVizError(
            f"The weights in {folder} are quantised: give a copy with its full weights, in float32, float16 or bfloat16."
        )
    for file in weight_files(folder):
        _check_floats(file, _read_header(file))


def count_numbers(folder: Path) -> int:
    """How many numbers the weights in `folder` hold; tied weights are saved, and counted, once."""
    shapes = [
        entry["shape"]
        for file in weight_files(folder)
        for name, entry in _read_header(file).items()
        if name != "__metadata__"
    ]
    return sum(math.prod(shape) for shape in shapes)


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files that make up the model in `folder`, in name order; SpecVizError if there are none."""
    if (folder / WEIGHTS).exists():
        return [folder / WEIGHTS]
    if not (folder / INDEX).exists():
        raise SpecVizError(
            f"{folder} holds no weights ({WEIGHTS} is missing); only safetensors weights are read."
        )
    shards = _read_json(folder / INDEX).get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise SpecVizError(f"{folder / INDEX} lists no weights; fetch the model again.")
    return [folder / name for name in sorted(set(shards.values()))]


def fingerprint(folder: Path) -> str:
    """The SHA-256 of the weights in `folder`, as hex.

    For one file it is what `sha256sum model.safetensors` prints; for several, the hash of the lines "hash  name" in
    name order. A converted copy keeps it in specviz.json, where it counts as long as size and time of the file agree.
    """
    known = _recorded_hashes(folder)
    hashes = [(file.name, _file_hash(file, known.get(file.name))) for file in weight_files(folder)]
    if len(hashes) == 1:
        return hashes[0][1]
    lines = "".join(f"{digest}  {name}\n" for name, digest in hashes)
    return hashlib.sha256(lines.encode()).hexdigest()


# --- checks ----------------------------------------------------------------------------------------------------------


def is_whole(folder: Path) -> bool:
    try:
        check(folder)
    except SpecVizError:
        return False
    return True


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise SpecVizError(f"{path.parent} holds no {path.name}, so it is not a model's folder.") from None
    except OSError as error:
        raise SpecVizError(f"{path} can't be read ({error.strerror}).") from None
    except ValueError:
        raise SpecVizError(f"{path} is not valid JSON; it may be cut short, fetch the model again.") from None
    if not isinstance(content, dict):
        raise SpecVizError(f"{path} is not a JSON object; fetch the model again.")
    return content


def _check_floats(path: Path, header: dict[str, Any]) -> None:
    """Refuse integers where weights should be: they would be taken for the weights, without their scales."""
    for name, entry in header.items():
        if name.endswith(".weight") and entry.get("dtype") not in FLOATS:
            raise SpecVizError(
                f"{path} holds {name} as {entry.get('dtype')}: only float32, float16, bfloat16 or float64 weights are read, so "
                "give a copy that is not quantised."
            )


def _read_header(path: Path) -> dict[str, Any]:
    """Return what a safetensors file says is in it, {name: {dtype, shape, data_offsets}}, after comparing its size.

    The file is an 8-byte little-endian header length, a JSON header, then the tensors back to back.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(8)
            if start == b"version ":
                raise SpecVizError(f"{path} is a Git LFS pointer, not weights; run git lfs pull.")
            length = int.from_bytes(start, "little")
            if 8 + length > size:
                raise ValueError("the header is longer than the file")
            header = json.loads(file.read(length))
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    except FileNotFoundError:
        raise SpecVizError(f"{path.parent} lacks {path.name}; fetch the model again.") from None
    except OSError as error:
        raise SpecVizError(f"{path} can't be read ({error.strerror}).") from None
    except (ValueError, AttributeError, KeyError, TypeError, IndexError):
        raise SpecVizError(f"{path} is cut short or not a safetensors file; fetch the model again.") from None
    expected = 8 + length + max(ends, default=0)
    if size != expected:
        raise SpecVizError(
            f"{path} has {size} bytes instead of {expected}; it is damaged, fetch the model again."
        )
    return dict(header)


# --- hashes ----------------------------------------------------------------------------------------------------------

_hash_memo: dict[tuple[str, int, int], str] = {}


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file_hash(path: Path, recorded: dict[str, Any] | None) -> str:
    status = path.stat()
    if recorded and (recorded["size"], recorded["mtime_ns"]) == (status.st_size, status.st_mtime_ns):
        return str(recorded["sha256"])
    key = (str(path.resolve()), status.st_size, status.st_mtime_ns)
    if key not in _hash_memo:
        _hash_memo[key] = sha256_of(path)
    return _hash_memo[key]


def describe_weights(folder: Path) -> dict[str, dict[str, Any]]:
    """For the record: {file name: {sha256, size, mtime_ns}}."""
    entries = {}
    for file in weight_files(folder):
        status = file.stat()
        entries[file.name] = {
            "sha256": sha256_of(file),
            "size": status.st_size,
            "mtime_ns": status.st_mtime_ns,
        }
    return entries


def _recorded_hashes(folder: Path) -> dict[str, dict[str, Any]]:
    if not (folder / RECORD).exists():
        return {}
    weights = _read_json(folder / RECORD).get("weights")
    return weights if isinstance(weights, dict) else {}
