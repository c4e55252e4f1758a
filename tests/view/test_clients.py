"""Clients written for other servers work unchanged: OpenAI's, Ollama's, langchain's, llama-index's."""

from __future__ import annotations

import json
import urllib.request
import warnings
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.vectors import Vectors

TEXT = "king queen"


def expected(vectors: Any, *texts: str) -> np.ndarray:
    return inlaid.embed(vectors, list(texts), unit=True).table


@pytest.fixture
def openai(server: Any) -> Any:
    found = pytest.importorskip("openai")
    return found.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)


def test_openai_embeds_strings_and_lists(openai: Any, small: Vectors):
    reply = openai.embeddings.create(model="small", input=[TEXT, "苹果"])  # it asks for base64 by itself
    rows = [each.embedding for each in reply.data]
    np.testing.assert_allclose(rows, expected(small, TEXT, "苹果"), rtol=1e-6)
    assert reply.usage.prompt_tokens == reply.usage.total_tokens == 3
    assert reply.model == "small"
    as_floats = openai.embeddings.create(model="small", input=TEXT, encoding_format="float")
    np.testing.assert_allclose(as_floats.data[0].embedding, rows[0], rtol=1e-6)
    short = openai.embeddings.create(model="small", input=TEXT, dimensions=2).data[0].embedding
    whole = inlaid.embed(small, [TEXT]).table[0, :2]
    np.testing.assert_allclose(short, whole / np.linalg.norm(whole), rtol=1e-6)


def test_openai_lists_models(openai: Any):
    assert [each.id for each in openai.models.list()] == ["small", "sentence", "decoder"]
    assert openai.models.retrieve("sentence").id == "sentence"


def test_openai_gets_its_own_kinds_of_error(openai: Any):
    import openai as library

    with pytest.raises(
        library.NotFoundError, match="No space is called 'smal'. Did you mean 'small'?"
    ) as known:
        openai.embeddings.create(model="smal", input="king")
    assert known.value.code == "model_not_found"
    with pytest.raises(library.BadRequestError, match="check_embedding_ctx_length=False"):
        openai.embeddings.create(model="small", input=[[15496, 995]])
    with pytest.raises(library.BadRequestError, match="'xyzzy'.* has no vector"):
        openai.embeddings.create(model="small", input=["king", "xyzzy"])
    with pytest.raises(library.BadRequestError, match="dimensions is 5; the vectors have 4"):
        openai.embeddings.create(model="small", input="king", dimensions=5)


def test_unknown_words_of_a_text_are_reported(openai: Any, small: Vectors):
    reply = openai.embeddings.create(model="small", input=["king", "queen xyzzy"])
    assert reply.out_of_vocabulary == [{"index": 1, "words": ["xyzzy"]}]
    np.testing.assert_allclose(reply.data[1].embedding, expected(small, "queen")[0], rtol=1e-6)


def test_token_lists_are_taken_of_the_tokenizer_of_the_model(openai: Any, tiny_models: Any):
    import openai as library

    from inlaid.neural.checkpoint import load_model

    model = load_model(tiny_models / "sentence")
    ids = model.tokenizer.encode("我吃苹果").ids
    by_ids = openai.embeddings.create(model="sentence", input=[ids]).data[0].embedding
    by_text = openai.embeddings.create(model="sentence", input="我吃苹果")
    np.testing.assert_allclose(by_ids, by_text.data[0].embedding, rtol=1e-6)
    assert by_text.usage.prompt_tokens >= 3
    for strange in ([5, 6, 7], [100_000], [-1]):
        with pytest.raises(library.BadRequestError, match="not of the tokenizer of 'sentence'"):
            openai.embeddings.create(model="sentence", input=[strange])


def test_ollama(server: Any, small: Vectors):
    client = pytest.importorskip("ollama").Client(host=server.url)
    found = client.embed(model="small", input=[TEXT, "苹果"])
    np.testing.assert_allclose(found.embeddings, expected(small, TEXT, "苹果"), rtol=1e-6)
    whole = inlaid.embed(small, ["king"]).table[0]
    np.testing.assert_allclose(client.embeddings(model="small", prompt="king").embedding, whole, rtol=1e-6)
    assert [each.model for each in client.list().models] == ["small", "sentence", "decoder"]
    with pytest.raises(Exception, match="No space is called 'other'"):
        client.embed(model="other", input="king")


def test_langchain(server: Any, small: Vectors):
    library = pytest.importorskip("langchain_openai")
    settings: dict[str, Any] = {"model": "small", "base_url": f"{server.url}/v1", "api_key": "none"}
    client = library.OpenAIEmbeddings(**settings, check_embedding_ctx_length=False)
    np.testing.assert_allclose(client.embed_query(TEXT), expected(small, TEXT)[0], rtol=1e-6)
    found = client.embed_documents([TEXT, "苹果"])
    np.testing.assert_allclose(found, expected(small, TEXT, "苹果"), rtol=1e-6)


def test_llama_index(server: Any, small: Vectors):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = pytest.importorskip("llama_index.embeddings.openai")
        client = library.OpenAIEmbedding(
            model_name="small", api_base=f"{server.url}/v1", api_key="none", max_retries=0
        )
        found = client.get_text_embedding_batch([TEXT, "苹果"])
    np.testing.assert_allclose(found, expected(small, TEXT, "苹果"), rtol=1e-6)


def test_text_embeddings_inference(server: Any, small: Vectors):
    status, body = server.ask("/embed", {"inputs": ["king", TEXT]})
    assert status == 200
    np.testing.assert_allclose(json.loads(body), expected(small, "king", TEXT), rtol=1e-6)
    _, raw = server.ask("/embed", {"inputs": TEXT, "normalize": False})
    np.testing.assert_allclose(json.loads(raw), inlaid.embed(small, [TEXT]).table, rtol=1e-6)
    assert json.loads(server.ask("/info")[1])["model_id"] == "small"
    status, body = server.ask("/embed", {"inputs": "xyzzy"})
    assert (status, json.loads(body)["error_type"]) == (422, "Validation")


def test_every_api_names_unknown_words(server: Any):
    listed = [{"index": 0, "words": ["xyzzy"]}]
    for path, field in (("/v1/embeddings", "input"), ("/api/embed", "input"), ("/api/embeddings", "prompt")):
        _, body = server.ask(path, {"model": "small", field: "queen xyzzy"})
        assert json.loads(body)["out_of_vocabulary"] == listed, path
    request = urllib.request.Request(f"{server.url}/embed", b'{"inputs": ["queen xyzzy"]}')
    with urllib.request.urlopen(request) as reply:
        assert json.loads(reply.headers["x-out-of-vocabulary"]) == listed
    _, body = server.ask("/v1/embeddings", {"model": "sentence", "input": ["我吃", "我Ω吃"]})
    assert json.loads(body)["out_of_vocabulary"] == [{"index": 1, "words": ["Ω"]}]
