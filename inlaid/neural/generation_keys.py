"""Generation keys: all keys of a generation_config.json: those that are read, refused, or without effect."""

from __future__ import annotations

KEYS = {
    "max_new_tokens": "max_new_tokens",
    "min_new_tokens": "min_new_tokens",
    "length_penalty": "length_penalty",
    "early_stopping": "early_stopping",
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "repetition_penalty": "repetition_penalty",
    "no_repeat_ngram_size": "no_repeat_ngram_size",
    "bad_words_ids": "bad_words",
    "suppress_tokens": "suppress",
    "begin_suppress_tokens": "suppress_first",
    "forced_bos_token_id": "forced_first",
    "forced_eos_token_id": "forced_last",
    "eos_token_id": "end",
    "decoder_start_token_id": "start",
}
"""Their keys -> our fields."""
ALSO_READ = ("do_sample", "num_beams", "max_length", "min_length", "bos_token_id")
SAMPLING = {
    "min_p": None,
    "top_h": None,
    "typical_p": 1.0,
    "epsilon_cutoff": 0.0,
    "eta_cutoff": 0.0,
}
"""Keys that only sampling uses, and that are not supported with other values than these."""
NEUTRAL = {
    "max_time": None,
    "stop_strings": None,
    "encoder_repetition_penalty": 1.0,
    "encoder_no_repeat_ngram_size": 0,
    "renormalize_logits": False,
    "remove_invalid_values": False,
    "exponential_decay_length_penalty": None,
    "sequence_bias": None,
    "token_healing": False,
    "guidance_scale": 1,
    "watermarking_config": None,
    "num_return_sequences": 1,
    "penalty_alpha": None,
    "dola_layers": None,
    "diversity_penalty": 0.0,
    "num_beam_groups": 1,
    "constraints": None,
    "force_words_ids": None,
    "prompt_lookup_num_tokens": None,
    "use_mtp": None,
}
"""Keys that are not supported with other values than these, by any method."""
NO_EFFECT = (
    "assistant_confidence_threshold",
    "assistant_early_exit",
    "assistant_ensemble_weight",
    "assistant_lookbehind",
    "cache_config",
    "cache_implementation",
    "compile_config",
    "continuous_batching_config",
    "disable_compile",
    "is_assistant",
    "low_memory",
    "max_cache_len",
    "max_matching_ngram_size",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "output_attentions",
    "output_hidden_states",
    "output_logits",
    "output_scores",
    "pad_token_id",
    "prefill_chunk_size",
    "return_dict_in_generate",
    "speculation_type",
    "target_lookbehind",
    "transformers_version",
    "use_cache",
    "_from_model_config",
)
"""Keys that change no token: speed, what else is returned, a second model that helps."""
ALL_KEYS = (*KEYS, *ALSO_READ, *SAMPLING, *NEUTRAL, *NO_EFFECT)
