"""What the calculator of the tab "Hardware" is asked, by its fields or by an experiment's link, and what it works out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from specviz import theory
from specviz.bounds import MAX_K, positive, real, whole
from specviz.errors import SpecVizError
from specviz.page.settings import one_of
from specviz.speed import hardware
from specviz.speed.hardware import MACHINES, Machine, Model

PRODUCTS = (16, 8)
MOST_BATCH = 512
MOST_BITS = 32
KILO, GIGA, TERA = 1e3, 1e9, 1e12
NUMBERS = ("bandwidth", "peak", "memory")  # what a machine brings
# 70 billion weights in 16 bits, with a draft, fit into one B200; the caches are those of Llama 3.1 70B and 8B.
DEFAULTS: dict[str, Any] = {
    "machine": "NVIDIA B200", "bandwidth": 8000.0, "peak": 2250.0, "memory": 180.0, "products": 16,
    "target": 70.0, "bits": 16.0, "active": 100.0, "cache": round(hardware.CACHE_70B / KILO), "context": 1000, "overhead": 0.0,
    "draft": 8.0, "draft_bits": 16.0, "draft_cache": round(hardware.CACHE_8B / KILO), "alpha": 0.8, "k": 4, "batch": 1,
}  # fmt: skip
# What an experiment can fill in: the menus stay as they are.
FIELDS = {f"hw-{name.replace('_', '-')}": name for name in DEFAULTS if name not in ("machine", "products")}


@dataclass(frozen=True)
class Setup:
    """What is calculated with: a machine and the bits of its products, two models, and how they are used."""

    peak: Machine
    products: int
    target: Model
    draft: Model
    alpha: float
    k: int
    batch: int
    context: int

    @property
    def machine(self) -> Machine:
        """The machine with its peak for these products: 8-bit ones are faster where the machine is known to have them."""
        faster = self.peak.eight_bit if self.products == 8 else 1.0
        return replace(self.peak, flops=self.peak.flops * faster)

    @property
    def models(self) -> tuple[Model, ...]:
        """The models that are in memory: without drafts only the target."""
        return (self.target, self.draft) if self.k else (self.target,)

    @property
    def held(self) -> float:
        """The bytes of memory that weights and caches take."""
        return hardware.bytes_held(self.models, self.batch, self.context)

    def gain(self, k: int) -> float:
        """Return the bound with K drafts a step / the bound without."""
        return hardware.gain(self.machine, self.target, self.draft, self.alpha, k, self.batch, self.context)

    def best_k(self) -> int:
        """Return the K of the largest gain, the smallest of them; 0 where none pays."""
        return max(range(MAX_K + 1), key=lambda k: (self.gain(k), -k))

    @property
    def cached(self) -> int:
        """The tokens in a cache, of all texts together."""
        return self.batch * self.context

    @property
    def free_rows(self) -> float:
        """The rows from which on arithmetic takes longer than reading."""
        return hardware.free_rows(self.machine, self.target, self.cached)

    @property
    def draft_cost(self) -> float:
        """The time of a draft pass in units of a target pass, c."""
        return hardware.draft_cost(self.machine, self.target, self.draft, self.batch, self.context)

    @property
    def operations_factor(self) -> float:
        """How many times as much arithmetic a token takes with a draft."""
        return theory.operations_factor(
            self.alpha, self.k, self.draft.parameters / (self.target.parameters * self.target.active)
        )

    @property
    def plain(self) -> float:
        """The most tokens a second without a draft."""
        return hardware.plain_tokens_per_s(self.machine, self.target, self.batch, self.context)


def read_setup(values: Mapping[str, Any]) -> Setup:
    """Return the controls' values in range, or raise SpecVizError at the first that can't be used."""
    bandwidth = positive("The bandwidth", values["bandwidth"], 1e6, "GB/s")
    peak = positive("The peak arithmetic", values["peak"], 1e6, "TFLOP/s")
    memory = values["memory"] and positive("The memory", values["memory"], 1e6, "GB")
    overhead = real("The overhead of a pass", values["overhead"], 0, 1e4)
    machine = hardware.machine_from(str(values["machine"]), bandwidth, peak, "", memory or None, overhead)
    known = listed(values) or of_name(values["machine"])
    products = int(one_of("size of a product", str(values["products"]), [str(bits) for bits in PRODUCTS]))
    target = positive("The target's size", values["target"], 1e5, "billion parameters")
    draft = positive("The draft's size", values["draft"], 1e5, "billion parameters")
    bits = positive("A target weight's size", values["bits"], MOST_BITS, "bits")
    draft_bits = positive("A draft weight's size", values["draft_bits"], MOST_BITS, "bits")
    if products < 16 and max(bits, draft_bits) > products:
        raise SpecVizError(
            f"{products}-bit products need weights of at most {products} bits, in both models."
        )
    active = positive("The active share", values["active"], 100, "%") / 100
    cache = real("The target's cache", values["cache"], 0, 1e6)
    draft_cache = real("The draft's cache", values["draft_cache"], 0, 1e6)
    return Setup(
        peak=replace(machine, eight_bit=known.eight_bit if known else 1.0),
        products=products,
        target=Model(target * GIGA, bits, active, cache * KILO),
        draft=Model(draft * GIGA, draft_bits, cache=draft_cache * KILO),
        alpha=real("The acceptance", values["alpha"], 0, 1),
        k=whole("K", values["k"], 0, MAX_K),
        batch=whole("The batch", values["batch"], 1, MOST_BATCH),
        context=whole("The context", values["context"], 0, 10_000_000),
    )


def setup_of(fields: Mapping[str, str]) -> Setup:
    """Return what the tab calculates for an experiment's fields by their elements' names, the others as it opens."""
    filled = {
        FIELDS[one_of("field of the calculator", name, FIELDS)]: float(text) for name, text in fields.items()
    }
    return read_setup(DEFAULTS | filled)


def of_name(name: Any) -> Machine | None:
    """Return the machine of the list that is called so."""
    return next((each for each in MACHINES if each.name == name), None)


def listed(values: Mapping[str, Any]) -> Machine | None:
    """Return the machine of the list whose figures the fields hold."""
    held = (values["bandwidth"], values["peak"], values["memory"])
    return next((each for each in MACHINES if shown(each) == held), None)


def shown(machine: Machine) -> tuple[float, float, float | None]:
    """Return a machine's bandwidth, peak and memory as the fields have them, GB/s, TFLOP/s and GB, to four digits."""
    memory = None if machine.memory is None else _digits(machine.memory / GIGA)
    return _digits(machine.bytes_per_s / GIGA), _digits(machine.flops / TERA), memory


def _digits(number: float) -> float:
    return float(f"{number:.4g}")
