//! Fields of chat requests.

use super::Neutral::{Below, Empty, Flag, Words};
use super::{Field, Table, list, no_effect, object, only, read, refused};

/// Fields that only `/v1/chat/completions` accepts.
pub(super) const FIELDS: &[Field] = &[
    list("messages", MESSAGE),
    list("tools", TOOL),
    object("tool_choice", &[TOOL_CHOICE]),
    read("parallel_tool_calls"),
    refused("functions", "use `tools`"),
    refused("function_call", "use `tool_choice`"),
    only("parse_tool_calls", Flag(true), "set `tool_choice` to `none`"),
    read("top_logprobs"),
    // Rendering of the conversation.
    read("chat_template_kwargs"),
    read("reasoning_effort"),
    refused("enable_thinking", "use `chat_template_kwargs.enable_thinking`"),
    refused("thinking", "use `chat_template_kwargs` or `reasoning_effort`"),
    refused("think", "use `chat_template_kwargs` or `reasoning_effort`"),
    refused("reasoning", "use `reasoning_effort`"),
    only("reasoning_format", Words(&["none"]), "reasoning is part of the content"),
    only("reasoning_budget_tokens", Below(0.0), "use `max_tokens`"),
    only("thinking_budget_tokens", Below(0.0), "use `max_tokens`"),
    no_effect("reasoning_budget_message"),
    only("reasoning_control", Flag(false), "leave it out"),
    only("add_generation_prompt", Flag(true), "use /v1/completions with a prompt of your own"),
    only("continue_final_message", Flag(false), "use /v1/completions with a prompt of your own"),
    only("echo", Flag(false), "leave it out"),
    // Predicted output, which only affects speed.
    no_effect("prediction"),
    only("verbosity", Words(&["medium"]), "ask for it in a message"),
    only("modalities", Words(&["text"]), "answers are text"),
    refused("audio", "answers are text"),
    refused("web_search_options", "give the model a tool that searches"),
    refused("moderation", "leave it out"),
];

pub(crate) const MESSAGE: Table = &[&[
    read("role"),
    list("content", &[PART]),
    read("name"),
    list("tool_calls", &[CALL]),
    read("tool_call_id"),
    read("reasoning_content"),
    read("reasoning"),
    read("thinking"),
    only("refusal", Empty, "send its text as `content`"),
    only("reasoning_details", Empty, "use `reasoning_content`"),
    refused("audio", "send text"),
    refused("images", "send each as a part of type `image_url` in `content`"),
    refused("function_call", "use `tool_calls`"),
    // Clients send these back with earlier answers; the text is in `content`.
    no_effect("id"),
    no_effect("annotations"),
    no_effect("parsed"),
    no_effect("provider_specific_fields"),
    no_effect("cache_control"),
]];

const PART: &[Field] = &[
    read("type"),
    read("text"),
    object("image_url", &[IMAGE]),
    refused("input_audio", "only text and images are supported"),
    refused("input_video", "only text and images are supported"),
    refused("video_url", "only text and images are supported"),
    refused("audio_url", "only text and images are supported"),
    refused("file", "only text and images are supported"),
    // Images in other APIs.
    refused("image", "send a part of type `image_url`"),
    refused("source", "send a part of type `image_url`"),
    refused("refusal", "send it as a part of type `text`"),
    no_effect("id"),
    no_effect("index"),
    no_effect("detail"),
    no_effect("annotations"),
    no_effect("cache_control"),
    no_effect("prompt_cache_breakpoint"),
];

const IMAGE: &[Field] = &[
    read("url"),
    // The tower decides how many rows an image has.
    no_effect("detail"),
];

const CALL: &[Field] = &[
    read("id"),
    read("type"),
    object("function", &[CALLED]),
    no_effect("index"),
    no_effect("provider_specific_fields"),
    refused("custom", "use `function`"),
];

const CALLED: &[Field] =
    &[read("name"), read("arguments"), no_effect("parsed_arguments"), no_effect("provider_specific_fields")];

pub(crate) const TOOL: Table = &[&[
    read("type"),
    object("function", &[FUNCTION]),
    no_effect("cache_control"),
    refused("custom", "use `function`"),
]];

const FUNCTION: &[Field] = &[
    read("name"),
    read("description"),
    read("parameters"),
    read("strict"),
    no_effect("type"),
    no_effect("cache_control"),
];

const TOOL_CHOICE: &[Field] = &[
    read("type"),
    object("function", &[CHOSEN]),
    read("name"),
    refused("allowed_tools", "send only those `tools`"),
    refused("custom", "use `function`"),
];

const CHOSEN: &[Field] = &[read("name")];
