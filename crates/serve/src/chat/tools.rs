//! Tools of a request: their definitions, and the grammar that makes a model call one.

use roci_llm::grammar::{Grammar, GrammarError};
use roci_llm::json::Json;
use roci_llm::template::{ChatTemplate, Conversation, message};

use super::calls::{CLOSE, OPEN};
use crate::asking::refused;
use crate::error::ApiError;
use crate::fields::{Fields, wrong};

/// The most tools of a request.
const MOST_TOOLS: usize = 128;
const LONGEST_NAME: usize = 64;

/// How a model writes calls, as its template tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToolStyle {
    /// Whether calls stand between tags.
    pub(super) tagged: bool,
    /// Whether the template writes tools at all; else they are told in words.
    pub(super) in_template: bool,
    /// The key of a call's arguments.
    pub(super) arguments: &'static str,
}

impl ToolStyle {
    /// Finds out by having a call written.
    pub(crate) fn of(template: &ChatTemplate) -> Self {
        let style = Self { tagged: true, in_template: template.abilities().tools, arguments: "arguments" };
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

/// Which tools a model may call, or must.
#[derive(Clone, Debug, Default)]
pub(super) struct Tools {
    /// As they came, for the template.
    pub(super) definitions: Vec<Json>,
    pub(super) names: Vec<String>,
    /// What the answer must look like, if a call is demanded.
    pub(super) grammar: Option<Grammar>,
}

impl Tools {
    pub(super) fn of(fields: &Fields<'_>, style: ToolStyle) -> Result<Self, ApiError> {
        for old in ["functions", "function_call"] {
            if fields.get(old).is_some() {
                return Err(ApiError::field(old, "is not supported: use `tools` and `tool_choice`"));
            }
        }
        let definitions = fields.list("tools")?.unwrap_or_default();
        if definitions.len() > MOST_TOOLS {
            return Err(ApiError::field("tools", format!("has {}; {MOST_TOOLS} are allowed", definitions.len())));
        }
        let tools = definitions.iter().enumerate().map(|(place, tool)| Tool::of(tool, place));
        let tools = tools.collect::<Result<Vec<_>, _>>()?;
        let several = fields.flag("parallel_tool_calls")?.unwrap_or(false);
        let forced = match fields.get("tool_choice") {
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
            Some(choice @ Json::Object(_)) => Some(vec![named(&Fields::of(choice, "tool_choice")?, &tools)?]),
            Some(other) => return Err(wrong("tool_choice", "a text or an object", other)),
        };
        let grammar = match forced {
            None => None,
            Some(forced) if forced.is_empty() => {
                return Err(ApiError::field("tool_choice", "demands a call, and there are no `tools`"));
            }
            Some(forced) => Some(force(&forced, style, several).map_err(|error| refused("tools", &error))?),
        };
        let names = tools.iter().map(|tool| tool.name.to_owned()).collect();
        Ok(Self { definitions: definitions.to_vec(), names, grammar })
    }
}

/// A definition.
struct Tool<'a> {
    name: &'a str,
    parameters: Option<&'a Json>,
}

impl<'a> Tool<'a> {
    fn of(tool: &'a Json, place: usize) -> Result<Self, ApiError> {
        let fields = Fields::of(tool, format!("tools[{place}]"))?;
        match fields.text("type")? {
            None | Some("function") => {}
            Some(other) => {
                return Err(ApiError::field(fields.name("type"), format!("is `{other}`; only `function` is known")));
            }
        }
        let missing = |name: String| ApiError::field(name, "is missing");
        let function = fields.object("function")?.ok_or_else(|| missing(fields.name("function")))?;
        let name = function.text("name")?.ok_or_else(|| missing(function.name("name")))?;
        let good = |character: char| character.is_ascii_alphanumeric() || "_-.:/".contains(character);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(good) {
            let what = format!("must be 1 to {LONGEST_NAME} letters, digits, `_`, `-`, `.`, `:` and `/`");
            return Err(ApiError::field(function.name("name"), what));
        }
        function.text("description")?;
        function.object("parameters")?;
        Ok(Self { name, parameters: function.get("parameters") })
    }
}

/// The tool that a request demands by name.
fn named<'t, 'a>(choice: &Fields<'_>, tools: &'t [Tool<'a>]) -> Result<&'t Tool<'a>, ApiError> {
    let function = choice.object("function")?;
    let name = match &function {
        Some(function) => function.text("name")?,
        None => choice.text("name")?,
    };
    let Some(name) = name else { return Err(ApiError::field("tool_choice.function.name", "is missing")) };
    let found = tools.iter().find(|tool| tool.name == name);
    found
        .ok_or_else(|| ApiError::field("tool_choice.function.name", format!("is `{name}`, which is not among `tools`")))
}

/// The grammar of a call of one of these tools, or of several calls.
fn force(tools: &[&Tool<'_>], style: ToolStyle, several: bool) -> Result<Grammar, GrammarError> {
    let object = |entries: Vec<(&str, Json)>| {
        Json::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    };
    let mut schemas = Vec::new();
    for (place, tool) in tools.iter().enumerate() {
        let mut parameters = match tool.parameters {
            Some(parameters) if parameters.as_object().is_some_and(|entries| !entries.is_empty()) => parameters.clone(),
            _ => object(vec![("type", Json::from("object"))]),
        };
        move_references(&mut parameters, &format!("#/anyOf/{place}/properties/{}", style.arguments));
        schemas.push(object(vec![
            ("type", Json::from("object")),
            (
                "properties",
                object(vec![("name", object(vec![("const", Json::from(tool.name))])), (style.arguments, parameters)]),
            ),
            ("required", Json::Array(vec![Json::from("name"), Json::from(style.arguments)])),
            ("additionalProperties", Json::Bool(false)),
        ]));
    }
    let (grammar, written) = Grammar::of_schema(&object(vec![("anyOf", Json::Array(schemas))]))?;
    if !style.tagged {
        return Ok(grammar);
    }
    let call = format!(r#""{OPEN}\n" call "\n{CLOSE}""#);
    let root = if several { format!(r#"root ::= {call} ("\n" {call}){{0,15}}"#) } else { format!("root ::= {call}") };
    Grammar::parse(&format!("{root}\n{}", rename_root(&written.text)))
}

/// References of a schema are from the top of its document, which it no longer is.
fn move_references(schema: &mut Json, below: &str) {
    match schema {
        Json::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Json::String(reference) if key == "$ref" && reference.starts_with('#') => {
                        *reference = format!("{below}{}", &reference[1..]);
                    }
                    // A property may be called `$ref`; its schema is an object, not a text.
                    value => move_references(value, below),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| move_references(item, below)),
        _ => {}
    }
}

/// The rules of a grammar with `root` called `call`, so that another root can stand above it.
fn rename_root(text: &str) -> String {
    let mut renamed = String::with_capacity(text.len());
    let mut characters = text.char_indices().peekable();
    let mut word = String::new();
    let mut quote = None;
    while let Some((_, character)) = characters.next() {
        let part_of_name = character.is_ascii_alphanumeric() || character == '-' || character == '_';
        if quote.is_none() && part_of_name {
            word.push(character);
            continue;
        }
        renamed.push_str(if word == "root" { "call" } else { &word });
        word.clear();
        renamed.push(character);
        match (quote, character) {
            (Some(_), '\\') => renamed.extend(characters.next().map(|(_, escaped)| escaped)),
            (Some(end), character) if character == end => quote = None,
            (None, '"') => quote = Some('"'),
            (None, '[') => quote = Some(']'),
            _ => {}
        }
    }
    renamed.push_str(if word == "root" { "call" } else { &word });
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGGED: ToolStyle = ToolStyle { tagged: true, in_template: true, arguments: "arguments" };
    const TOOLS: &str = r##""tools":[
        {"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"$ref":"#/$defs/City"}},
         "required":["city"],"additionalProperties":false,"$defs":{"City":{"type":"string","enum":["Rome","root"]}}}}},
        {"type":"function","function":{"name":"time"}}]"##;

    fn read(rest: &str, style: ToolStyle) -> Result<Tools, ApiError> {
        let body = Json::parse(&format!("{{{TOOLS}{rest}}}")).expect("it is JSON");
        Tools::of(&Fields::of(&body, "")?, style)
    }

    fn fits(tools: &Tools, text: &str) -> bool {
        tools.grammar.as_ref().expect("a grammar").matches(text.as_bytes()).expect("it can be followed")
    }

    #[test]
    fn a_demanded_call_fits_its_schema_and_nothing_else_does() {
        let tools = read(r#","tool_choice":"required""#, TAGGED).expect("it makes sense");
        let call = |inner: &str| format!("<tool_call>\n{inner}\n</tool_call>");
        assert!(fits(&tools, &call(r#"{"name": "weather", "arguments": {"city": "root"}}"#)));
        assert!(fits(&tools, &call(r#"{"name": "time", "arguments": {}}"#)));
        assert!(!fits(&tools, &call(r#"{"name": "weather", "arguments": {"city": "Oslo"}}"#)));
        assert!(!fits(&tools, &call(r#"{"name": "other", "arguments": {}}"#)));
        let two = format!("{0}\n{0}", call(r#"{"name": "time", "arguments": {}}"#));
        assert!(!fits(&tools, &two));
        let several = read(r#","tool_choice":"required","parallel_tool_calls":true"#, TAGGED).expect("it makes sense");
        assert!(fits(&several, &two));
    }

    #[test]
    fn a_named_tool_is_the_only_one() {
        let plain = ToolStyle { tagged: false, in_template: true, arguments: "parameters" };
        let named = r#","tool_choice":{"type":"function","function":{"name":"time"}}"#;
        let tools = read(named, plain).expect("it makes sense");
        assert!(fits(&tools, r#"{"name": "time", "parameters": {}}"#));
        assert!(!fits(&tools, r#"{"name": "weather", "parameters": {"city": "Rome"}}"#));
        assert_eq!(tools.names, ["weather", "time"]);
    }

    #[test]
    fn none_leaves_tools_out_and_auto_forces_nothing() {
        assert!(read(r#","tool_choice":"none""#, TAGGED).expect("it makes sense").definitions.is_empty());
        let auto = read(r#","tool_choice":"auto""#, TAGGED).expect("it makes sense");
        assert!(auto.grammar.is_none() && auto.definitions.len() == 2);
    }

    #[test]
    fn wrong_tools_are_named() {
        let tools = |text: &str| {
            let body = Json::parse(text).expect("it is JSON");
            let fields = Fields::of(&body, "").expect("an object");
            Tools::of(&fields, TAGGED).expect_err(text).param.expect("a field")
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
    }

    #[test]
    fn styles_are_found_by_templates() {
        let chatml = ChatTemplate::of_model(None, "", "");
        assert_eq!(ToolStyle::of(&chatml), ToolStyle { tagged: true, in_template: false, arguments: "arguments" });
        let llama = "{% for m in messages %}{% if m.tool_calls %}{{ '{\"name\": \"' + m.tool_calls[0].function.name + '\", \"parameters\": ' }}\
            {{ m.tool_calls[0].function.arguments | tojson }}{% else %}{{ m.content }}{% endif %}{% endfor %}{{ tools | tojson }}";
        let llama = ChatTemplate::new(llama, "", "").expect("it can be read");
        assert_eq!(ToolStyle::of(&llama), ToolStyle { tagged: false, in_template: true, arguments: "parameters" });
    }
}
