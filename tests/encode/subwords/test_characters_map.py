"""A map of characters in a tokenizer.json replaces these characters and no others."""

from __future__ import annotations

from tokenizers import Tokenizer, models

from inlaid.collect.normalize import HAN, simplified_characters
from inlaid.encode.subwords.characters_map import mapping_normalizer


def test_every_chinese_character_becomes_what_the_map_says():
    characters = simplified_characters()
    assert len(characters) > 4000
    step = mapping_normalizer(characters)
    every = [chr(point) for first, last in HAN for point in range(first, last)]
    assert [step.normalize_str(each) for each in every] == [characters.get(each, each) for each in every]


def test_characters_of_any_length_in_bytes_are_mapped():
    characters = {"a": "z", "é": "e", "國": "国", "😀": ":)", "ß": "ss"}
    step = mapping_normalizer(characters)
    assert step.normalize_str("a b é è 國 圖 😀 😁 ß") == "z b e è 国 圖 :) 😁 ss"


def test_no_characters_change_nothing():
    assert mapping_normalizer({}).normalize_str("a國😀") == "a國😀"


def test_it_is_part_of_a_tokenizer_json():
    engine = Tokenizer(models.WordLevel({"中国": 0, "?": 1}, unk_token="?"))
    engine.normalizer = mapping_normalizer(simplified_characters())
    again = Tokenizer.from_str(engine.to_str())
    assert again.encode("中國").tokens == ["中国"]
    assert again.encode("中國").offsets == [(0, 2)]
