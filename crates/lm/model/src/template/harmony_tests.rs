//! The harmony format of gpt-oss: channels, a developer message in place of the system message, and
//! tools as a TypeScript namespace.

use std::time::{Duration, UNIX_EPOCH};

use super::*;

/// A short template of that format. As the published one, it has macros that call themselves,
/// namespaces, tests of types, and the date.
const HARMONY: &str = r##"
{%- macro kind(of) -%}
    {%- if of.type == "array" -%}
        {{- kind(of['items']) + "[]" }}
    {%- elif of.enum is defined -%}
        {{- '"' + of.enum | join('" | "') + '"' }}
    {%- elif of.type is iterable and of.type is not string and of.type is not mapping -%}
        {{- of.type | join(" | ") }}
    {%- elif of.type == "integer" -%}
        {{- "number" }}
    {%- else -%}
        {{- of.type }}
    {%- endif -%}
{%- endmacro -%}
{%- macro identity() -%}
    {%- if effort is not defined %}{% set effort = "medium" %}{% endif -%}
    {{- "Current date: " + strftime_now("%Y-%m-%d") + "\n\nReasoning: " + effort + "\n\n" }}
    {{- "# Valid channels: analysis, commentary, final." }}
{%- endmacro -%}
{{- "<|start|>system<|message|>" + identity() + "<|end|>" }}
{%- set told = messages[0].content if messages[0].role in ["developer", "system"] else "" %}
{%- set rest = messages[1:] if told else messages %}
{%- if told or tools %}
    {{- "<|start|>developer<|message|>" }}
    {%- if told %}{{- "# Instructions\n\n" + told + "\n\n" }}{% endif %}
    {%- if tools %}
        {{- "# Tools\n\n## functions\n\nnamespace functions {\n\n" }}
        {%- for tool in tools %}
            {%- set tool = tool.function %}
            {{- "// " + tool.description + "\ntype " + tool.name + " = (_: {\n" }}
            {%- for name, of in tool.parameters.properties.items() %}
                {{- name + ("" if name in (tool.parameters.required or []) else "?") + ": " + kind(of) + ",\n" }}
            {%- endfor %}
            {{- "}) => any;\n\n" }}
        {%- endfor %}
        {{- "} // namespace functions" }}
    {%- endif %}
    {{- "<|end|>" }}
{%- endif %}
{%- set called = namespace(name=none) %}
{%- for message in rest -%}
    {%- if message.role == "assistant" and "tool_calls" in message %}
        {%- set call = message.tool_calls[0].function %}
        {%- if message.thinking and not loop.last %}
            {{- "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}
        {%- endif %}
        {{- "<|start|>assistant to=functions." + call.name + "<|channel|>commentary json<|message|>" }}
        {{- call.arguments | tojson + "<|call|>" }}
        {%- set called.name = call.name %}
    {%- elif message.role == "assistant" %}
        {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
    {%- elif message.role == "tool" %}
        {%- if called.name is none %}{{ raise_exception("no tool was called") }}{% endif %}
        {{- "<|start|>functions." + called.name + " to=assistant<|channel|>commentary<|message|>" }}
        {{- message.content | tojson + "<|end|>" }}
    {%- else %}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start|>assistant
{%- endif -%}
"##;

const SYSTEM: &str = "<|start|>system<|message|>Current date: 2026-06-19\n\nReasoning: medium\n\n\
    # Valid channels: analysis, commentary, final.<|end|>";

fn conversation(messages: Vec<Json>) -> Conversation {
    Conversation { now: UNIX_EPOCH + Duration::from_secs(1_781_870_400), ..Conversation::new(messages) }
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn render(conversation: &Conversation) -> String {
    let template = ChatTemplate::new(HARMONY, "", "<|return|>").unwrap_or_else(|error| panic!("{error}"));
    template.render(conversation).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn turns_have_channels_and_the_system_message_is_the_developers() {
    let turns = [("system", "Be brief."), ("user", "Hi"), ("assistant", "Yes?"), ("user", "Bye")];
    let text = render(&conversation(turns.map(|(role, content)| message(role, content)).to_vec()));
    let expected = "<|start|>developer<|message|># Instructions\n\nBe brief.\n\n<|end|>\
        <|start|>user<|message|>Hi<|end|>\
        <|start|>assistant<|channel|>final<|message|>Yes?<|end|>\
        <|start|>user<|message|>Bye<|end|><|start|>assistant";
    assert_eq!(text, format!("{SYSTEM}{expected}"));
}

#[test]
fn tools_are_types_and_calls_go_to_the_commentary() {
    let call = r#"{"role":"assistant","content":"","thinking":"Ask.","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Köln"}}}]}"#;
    let mut conversation =
        conversation(vec![message("user", "Rain?"), json(call), message("tool", "{\"rain\": true}")]);
    conversation.tools.push(json(
        r#"{"type":"function","function":{"name":"weather","description":"Weather of a city","parameters":{"type":"object",
        "properties":{"city":{"type":"string"},"days":{"type":"array","items":{"type":"integer"}},"unit":{"enum":["C","F"]},
        "at":{"type":["string","null"]}},"required":["city"]}}}"#,
    ));
    let expected = "<|start|>developer<|message|># Tools\n\n## functions\n\nnamespace functions {\n\n\
        // Weather of a city\ntype weather = (_: {\ncity: string,\ndays?: number[],\nunit?: \"C\" | \"F\",\n\
        at?: string | null,\n}) => any;\n\n} // namespace functions<|end|>\
        <|start|>user<|message|>Rain?<|end|>\
        <|start|>assistant<|channel|>analysis<|message|>Ask.<|end|>\
        <|start|>assistant to=functions.weather<|channel|>commentary json<|message|>{\"city\": \"Köln\"}<|call|>\
        <|start|>functions.weather to=assistant<|channel|>commentary<|message|>\"{\\\"rain\\\": true}\"<|end|>\
        <|start|>assistant";
    assert_eq!(render(&conversation), format!("{SYSTEM}{expected}"));
}
