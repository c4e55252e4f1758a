"""SentencePiece models as tokenizers of Hugging Face's library."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Engine

from inlaid.errors import FormatError, need
from inlaid.messages import Message

SPACE = "▁"
"""How SentencePiece writes a space in a piece."""


class Piece(IntEnum):
    """The kinds of pieces in a SentencePiece model; only normal ones match text."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


def read(path: Path) -> Engine:
    return engine_of(parsed(path.read_bytes(), path), path)


def parsed(data: bytes, path: Path) -> Any:
    """The parsed model, after SentencePiece itself has accepted it."""
    library = need("sentencepiece", extra="sentencepiece")
    need("google.protobuf", extra="sentencepiece")
    parser = need("sentencepiece.sentencepiece_model_pb2", extra="sentencepiece")
    library.set_min_log_level(3)  # otherwise it prints what is raised here
    try:
        library.SentencePieceProcessor().load_from_serialized_proto(data)
        return parser.ModelProto.FromString(data)
    except Exception as error:
        raise FormatError(
            "{path} is not a SentencePiece model, or damaged: {reason}. Download or copy the file again.",
            path=path,
            reason=str(error),
        ) from None


def engine_of(model: Any, path: Path) -> Engine:
    """SentencePiece's rules, expressed with the components of Hugging Face's library.

    Results may differ for two segmentations with exactly the same score ("33 3", "3 33") and for stacked
    accents.
    """
    _refuse_unsupported(model, path)
    spec = model.normalizer_spec
    make = {1: _unigram_of, 2: _bpe_of}[model.trainer_spec.model_type]
    engine = Engine(make(model))
    engine.normalizer = normalizers.Sequence(_normalizers_of(spec))
    engine.pre_tokenizer = pre_tokenizers.Sequence(_splits_of(model))
    steps: list[Any] = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if spec.add_dummy_prefix:
        steps.append(decoders.Strip(" ", 1, 0))
    engine.decoder = decoders.Sequence(steps)
    special = _pieces(model, Piece.UNKNOWN, Piece.CONTROL)
    engine.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in special])
    return engine


def _refuse_unsupported(model: Any, path: Path) -> None:
    """Refuse models that could not be reproduced exactly."""
    training = model.trainer_spec
    spec = model.normalizer_spec
    unsupported = [
        (training.model_type not in (1, 2), Message("words or characters, not unigram or bpe")),
        (
            training.treat_whitespace_as_suffix or not spec.escape_whitespaces,
            Message("spaces marked after words"),
        ),
        # versions of SentencePiece differ in how they match these
        (bool(_pieces(model, Piece.USER_DEFINED)), Message("user-defined pieces")),
        (training.model_type == 2 and bool(_pieces(model, Piece.UNUSED)), Message("unused pieces in bpe")),
    ]
    for found, what in unsupported:
        if found:
            raise FormatError(
                "{path} is a SentencePiece model with {what}, which cannot be reproduced exactly. "
                "Load its tokenizer.json.",
                path=path,
                what=what,
            )


def _pieces(model: Any, *kinds: Piece) -> list[str]:
    return [piece.piece for piece in model.pieces if piece.type in kinds]


def _normalizers_of(spec: Any) -> list[Any]:
    steps: list[Any] = []
    if spec.precompiled_charsmap:
        steps.append(normalizers.Precompiled(spec.precompiled_charsmap))
    if spec.remove_extra_whitespaces:
        steps += [normalizers.Replace(Regex(r"\A +| +\z"), ""), normalizers.Replace(Regex(" {2,}"), " ")]
    if spec.add_dummy_prefix:
        steps.append(normalizers.Prepend(SPACE))
    return [*steps, normalizers.Replace(" ", SPACE)]


def _splits_of(model: Any) -> list[Any]:
    """Splits that no piece crosses: before a space, for speed, and around unknown characters.

    Without the second, "<s>" in a text would become the control piece if "<" is unknown, because nothing
    else would score higher.
    """
    pieces = _pieces(model, Piece.NORMAL)
    known = {piece for piece in pieces if len(piece) == 1}
    names = set("".join(_pieces(model, Piece.UNKNOWN, Piece.CONTROL, Piece.UNUSED, Piece.BYTE)))
    splits: list[Any] = []
    if not any(SPACE in piece[1:] for piece in pieces):
        splits.append(pre_tokenizers.Split(SPACE, "merged_with_next"))
    if not names <= known and set("".join(pieces)) <= known | {SPACE}:
        unknown = "".join(f"\\x{{{ord(character):x}}}" for character in sorted(known | {SPACE}))
        splits.append(pre_tokenizers.Split(Regex(f"[^{unknown}]+"), "isolated"))
    return splits


def _unigram_of(model: Any) -> models.Unigram:
    """Pieces that must not match text get a score below any other segmentation of their name.

    That also lowers the score of unknown characters, which changes nothing: no piece contains one, so no
    segmentation avoids it.
    """
    lowest = min(piece.score for piece in model.pieces if piece.type == Piece.NORMAL)
    longest = max(len(piece.piece) for piece in model.pieces)
    below = (lowest - 1) * longest
    vocabulary = [
        (piece.piece, piece.score if piece.type == Piece.NORMAL else below) for piece in model.pieces
    ]
    unknown = [piece.type for piece in model.pieces].index(Piece.UNKNOWN)
    return models.Unigram(vocabulary, unknown, model.trainer_spec.byte_fallback)


def _bpe_of(model: Any) -> models.BPE:
    """SentencePiece merges the pair with the best resulting score; Hugging Face needs pairs in that order."""
    normal = {piece.piece: piece.score for piece in model.pieces if piece.type == Piece.NORMAL}
    merges: list[tuple[str, str]] = []
    for piece in sorted(normal, key=lambda piece: -normal[piece]):
        halves = ((piece[:cut], piece[cut:]) for cut in range(1, len(piece)))
        merges += [(left, right) for left, right in halves if left in normal and right in normal]
    vocabulary = {piece.piece: id for id, piece in enumerate(model.pieces)}
    (unknown,) = _pieces(model, Piece.UNKNOWN)
    return models.BPE(
        vocabulary, merges, unk_token=unknown, fuse_unk=True, byte_fallback=model.trainer_spec.byte_fallback
    )
