"""Time and memory of ranking on a GPU, next to the bare product and to a copy to main memory.

    python -m benchmarks.device [--device cuda] [--users 4096] [--items 1000000] [--dimensions 64]

Needs torch. With `--device cpu` tensors use the same code as on a GPU, which only shows that the
script runs. For some users each way is compared with scores in float64. Scores of cupy and jax are
counted as well if these packages are installed.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch

import sampled_metrics as sm
from sampled_metrics.evaluation import meter
from sampled_metrics.read import comparisons, counting, products, scores

BATCH = 512
RUNS = 3
KINDS = ("float32", "bfloat16", "float16")
UP_TO = 10
CHECKED = 200  # users whose counts are compared
SMALL = (300, 5000)  # users and items of other libraries


class Machine:
    """A device, its clock and its memory."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.is_gpu = device != "cpu"

    def wait(self) -> None:
        if self.is_gpu:
            torch.cuda.synchronize()

    def measure(self, name: str, use: Callable[[], object], runs: int = RUNS) -> None:
        """Print the median time, and the peak of memory above the start."""
        use()  # warm up
        seconds = []
        if self.is_gpu:
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        for _ in range(runs):
            self.wait()
            start = time.perf_counter()
            use()
            self.wait()
            seconds.append(time.perf_counter() - start)
        peak = ""
        if self.is_gpu:
            peak = f"{(torch.cuda.max_memory_allocated() - before) / 2**20:,.0f} MiB"
        each = " ".join(f"{second:.3f}" for second in seconds)
        print(f"{name:<40} {np.median(seconds):9.4f} s {peak:>12}   ({each})", flush=True)


def batches(users: torch.Tensor) -> Iterator[slice]:
    """Yield slices of users, a batch at a time."""
    return (slice(first, first + BATCH) for first in range(0, len(users), BATCH))


def exact_counts(
    users: torch.Tensor, items: torch.Tensor, held_out: torch.Tensor
) -> dict[str, object]:
    """Count with scores in float64 on the host; return counts and distances to other scores."""
    left = users[:CHECKED].double().cpu().numpy()
    right = items.double().cpu().numpy()
    place = held_out[:CHECKED].cpu().numpy()
    held_out_scores = np.einsum("uf,uf->u", left, right[place])
    counts = {"better": [], "tied": [], "near": []}
    lengths = np.linalg.norm(right, axis=1)
    for number, vector in enumerate(left):
        row = np.einsum("f,if->i", vector, right)
        row[place[number]] = held_out_scores[number]
        counts["better"].append(np.count_nonzero(row > held_out_scores[number]))
        counts["tied"].append(np.count_nonzero(row == held_out_scores[number]) - 1)
        far = np.abs(row - held_out_scores[number]) / (np.linalg.norm(vector) * lengths)
        counts["near"].append(far)
    return counts


def compare_counts(name: str, ranks: sm.Ranks, expected: dict[str, object], error: float) -> None:
    """Print how many users have other counts, and whether rounding errors can explain them."""
    better = np.asarray(expected["better"])
    tied = np.asarray(expected["tied"])
    n_better = ranks.n_better[:CHECKED]
    far = np.abs(n_better - better)
    near = np.array([np.count_nonzero(away <= error) - 1 for away in expected["near"]])
    differ = np.count_nonzero(far)
    text = f"{differ} of {len(better)} users differ in n_better, by {far.max()} at most"
    text += f"; {np.count_nonzero(ranks.n_tied[:CHECKED] != tied)} in n_tied"
    if differ:
        text += f"; within {error:.1g} of it in all of these: {bool((far <= near).all())}"
    print(f"  {name}: {text}", flush=True)


class VectorMeasurement:
    """Vectors of one type, and the ways to rank by them."""

    def __init__(self, machine: Machine, kind: str, options: argparse.Namespace) -> None:
        torch.manual_seed(0)
        self.machine = machine
        self.kind = getattr(torch, kind)
        left = torch.randn(options.users, options.dimensions, device=machine.device)
        right = torch.randn(options.items, options.dimensions, device=machine.device)
        self.users = left.to(self.kind)
        self.items = right.to(self.kind)
        self.held_out = torch.randint(options.items, (options.users,), device=machine.device)
        self.few = min(BATCH, options.users)
        self.ranks_by_way: dict[str, sm.Ranks] = {}

    def product(self) -> None:
        """Multiply users and items, and nothing else."""
        for rows in batches(self.users):
            self.users[rows] @ self.items.T

    def multiply_and_compare(self) -> None:
        """Multiply, and compare in torch."""
        for rows in batches(self.users):
            block = self.users[rows] @ self.items.T
            held_out_scores = block.gather(1, self.held_out[rows, None])
            (block > held_out_scores).sum(1).cpu(), (block == held_out_scores).sum(1).cpu()

    def count(self, name: str, bring: Callable[[torch.Tensor], object], n: int) -> None:
        """Multiply, and count with a `RankMeter`."""
        counter = sm.RankMeter("hr@10", n_jobs=-1)
        for rows in batches(self.users[:n]):
            counter.update(bring(self.users[rows] @ self.items.T), self.held_out[rows])
        self.ranks_by_way[name] = counter.ranks()

    def rank(
        self,
        name: str,
        bring: Callable[[torch.Tensor], object],
        up_to: int | None = None,
    ) -> None:
        """Rank by the vectors with `sm.rank`."""
        vectors = bring(self.users), bring(self.items)
        self.ranks_by_way[name] = sm.rank(vectors, None, self.held_out.cpu().numpy(), up_to=up_to)

    def measure(self) -> None:
        """Print a row for each way."""
        run, n = self.machine.measure, len(self.users)
        run("product alone", self.product)
        run("product, > and == of torch", self.multiply_and_compare)
        run("product, counted on the device", lambda: self.count("device", lambda s: s, n))
        run("vectors on the device", lambda: self.rank("vectors", lambda v: v))
        run("vectors on the device, @10", lambda: self.rank("cut", lambda v: v, UP_TO))
        run(
            f"product, .cpu(), counted, {self.few} users",
            lambda: self.count("cpu", lambda s: s.float().cpu(), self.few),
            1,
        )
        run(
            "vectors to main memory, all cores",
            lambda: self.rank("host", lambda v: v.float().cpu().numpy()),
            1,
        )

    def compare(self) -> None:
        """Compare the counts of all ways with those by float64."""
        expected = exact_counts(self.users, self.items, self.held_out)
        compare_counts("vectors on the device", self.ranks_by_way["vectors"], expected, 0.0)
        compare_counts("vectors in main memory", self.ranks_by_way["host"], expected, 0.0)
        eps = float(torch.finfo(self.kind).eps)
        error = (self.users.shape[1] + 4) * 2.0**-24
        if self.kind is not torch.float32:
            error += 2.0 * eps
        compare_counts(
            "product in its own type, counted", self.ranks_by_way["device"], expected, error
        )
        same_counts(
            "vectors on the device and in main memory", self.ranks_by_way, "vectors", "host"
        )
        full, cut = self.ranks_by_way["vectors"], self.ranks_by_way["cut"]
        is_found = full.n_better < UP_TO
        same = np.array_equal(cut.n_found, is_found)
        same &= np.array_equal(cut.n_better, full.n_better[is_found])
        print(f"  vectors on the device, @{UP_TO} and in full: same counts: {same}", flush=True)
        same_counts(
            "product counted on the device and after .cpu()", self.ranks_by_way, "device", "cpu"
        )


def same_counts(name: str, ranks_by_way: dict[str, sm.Ranks], one: str, other: str) -> None:
    """Print whether two ways give the same counts for their common users."""
    n = min(len(ranks_by_way[one]), len(ranks_by_way[other]))
    same = np.array_equal(ranks_by_way[one].n_better[:n], ranks_by_way[other].n_better[:n])
    same &= np.array_equal(ranks_by_way[one].n_tied[:n], ranks_by_way[other].n_tied[:n])
    print(f"  {name}: same counts of {n} users: {same}", flush=True)


def other_libraries() -> None:
    """Count scores of cupy and jax, and compare with those of numpy."""
    rng = np.random.default_rng(0)
    matrix = rng.integers(-50, 50, SMALL).astype(np.float32)
    held_out = rng.integers(0, SMALL[1], SMALL[0])
    expected = sm.rank(matrix, None, held_out)
    for name, take in (("cupy", "asarray"), ("jax.numpy", "asarray")):
        try:
            library = __import__(name, fromlist=["asarray"])
            array = getattr(library, take)(matrix)
            ranks_found = sm.rank(array, None, held_out)
            counts = sm.RankMeter("hr@10")
            counts.update(array, held_out)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}")
            continue
        same = all(
            np.array_equal(ranks.n_better, expected.n_better)
            and np.array_equal(ranks.n_tied, expected.n_tied)
            for ranks in (ranks_found, counts.ranks())
        )
        where = getattr(array, "device", "?")
        print(f"{name} on {where}: same counts as numpy: {same}", flush=True)


def main() -> None:
    """Print a row for each way, for each type of the vectors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--users", type=int, default=4096)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    options = parser.parse_args()
    machine = Machine(options.device)
    name = torch.cuda.get_device_name() if machine.is_gpu else "main memory"
    print(f"{name}, torch {torch.__version__}, numpy {np.__version__}")
    if not machine.is_gpu:
        real = comparisons.keeps_own_library
        for module in (comparisons, meter, counting, products, scores):
            module.keeps_own_library = lambda data: isinstance(data, torch.Tensor) or real(data)
    for kind in options.kinds:
        print(f"\n{kind}: {options.users:,} users x {options.items:,} items x {options.dimensions}")
        vectors = VectorMeasurement(machine, kind, options)
        vectors.measure()
        vectors.compare()
    print()
    other_libraries()


if __name__ == "__main__":
    main()
