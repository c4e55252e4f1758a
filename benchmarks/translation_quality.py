"""How well and how fast does `translation` learn Tatoeba's sentence pairs, beside a Marian of `transformers`?

    python benchmarks/translation_quality.py PAIRS [--more PAIRS ...] [--preset small] [--epochs 20]
        [--settings '{"dropout": 0.3}'] [--device cpu] [--seed 1] [--direction zh-en] [--without-peer]

PAIRS is a file of English, tab, Chinese. No sentence of either side is in two splits. The peer has the same
config, the same subwords, batches and updates, and is trained by transformers' own Trainer. BLEU and chrF by
sacreBLEU with its signature, a paired bootstrap of the difference, and seconds of training, our evaluations
on held-out text left out; `step_ms` is the mean step after the first 100. One line of JSON for each.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import sacrebleu
import torch
from step_clock import StepClock

import inlaid
from inlaid.collect.pairs import Columns, TextPair, read_pairs
from inlaid.encode.corpus import Encoding
from inlaid.fit.translation import Translation
from inlaid.neural.checkpoint import load_model, save_model
from inlaid.neural.generate import GenerationSettings, generate_texts
from inlaid.neural.model import Model
from inlaid.report import silent

TEST = 0.05
SAMPLES = 1000
BEAM = 4


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--more", type=Path, nargs="*", default=[])
    parser.add_argument("--preset", default="small")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--subwords", type=int, default=8000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--direction", choices=["zh-en", "en-zh"], default="zh-en")
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--settings", type=json.loads, default={}, help="more settings, as JSON")
    options = parser.parse_args()
    train, test = split(read_pairs(options.pairs, Columns(), silent), options.seed)
    for path in options.more:
        train += without(read_pairs(path, Columns(), silent), test)
    reverse = options.direction == "zh-en"
    method = Translation(
        preset=options.preset,
        epochs=options.epochs,
        reverse=reverse,
        device=options.device,
        precision="bfloat16" if options.device == "cuda" else "float32",
        seed=options.seed,
        **options.settings,
    )
    source = [pair.target if reverse else pair.source for pair in test]
    reference = [pair.source if reverse else pair.target for pair in test]
    clock = StepClock()
    clock.watch_trainings()
    clock.start()
    model = inlaid.train(train, method, subwords=options.subwords, report=silent)
    clock.stop()
    times = {"inlaid": (clock.seconds, clock.step_ms)}
    found = {"inlaid": translated(model, source, options.device)}
    if not options.without_peer:
        clock.start()
        peer = by_trainer(train, method, model, options, clock)
        times["transformers"] = (clock.seconds, clock.step_ms)
        found["transformers"] = translated(peer, source, options.device)
    tokenize = "13a" if reverse else "zh"
    about = {"pairs": len(train), "test": len(test), "device": options.device, "seed": options.seed}
    about |= {"epochs": options.epochs, "settings": options.settings}
    for who, texts in found.items():
        bleu = sacrebleu.metrics.BLEU(tokenize=tokenize)
        chrf = sacrebleu.metrics.CHRF()
        line = {
            "question": f"translation {options.direction}",
            "who": who,
            "BLEU": round(bleu.corpus_score(texts, [reference]).score, 2),
            "chrF": round(chrf.corpus_score(texts, [reference]).score, 2),
            "seconds": round(times[who][0], 1),
            "step_ms": round(times[who][1], 2),
            "signature": str(bleu.get_signature()),
        }
        print(json.dumps({**line, **about}), flush=True)
    if not options.without_peer:
        low, high = interval(found["inlaid"], found["transformers"], reference, tokenize)
        print(json.dumps({"question": "difference in BLEU", "low": low, "high": high, **about}))
    for row in range(0, len(test), max(len(test) // 8, 1)):
        print(json.dumps([source[row], reference[row], found["inlaid"][row]], ensure_ascii=False))


def split(pairs: list[TextPair], seed: int) -> tuple[list[TextPair], list[TextPair]]:
    """Training and test pairs; no sentence of either side is in both."""
    random = np.random.default_rng(seed)
    chosen = random.random(len(pairs)) < TEST
    test = [pair for pair, is_test in zip(pairs, chosen, strict=True) if is_test]
    test = list({pair.target: pair for pair in {pair.source: pair for pair in test}.values()}.values())
    return without(pairs, test), test


def without(pairs: Iterable[TextPair], test: list[TextPair]) -> list[TextPair]:
    sources = {pair.source for pair in test}
    targets = {pair.target for pair in test}
    return [pair for pair in pairs if pair.source not in sources and pair.target not in targets]


def translated(model: Model, texts: list[str], device: str) -> list[str]:
    model.network.to(device)
    settings = GenerationSettings(beams=BEAM, max_new_tokens=80)
    found: list[str] = []
    for start in range(0, len(texts), 64):
        found += generate_texts(model, texts[start : start + 64], settings)
    model.network.to("cpu")
    return [text.strip() for text in found]


def by_trainer(
    train: list[TextPair], method: Translation, ours: Model, options: Any, clock: StepClock
) -> Model:
    """A Marian with the config of `ours` and fresh weights, trained on the same batches by their Trainer."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()

    class TellsClock(transformers.TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            clock.step()

    encoding = method.prepared(Encoding(tokenizer="bpe", subwords=options.subwords))
    corpus = inlaid.corpus(method.sentences(train, encoding), encoding=encoding, report=silent)
    sized = method.for_corpus(corpus)
    special = {"padding": ours.config.special.padding or 0, "end": ours.config.special.end[0]}
    batches = sized.batches(corpus, special)
    with tempfile.TemporaryDirectory() as folder:
        save_model(ours, Path(folder) / "ours")
        config = transformers.AutoConfig.from_pretrained(Path(folder) / "ours")
        torch.manual_seed(options.seed)
        network = transformers.MarianMTModel(config)
        per_epoch = len(batches.ends(0))
        steps = per_epoch * options.epochs
        arguments = transformers.Seq2SeqTrainingArguments(
            output_dir=str(Path(folder) / "out"),
            max_steps=steps,
            per_device_train_batch_size=1,
            learning_rate=sized.learning_rate,
            lr_scheduler_type="cosine",
            warmup_steps=round(sized.warmup * steps),
            weight_decay=sized.weight_decay,
            adam_beta2=sized.beta2,
            label_smoothing_factor=sized.label_smoothing,
            bf16=options.device == "cuda",
            use_cpu=options.device == "cpu",
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            seed=options.seed,
        )
        data = Batches(batches, per_epoch, options.epochs, ours.config.special.start or 0)
        trainer = transformers.Seq2SeqTrainer(
            model=network,
            args=arguments,
            train_dataset=data,
            data_collator=lambda rows: rows[0],
            callbacks=[TellsClock()],
        )
        trainer.train()
        clock.stop()
        network.cpu().save_pretrained(Path(folder) / "theirs")
        for file in (Path(folder) / "ours").iterdir():
            if "token" in file.name:
                (Path(folder) / "theirs" / file.name).write_bytes(file.read_bytes())
        return load_model(Path(folder) / "theirs")


class Batches(torch.utils.data.IterableDataset[Any]):
    """Our batches in their terms."""

    def __init__(self, batches: Any, per_epoch: int, epochs: int, start: int) -> None:
        self.batches = batches
        self.per_epoch = per_epoch
        self.epochs = epochs
        self.start = start

    def __iter__(self) -> Any:
        for epoch in range(self.epochs):
            for number in range(self.per_epoch):
                batch = self.batches.batch(epoch, number)
                labels = np.where(batch.target_real, batch.target, -100)
                read = np.roll(batch.target, 1, axis=1)
                read[:, 0] = self.start
                yield {
                    "input_ids": torch.from_numpy(batch.source),
                    "attention_mask": torch.from_numpy(batch.source_real.astype(np.int64)),
                    "decoder_input_ids": torch.from_numpy(read),  # their label smoothing hides the labels
                    "labels": torch.from_numpy(labels),
                }


def interval(one: list[str], other: list[str], reference: list[str], tokenize: str) -> tuple[float, float]:
    """95 % interval of the difference in BLEU, by a paired bootstrap."""
    bleu = sacrebleu.metrics.BLEU(tokenize=tokenize)
    statistics = [
        np.array([_counts(bleu, text, right) for text, right in zip(texts, reference, strict=True)])
        for texts in (one, other)
    ]
    random = np.random.default_rng(1)
    differences: list[float] = []
    for _ in range(SAMPLES):
        rows = random.integers(len(reference), size=len(reference))
        scores = [bleu._compute_score_from_stats(each[rows].sum(0).tolist()).score for each in statistics]
        differences.append(scores[0] - scores[1])
    low, high = np.percentile(differences, [2.5, 97.5])
    return round(float(low), 2), round(float(high), 2)


def _counts(bleu: Any, text: str, right: str) -> list[int]:
    return bleu._extract_corpus_statistics([text], [[right]])[0]


if __name__ == "__main__":
    main()
