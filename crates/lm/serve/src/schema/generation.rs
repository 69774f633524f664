//! Fields of generation requests.

use super::Neutral::{AtLeast, AtMost, Below, Empty, Exactly, Flag, Words};
use super::{Field, list, no_effect, object, only, read, refused};

/// Fields that both `/v1/chat/completions` and `/v1/completions` accept.
pub(super) const FIELDS: &[Field] = &[
    no_effect("model"),
    // Length and end of the answer.
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
    only("include_stop_str_in_output", Flag(false), "append the stop string to the answer yourself"),
    only("t_max_prompt_ms", AtMost(0.0), "close the connection to cancel a request"),
    only("t_max_predict_ms", AtMost(0.0), "close the connection to cancel a request"),
    only("n_indent", Exactly(0.0), "use `grammar`"),
    // Sampling.
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
    // Parameters of samplers that are disabled.
    no_effect("mirostat_tau"),
    no_effect("mirostat_eta"),
    no_effect("xtc_threshold"),
    no_effect("dynatemp_exponent"),
    no_effect("dry_base"),
    no_effect("dry_allowed_length"),
    no_effect("dry_penalty_last_n"),
    no_effect("dry_sequence_breakers"),
    no_effect("adaptive_decay"),
    // Output format.
    object("response_format", &[RESPONSE_FORMAT]),
    read("json_schema"),
    read("grammar"),
    only("grammar_lazy", Flag(false), "a grammar applies from the first token on"),
    only("grammar_triggers", Empty, "a grammar applies from the first token on"),
    only("preserved_tokens", Empty, "leave it out"),
    refused("guided_json", "use `json_schema`"),
    refused("guided_grammar", "use `grammar`"),
    // Contents and form of the response.
    read("stream"),
    object("stream_options", &[STREAM_OPTIONS]),
    read("logprobs"),
    only("n_probs", AtMost(0.0), "use `logprobs`"),
    only("post_sampling_probs", Flag(false), "probabilities are those of the model, before sampling"),
    only("timings_per_token", Flag(false), "`timings` are sent once, at the end"),
    only("return_progress", Flag(false), "leave it out"),
    only("return_tokens", Flag(false), "use `logprobs`"),
    only("response_fields", Empty, "leave it out"),
    only("verbose", Flag(false), "leave it out"),
    only("skip_special_tokens", Flag(true), "control tokens are never part of the text"),
    refused("sse_ping_interval", "a silent stream sends a comment every 10 s"),
    // Identification of the user, and retention by the server.
    no_effect("user"),
    no_effect("safety_identifier"),
    no_effect("metadata"),
    only("store", Flag(false), "answers are not stored"),
    only("service_tier", Words(&["auto", "default"]), "requests are served in order of arrival"),
    // Prompt caching. Shared prefixes are always reused and never change the answers.
    no_effect("prompt_cache_key"),
    no_effect("prompt_cache_retention"),
    no_effect("prompt_cache_options"),
    only("cache_prompt", Flag(true), "shared prefixes are always cached"),
    only("n_cache_reuse", Exactly(0.0), "only shared prefixes are reused"),
    only("id_slot", Below(0.0), "the server chooses the slot"),
    only("backend_sampling", Flag(false), "leave it out"),
    list("lora", &[ADAPTER]),
    // A full context ends the answer; contexts are never shifted.
    no_effect("n_keep"),
    no_effect("n_discard"),
    refused("num_ctx", "start the server with another context (`--context`)"),
    refused("options", "send its fields at the top level"),
];

/// Fields that only `/v1/completions` accepts.
pub(super) const COMPLETIONS: &[Field] = &[
    read("prompt"),
    read("echo"),
    read("best_of"),
    only("suffix", Empty, "the answer continues the prompt; text after it is not supported"),
];

/// A LoRA adapter with its scale. Further fields are those that `/lora-adapters` answers.
pub(super) const ADAPTER: &[Field] =
    &[read("id"), read("scale"), no_effect("path"), no_effect("task_name"), no_effect("prompt_prefix")];

const STREAM_OPTIONS: &[Field] =
    &[read("include_usage"), only("include_obfuscation", Flag(false), "events are not padded to hide their length")];

const RESPONSE_FORMAT: &[Field] = &[read("type"), read("schema"), object("json_schema", &[JSON_SCHEMA])];

/// Name and description are documentation: the model does not see the schema, and the grammar does
/// not need them.
const JSON_SCHEMA: &[Field] = &[no_effect("name"), no_effect("description"), read("schema"), read("strict")];
