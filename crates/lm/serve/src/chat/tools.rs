//! Tool definitions of a request, and the grammar that makes a model call them.

use roci_lm::grammar::Grammar;
use roci_lm::json::Json;
use roci_lm::template::{ChatTemplate, Conversation, message};

use super::calls::{Calls, OPEN};
use super::grammar::{CallGrammar, Callable};
use crate::error::ApiError;
use crate::fields::{Fields, wrong};
use crate::format::{self, Format};
use crate::schema;

/// Maximum number of tools.
const MAX_TOOLS: usize = 128;
const MAX_NAME_LENGTH: usize = 64;

/// The tool call format of a model, derived from its template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToolStyle {
    /// Whether calls are enclosed in tags.
    pub(super) tagged: bool,
    /// Whether the template renders tools; otherwise they are described as text.
    pub(super) in_template: bool,
    /// The key of a call's arguments.
    pub(super) arguments: &'static str,
}

impl ToolStyle {
    /// Detects the format by rendering a call.
    pub(crate) fn of(template: &ChatTemplate) -> Self {
        let style = Self { tagged: true, in_template: template.capabilities().tools, arguments: "arguments" };
        if !style.in_template {
            return style;
        }
        let tools = r#"[{"type":"function","function":{"name":"roci_needle","description":"","parameters":{"type":"object","properties":{}}}}]"#;
        let call = r#"{"role":"assistant","content":"","tool_calls":[{"id":"call00000","type":"function","function":{"name":"roci_needle","arguments":{"roci_argument":1}}}]}"#;
        let (Ok(Json::Array(tools)), Ok(call)) = (Json::parse(tools), Json::parse(call)) else { return style };
        let mut conversation = Conversation::new(vec![message("user", "hello"), call]);
        conversation.tools = tools;
        conversation.add_generation_prompt = false;
        let text = template.render(&conversation).unwrap_or_default();
        let keyed = |key: &str| text.replace(' ', "").contains(&format!("\"{key}\":{{\"roci_argument\""));
        let arguments = if keyed("parameters") { "parameters" } else { "arguments" };
        Self { tagged: text.contains(OPEN), arguments, ..style }
    }
}

/// The tools that a model may or must call.
#[derive(Clone, Debug, Default)]
pub(super) struct Tools {
    /// Definitions for the template.
    pub(super) definitions: Vec<Json>,
    pub(super) calls: Calls,
    /// The grammar of the answer, if calls constrain it.
    pub(super) grammar: Option<Grammar>,
}

impl Tools {
    /// Parses `tools` and related fields. `format` is the required format of answers without a
    /// call.
    pub(super) fn of(fields: &Fields<'_>, style: ToolStyle, format: Option<&Format>) -> Result<Self, ApiError> {
        let definitions = fields.list("tools")?.unwrap_or_default();
        if definitions.len() > MAX_TOOLS {
            return Err(ApiError::field(
                "tools",
                format!("has {}; at most {MAX_TOOLS} are allowed", definitions.len()),
            ));
        }
        let tools = definitions.iter().enumerate().map(|(place, tool)| Tool::of(tool, place));
        let tools = tools.collect::<Result<Vec<_>, _>>()?;
        let parallel = fields.flag("parallel_tool_calls")?;
        let demanded = match fields.get("tool_choice") {
            None => None,
            Some(Json::String(word)) => match word.as_str() {
                "none" => return Ok(Self::default()),
                "auto" => None,
                "required" => Some(tools.iter().collect::<Vec<_>>()),
                other => {
                    let what = format!("is `{other}`; it must be `none`, `auto`, `required` or a function");
                    return Err(ApiError::field("tool_choice", what));
                }
            },
            Some(choice @ Json::Object(_)) => Some(vec![chosen_tool(&Fields::of(choice, "tool_choice")?, &tools)?]),
            Some(other) => return Err(wrong("tool_choice", "a string or an object", other)),
        };
        let grammar = match &demanded {
            Some(demanded) => Some(demand(demanded, style, parallel == Some(true), format)?),
            None => permit(&tools, style, format)?,
        };
        let calls = Calls {
            names: tools.iter().map(|tool| tool.name.to_owned()).collect(),
            // If a grammar constrains tagged calls, an untagged object is text.
            untagged: !style.tagged || demanded.is_some() || grammar.is_none(),
            single: parallel == Some(false),
        };
        let definitions = definitions.iter().map(|tool| schema::read_fields(schema::TOOL, tool)).collect();
        Ok(Self { definitions, calls, grammar })
    }
}

/// A tool definition.
struct Tool<'a> {
    name: &'a str,
    parameters: Option<&'a Json>,
    /// Whether arguments must satisfy the parameters even if no call is required.
    strict: bool,
}

impl<'a> Tool<'a> {
    fn of(tool: &'a Json, place: usize) -> Result<Self, ApiError> {
        let fields = Fields::of(tool, format!("tools[{place}]"))?;
        match fields.text("type")? {
            None | Some("function") => {}
            Some(other) => {
                return Err(ApiError::field(
                    fields.name("type"),
                    format!("is `{other}`; only `function` is supported"),
                ));
            }
        }
        let missing = |name: String| ApiError::field(name, "is missing");
        let function = fields.object("function")?.ok_or_else(|| missing(fields.name("function")))?;
        let name = function.text("name")?.ok_or_else(|| missing(function.name("name")))?;
        let good = |character: char| character.is_ascii_alphanumeric() || "_-.:/".contains(character);
        if name.is_empty() || name.len() > MAX_NAME_LENGTH || !name.chars().all(good) {
            let what = format!("must be 1 to {MAX_NAME_LENGTH} letters, digits, `_`, `-`, `.`, `:` and `/`");
            return Err(ApiError::field(function.name("name"), what));
        }
        function.text("description")?;
        function.object("parameters")?;
        let parameters = function.get("parameters");
        let strict = function.flag("strict")?.unwrap_or(false);
        if let Some(parameters) = parameters.filter(|_| strict) {
            let path = function.name("parameters");
            let (_, written) = Grammar::of_schema(parameters).map_err(|error| format::unusable(&path, &error))?;
            format::check_keywords(&written, &path, format::LEAVE_OUT_OR_LOOSEN)?;
        }
        Ok(Self { name, parameters, strict })
    }
}

/// The tool that `tool_choice` names.
fn chosen_tool<'t, 'a>(choice: &Fields<'_>, tools: &'t [Tool<'a>]) -> Result<&'t Tool<'a>, ApiError> {
    if let Some(other) = choice.text("type")?.filter(|kind| *kind != "function") {
        return Err(ApiError::field("tool_choice.type", format!("is `{other}`; only `function` is supported")));
    }
    let function = choice.object("function")?;
    let name = match (&function, choice.text("name")?) {
        (Some(_), Some(_)) => {
            return Err(ApiError::field(
                "tool_choice.name",
                "and `tool_choice.function` are both present: send only one of them",
            ));
        }
        (Some(function), None) => function.text("name")?,
        (None, name) => name,
    };
    let Some(name) = name else { return Err(ApiError::field("tool_choice.function.name", "is missing")) };
    let found = tools.iter().find(|tool| tool.name == name);
    found
        .ok_or_else(|| ApiError::field("tool_choice.function.name", format!("is `{name}`, which is not among `tools`")))
}

/// The grammar of an answer that must be one call of these tools, or several.
fn demand(tools: &[&Tool<'_>], style: ToolStyle, several: bool, format: Option<&Format>) -> Result<Grammar, ApiError> {
    if tools.is_empty() {
        return Err(ApiError::field("tool_choice", "requires a call, but there are no `tools`"));
    }
    if let Some(Format { field, .. }) = format {
        return Err(ApiError::field("tool_choice", format!("requires a call, which contradicts `{field}`")));
    }
    let tools = tools.iter().map(|tool| Callable { name: tool.name, parameters: tool.parameters });
    let grammar = CallGrammar::of(tools, style).and_then(|calls| calls.alone(several));
    grammar.map_err(|error| format::unusable("tools", &error))
}

/// The grammar of an answer that may be or contain calls, if one is needed.
fn permit(tools: &[Tool<'_>], style: ToolStyle, format: Option<&Format>) -> Result<Option<Grammar>, ApiError> {
    if tools.is_empty() || (format.is_none() && !tools.iter().any(|tool| tool.strict)) {
        return Ok(None);
    }
    // Arguments of non-strict tools may be any object.
    let callable =
        tools.iter().map(|tool| Callable { name: tool.name, parameters: tool.parameters.filter(|_| tool.strict) });
    let grammar = CallGrammar::of(callable, style).and_then(|calls| match format.map(|format| &format.rules) {
        None => calls.within_text().map(Some),
        Some(Some(rules)) => calls.or(rules).map(Some),
        Some(None) => Ok(None),
    });
    match grammar.map_err(|error| format::unusable("tools", &error))? {
        Some(grammar) => Ok(Some(grammar)),
        None => {
            let what = "and `tools` both constrain the answer: send only one of them, or set `tool_choice` to `none`";
            Err(ApiError::field("grammar", what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGGED: ToolStyle = ToolStyle { tagged: true, in_template: true, arguments: "arguments" };
    const PLAIN: ToolStyle = ToolStyle { tagged: false, in_template: true, arguments: "parameters" };
    const TOOLS: &str = r##""tools":[
        {"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"$ref":"#/$defs/City"}},
         "required":["city"],"additionalProperties":false,"$defs":{"City":{"type":"string","enum":["Rome","root"]}}}}},
        {"type":"function","function":{"name":"time"}}]"##;

    fn read(rest: &str, style: ToolStyle) -> Result<Tools, ApiError> {
        read_tools(TOOLS, rest, style)
    }

    fn read_tools(tools: &str, rest: &str, style: ToolStyle) -> Result<Tools, ApiError> {
        let body = Json::parse(&format!("{{{tools}{rest}}}")).expect("valid JSON");
        let fields = schema::CHAT.fields(&body)?;
        Tools::of(&fields, style, Format::of(&fields)?.as_ref())
    }

    fn fits(tools: &Tools, text: &str) -> bool {
        tools.grammar.as_ref().expect("a grammar").matches(text.as_bytes()).expect("the grammar is valid")
    }

    #[test]
    fn a_required_call_must_match_its_schema() {
        let tools = read(r#","tool_choice":"required""#, TAGGED).expect("the request is valid");
        let call = |inner: &str| format!("<tool_call>\n{inner}\n</tool_call>");
        assert!(fits(&tools, &call(r#"{"name": "weather", "arguments": {"city": "root"}}"#)));
        assert!(fits(&tools, &call(r#"{"name": "time", "arguments": {}}"#)));
        assert!(!fits(&tools, &call(r#"{"name": "weather", "arguments": {"city": "Oslo"}}"#)));
        assert!(!fits(&tools, &call(r#"{"name": "other", "arguments": {}}"#)));
        let two = format!("{0}\n{0}", call(r#"{"name": "time", "arguments": {}}"#));
        assert!(!fits(&tools, &two));
        let several =
            read(r#","tool_choice":"required","parallel_tool_calls":true"#, TAGGED).expect("the request is valid");
        assert!(fits(&several, &two));
    }

    #[test]
    fn a_named_tool_is_the_only_choice() {
        let chosen_tool = r#","tool_choice":{"type":"function","function":{"name":"time"}}"#;
        let tools = read(chosen_tool, PLAIN).expect("the request is valid");
        assert!(fits(&tools, r#"{"name": "time", "parameters": {}}"#));
        assert!(!fits(&tools, r#"{"name": "weather", "parameters": {"city": "Rome"}}"#));
        assert_eq!(tools.calls.names, ["weather", "time"]);
    }

    #[test]
    fn none_drops_the_tools_and_auto_requires_no_call() {
        assert!(read(r#","tool_choice":"none""#, TAGGED).expect("the request is valid").definitions.is_empty());
        let auto = read(r#","tool_choice":"auto""#, TAGGED).expect("the request is valid");
        assert!(auto.grammar.is_none() && auto.definitions.len() == 2);
    }

    #[test]
    fn strict_tools_constrain_calls_within_any_text() {
        let strict = TOOLS.replace(r#""name":"weather","#, r#""name":"weather","strict":true,"#);
        let call = |inner: &str| format!("<tool_call>\n{inner}\n</tool_call>");
        let rome = call(r#"{"name": "weather", "arguments": {"city": "Rome"}}"#);
        let oslo = call(r#"{"name": "weather", "arguments": {"city": "Oslo"}}"#);
        let time = call(r#"{"name": "time", "arguments": {"any": [1]}}"#);
        let tagged = read_tools(&strict, "", TAGGED).expect("the request is valid");
        for text in ["", "no call", "a < b <tool", &rome, &format!("first {rome}\n{time} last"), "{\"name\": 1}"] {
            assert!(fits(&tagged, text), "{text}");
        }
        for text in [&oslo, &format!("first {oslo}"), &format!("{rome}{oslo}"), "<tool_call>anything"] {
            assert!(!fits(&tagged, text), "{text}");
        }
        assert!(!tagged.calls.untagged, "an object without tags is unconstrained");
        let plain = read_tools(&strict, "", PLAIN).expect("the request is valid");
        for text in [
            "no call",
            " [1]",
            "[[",
            "<b> {\"name\"",
            &rome.replace("arguments", "parameters"),
            r#" {"name": "time", "parameters": {}}"#,
        ] {
            assert!(fits(&plain, text), "{text}");
        }
        let outside = r#"{"name": "weather", "parameters": {"city": "Oslo"}}"#;
        for text in
            [outside, &format!("\n[{outside}]"), &format!("[ [{outside}]]"), &oslo.replace("arguments", "parameters")]
        {
            assert!(!fits(&plain, text), "{text}");
        }
        assert!(plain.calls.untagged);
    }

    #[test]
    fn a_call_is_allowed_instead_of_the_format() {
        let format = r#","json_schema":{"type":"integer"}"#;
        let call = r#"{"name": "time", "arguments": {}}"#;
        let tagged = read(format, TAGGED).expect("the request is valid");
        assert!(fits(&tagged, "42") && fits(&tagged, &format!("<tool_call>\n{call}\n</tool_call>")));
        assert!(!fits(&tagged, "text") && !fits(&tagged, call) && !tagged.calls.untagged);
        let plain = read(format, PLAIN).expect("the request is valid");
        assert!(fits(&plain, "42") && fits(&plain, &call.replace("arguments", "parameters")) && !fits(&plain, "text"));
    }

    #[test]
    fn errors_name_the_invalid_field() {
        let tools = |text: &str| {
            let body = Json::parse(text).expect("valid JSON");
            let tools =
                schema::CHAT.fields(&body).and_then(|fields| Tools::of(&fields, TAGGED, Format::of(&fields)?.as_ref()));
            tools.expect_err(text).param.expect("a field")
        };
        assert_eq!(tools(r#"{"tools":{}}"#), "tools");
        assert_eq!(tools(r#"{"tools":[1]}"#), "tools[0]");
        assert_eq!(tools(r#"{"tools":[{"type":"web"}]}"#), "tools[0].type");
        assert_eq!(tools(r#"{"tools":[{"type":"function"}]}"#), "tools[0].function");
        assert_eq!(tools(r#"{"tools":[{"function":{}}]}"#), "tools[0].function.name");
        assert_eq!(tools(r#"{"tools":[{"function":{"name":"a b"}}]}"#), "tools[0].function.name");
        assert_eq!(tools(r#"{"tools":[{"function":{"name":"a","parameters":1}}]}"#), "tools[0].function.parameters");
        assert_eq!(tools(r#"{"tool_choice":"required"}"#), "tool_choice");
        assert_eq!(tools(r#"{"tool_choice":"perhaps"}"#), "tool_choice");
        assert_eq!(tools(r#"{"tool_choice":{"function":{"name":"x"}}}"#), "tool_choice.function.name");
        assert_eq!(tools(r#"{"functions":[]}"#), "functions");
        let bad = r#"{"tools":[{"function":{"name":"a","parameters":{"type":"zebra"}}}],"tool_choice":"required"}"#;
        assert_eq!(tools(bad), "tools");
        let strict = |parameters: &str| {
            format!(r#"{{"tools":[{{"function":{{"name":"a","strict":true,"parameters":{parameters}}}}}]}}"#)
        };
        assert_eq!(tools(&strict(r#"{"type":"zebra"}"#)), "tools[0].function.parameters");
        assert_eq!(
            tools(&strict(r#"{"properties":{"a":{"type":"number","maximum":3}}}"#)),
            "tools[0].function.parameters"
        );
        let rest = |rest: &str| format!("{{{TOOLS}{rest}}}");
        assert_eq!(tools(&rest(r#","grammar":"root ::= \"a\"""#)), "grammar");
        assert_eq!(tools(&rest(r#","tool_choice":"required","json_schema":{}"#)), "tool_choice");
        assert_eq!(tools(&rest(r#","tool_choice":{"type":"custom"}"#)), "tool_choice.type");
        assert_eq!(tools(&rest(r#","tool_choice":{"name":"time","function":{"name":"time"}}"#)), "tool_choice.name");
        assert_eq!(tools(&rest(r#","parallel_tool_calls":1"#)), "parallel_tool_calls");
    }

    #[test]
    fn styles_are_detected_from_templates() {
        let chatml = ChatTemplate::of_model(None, "", "");
        assert_eq!(ToolStyle::of(&chatml), ToolStyle { tagged: true, in_template: false, arguments: "arguments" });
        let llama = "{% for m in messages %}{% if m.tool_calls %}{{ '{\"name\": \"' + m.tool_calls[0].function.name + '\", \"parameters\": ' }}\
            {{ m.tool_calls[0].function.arguments | tojson }}{% else %}{{ m.content }}{% endif %}{% endfor %}{{ tools | tojson }}";
        let llama = ChatTemplate::new(llama, "", "").expect("the template is valid");
        assert_eq!(ToolStyle::of(&llama), ToolStyle { tagged: false, in_template: true, arguments: "parameters" });
    }
}
