"""Write a trained student as a draft folder: bfloat16 safetensors of less than 10 MB each, its map, and draft.json.

    python -m distil.export --target FOLDER --prepared prepared --run run --out assets/draft --name smollm2-135m-draft \\
        --serves smollm2-135m-instruct

It serves the target in FOLDER, and every further target that `--serves` names as the catalogue does.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import AutoConfig

from distil.student import student_config
from specviz.models import weights
from specviz.models.trimmed import DESCRIPTION, FORMAT, MAP
from specviz.models.weights import sha256_of

# Of the target's configuration: what the draft takes from the loaded target, or what says nothing about the layers.
NOT_THE_DRAFTS = {
    "vocab_size",
    "unk_token_id",
    "_name_or_path",
    "architectures",
    "transformers_version",
    "dtype",
    "use_cache",
}
LIMIT = 10_000_000  # bytes of a file


def shards(state: dict[str, torch.Tensor]) -> dict[str, dict[str, torch.Tensor]]:
    """File name -> tensors in bfloat16: one file a layer, the norm with the first, and as many for the head as it needs."""
    files: dict[str, dict[str, torch.Tensor]] = {"head.safetensors": {"head.weight": state["head.weight"]}}
    for name, tensor in state.items():
        if name.startswith("body.layers."):
            files.setdefault(f"layer-{name.split('.')[2]}.safetensors", {})[name.removeprefix("body.")] = (
                tensor
            )
    files["layer-0.safetensors"]["norm.weight"] = state["body.norm.weight"]
    return {
        file: {n: t.bfloat16().contiguous() for n, t in tensors.items()} for file, tensors in files.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument(
        "--serves", nargs="*", default=[], help="catalogue names of further targets it may draft for"
    )
    args = parser.parse_args()

    best = torch.load(args.run / "best.pt", weights_only=True)
    id_map = torch.from_numpy(np.load(args.prepared / "head.npz")["id_map"]).to(torch.int32)
    files = shards(best["average"]) | {MAP: {"id_map": id_map}}
    args.out.mkdir(parents=True, exist_ok=True)
    hashes = {}
    for name, tensors in files.items():
        path = args.out / name
        save_file(tensors, path)
        path.chmod(0o644)
        if path.stat().st_size >= LIMIT:
            raise SystemExit(
                f"{path} has {path.stat().st_size} bytes, and {LIMIT} are the limit: use fewer head rows."
            )
        hashes[name] = sha256_of(path)
    config = student_config(AutoConfig.from_pretrained(args.target), len(best["layers"])).to_diff_dict()
    config = {key: value for key, value in config.items() if key not in NOT_THE_DRAFTS and value is not None}
    served = [{"name": args.target.resolve().name, "sha256": weights.fingerprint(args.target)}]
    served += [{"name": name} for name in args.serves]
    description = {
        "format": FORMAT,
        "version": 1,
        "name": args.name,
        "serves": served,
        "config": config,
        "layers_from": best["layers"],
        "held_out": best["log"],
        "files": hashes,
    }
    (args.out / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    print(
        f"{args.out}: {', '.join(f'{n} {(args.out / n).stat().st_size:,} bytes' for n in files)}; {best['log']}"
    )


if __name__ == "__main__":
    main()
