"""A toy torch training: bfloat16 weights, AdamW, batches drawn from (seed, step).

Run as a program, it is killed and resumed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch

from inlaid.files import write_bytes
from inlaid.jobs.checkpoint import identity_of
from inlaid.jobs.run import run
from inlaid.jobs.safety import Safety
from inlaid.jobs.state import State
from inlaid.jobs.training import Step


class TorchToy:
    """A linear layer in bfloat16 learns a fixed linear map with AdamW, whose moments stay in float32."""

    unit = "steps"

    def __init__(self, total: int = 60, *, pause: float = 0.0, device: str = "cpu") -> None:
        self.total = total
        self.pause = pause
        generator = torch.Generator().manual_seed(1)
        self.target = torch.randn(8, 16, generator=generator).to(device)
        start = 0.1 * torch.randn(8, 16, generator=generator)
        self.weight = torch.nn.Parameter(start.to(device, torch.bfloat16))
        self.bias = torch.nn.Parameter(torch.zeros(8, device=device))
        self.optimizer = torch.optim.AdamW([self.weight, self.bias], lr=0.05)
        tensors: dict[str, torch.Tensor] = {"weight": self.weight, "bias": self.bias}
        for name, parameter in tuple(
            tensors.items()
        ):  # all there is before the first step, or it could not be restored
            slots = {
                "step": torch.zeros(()),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
            self.optimizer.state[parameter] = slots
            tensors |= {f"{name}.{slot}": tensor for slot, tensor in slots.items()}
        self.state = State(tensors)

    def step(self, done: int) -> Step:
        inputs = torch.randn(32, 16, generator=torch.Generator().manual_seed(1000 + done)).to(
            self.weight.device
        )
        loss = (inputs @ (self.weight.float() - self.target).T + self.bias).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        time.sleep(self.pause)
        return Step(done + 1, loss.item(), 1.0)

    def held_out_loss(self) -> float | None:
        return None

    def result(self) -> bytes:
        return b"".join(array.tobytes() for array in self.state.arrays().values())


def identity() -> dict[str, object]:
    return identity_of("torch toy", {"learning_rate": 0.05}, "c0ffee")


if __name__ == "__main__":
    saved, result = Path(sys.argv[1]), Path(sys.argv[2])
    torch.set_num_threads(1)
    training = TorchToy(int(sys.argv[3]), pause=0.002)
    print("ready", flush=True)
    run(training, Safety(checkpoint=saved, checkpoint_minutes=0.0001, resume=True), identity())
    write_bytes(result, training.result())
