//! The fields of requests for text.

use super::Neutral::{AtLeast, AtMost, Below, Empty, Exactly, Flag, Words};
use super::{Field, no_effect, object, only, read, refused};

/// What both `/v1/chat/completions` and `/v1/completions` take.
pub(super) const FIELDS: &[Field] = &[
    no_effect("model"),
    // How long the answer is, and where it ends.
    read("max_tokens"),
    read("max_completion_tokens"),
    read("n_predict"),
    read("stop"),
    read("ignore_eos"),
    read("n"),
    only("n_cmpl", Exactly(1.0), "use `n`"),
    refused("num_predict", "use `max_tokens`"),
    only("min_tokens", AtMost(0.0), "the model decides where its answer ends"),
    only("stop_token_ids", Empty, "use `stop`"),
    only("include_stop_str_in_output", Flag(false), "add the text of `stop` to the answer yourself"),
    only("t_max_prompt_ms", AtMost(0.0), "close the connection to end a request"),
    only("t_max_predict_ms", AtMost(0.0), "close the connection to end a request"),
    only("n_indent", Exactly(0.0), "use `grammar`"),
    // How tokens are chosen.
    read("temperature"),
    read("top_p"),
    read("top_k"),
    read("min_p"),
    read("frequency_penalty"),
    read("presence_penalty"),
    read("repeat_penalty"),
    read("repeat_last_n"),
    read("logit_bias"),
    read("seed"),
    only("repetition_penalty", Exactly(1.0), "use `repeat_penalty`"),
    only("typical_p", AtLeast(1.0), "use `top_p` or `min_p`"),
    only("top_n_sigma", AtMost(0.0), "use `top_p` or `min_p`"),
    only("min_keep", AtMost(1.0), "use `top_k`"),
    only("mirostat", Exactly(0.0), "use `top_p` or `min_p`"),
    only("xtc_probability", AtMost(0.0), "leave it out"),
    only("dynatemp_range", AtMost(0.0), "use `temperature`"),
    only("dry_multiplier", Exactly(0.0), "use `repeat_penalty`"),
    only("adaptive_target", Below(0.0), "leave it out"),
    refused("samplers", "the order is penalties, `top_k`, `top_p`, `min_p`, `temperature`"),
    // Each belongs to a sampler that is off.
    no_effect("mirostat_tau"),
    no_effect("mirostat_eta"),
    no_effect("xtc_threshold"),
    no_effect("dynatemp_exponent"),
    no_effect("dry_base"),
    no_effect("dry_allowed_length"),
    no_effect("dry_penalty_last_n"),
    no_effect("dry_sequence_breakers"),
    no_effect("adaptive_decay"),
    // What the answer must look like.
    object("response_format", &[RESPONSE_FORMAT]),
    read("json_schema"),
    read("grammar"),
    only("grammar_lazy", Flag(false), "a grammar holds from the first token on"),
    only("grammar_triggers", Empty, "a grammar holds from the first token on"),
    only("preserved_tokens", Empty, "leave it out"),
    refused("guided_json", "use `json_schema`"),
    refused("guided_grammar", "use `grammar`"),
    // What is told, and how.
    read("stream"),
    object("stream_options", &[STREAM_OPTIONS]),
    read("logprobs"),
    only("n_probs", AtMost(0.0), "use `logprobs`"),
    only("post_sampling_probs", Flag(false), "probabilities are those of the model, before sampling"),
    only("timings_per_token", Flag(false), "`timings` come once, at the end"),
    only("return_progress", Flag(false), "leave it out"),
    only("return_tokens", Flag(false), "use `logprobs`"),
    only("response_fields", Empty, "leave it out"),
    only("verbose", Flag(false), "leave it out"),
    only("skip_special_tokens", Flag(true), "control tokens are never part of the text"),
    refused("sse_ping_interval", "a silent stream sends a comment every 10 s"),
    // Who asks, and what the server keeps of it.
    no_effect("user"),
    no_effect("safety_identifier"),
    no_effect("metadata"),
    only("store", Flag(false), "answers are not stored"),
    only("service_tier", Words(&["auto", "default"]), "all requests are served in their order"),
    // Where prompts are read from. Texts that begin alike always share what was computed, and answers are the same without it.
    no_effect("prompt_cache_key"),
    no_effect("prompt_cache_retention"),
    no_effect("prompt_cache_options"),
    only("cache_prompt", Flag(true), "texts that begin alike always share what was computed"),
    only("n_cache_reuse", Exactly(0.0), "only texts that begin alike share what was computed"),
    only("id_slot", Below(0.0), "the server chooses"),
    only("backend_sampling", Flag(false), "leave it out"),
    only("lora", Empty, "start the server with another model"),
    // A context that is full ends the answer and is never shifted.
    no_effect("n_keep"),
    no_effect("n_discard"),
    refused("num_ctx", "start the server with another context (`--context`)"),
    refused("options", "send its fields beside `model`"),
];

/// What only `/v1/completions` takes.
pub(super) const COMPLETIONS: &[Field] = &[
    read("prompt"),
    read("echo"),
    read("best_of"),
    only("suffix", Empty, "the answer goes on after the prompt, not before another text"),
];

const STREAM_OPTIONS: &[Field] =
    &[read("include_usage"), only("include_obfuscation", Flag(false), "events are not padded to hide their length")];

const RESPONSE_FORMAT: &[Field] = &[read("type"), read("schema"), object("json_schema", &[JSON_SCHEMA])];

/// A name and a description are for people: the model is not told of the schema, and the grammar needs neither.
const JSON_SCHEMA: &[Field] = &[no_effect("name"), no_effect("description"), read("schema"), read("strict")];
