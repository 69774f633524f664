//! Constraints on the output format: `response_format`, `json_schema` or `grammar`.

use roci_lm::grammar::{Grammar, GrammarError, SchemaGrammar};
use roci_lm::json::Json;

use crate::error::ApiError;
use crate::fields::{Fields, one_line};

/// The output format that a request demands.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    /// The field that set it.
    pub(crate) field: &'static str,
    pub(crate) grammar: Grammar,
    /// The grammar's text, if it was generated from a schema. A client's own grammar may have any
    /// rule names and comments.
    pub(crate) rules: Option<String>,
}

impl Format {
    pub(crate) fn of(fields: &Fields<'_>) -> Result<Option<Self>, ApiError> {
        let schema = match fields.get("json_schema") {
            Some(schema) => Some(Self::of_schema("json_schema", schema, "json_schema", Some(LEAVE_OUT))?),
            None => None,
        };
        let grammar = match fields.text("grammar")?.filter(|text| !text.is_empty()) {
            Some(text) => {
                let grammar = Grammar::parse(text).map_err(|error| unusable("grammar", &error))?;
                Some(Self { field: "grammar", grammar, rules: None })
            }
            None => None,
        };
        let formatted = match fields.object("response_format")? {
            Some(format) => response_format(&format)?,
            None => None,
        };
        let mut constraints = [schema, grammar, formatted].into_iter().flatten();
        match (constraints.next(), constraints.next()) {
            (Some(one), Some(other)) => {
                let what = format!("and `{}` both constrain the answer: send only one of them", other.field);
                Err(ApiError::field(one.field, what))
            }
            (one, _) => Ok(one),
        }
    }

    /// The format of the schema at `name` in the request. With a `remedy`, keywords that a grammar
    /// cannot express are errors.
    fn of_schema(
        field: &'static str,
        schema: &Json,
        name: &str,
        remedy: Option<&'static str>,
    ) -> Result<Self, ApiError> {
        let (grammar, written) = Grammar::of_schema(schema).map_err(|error| unusable(name, &error))?;
        if let Some(remedy) = remedy {
            check_keywords(&written, name, remedy)?;
        }
        Ok(Self { field, grammar, rules: Some(written.text) })
    }
}

fn response_format(format: &Fields<'_>) -> Result<Option<Format>, ApiError> {
    const FIELD: &str = "response_format";
    let kind = format.text("type")?.ok_or_else(|| ApiError::field(format.name("type"), "is missing"))?;
    let unused = |names: &[&str]| match names.iter().find(|name| format.get(name).is_some()) {
        Some(name) => Err(ApiError::field(format.name(name), format!("is not allowed with type `{kind}`"))),
        None => Ok(()),
    };
    match kind {
        "text" => unused(&["schema", "json_schema"]).map(|()| None),
        "json_object" => {
            unused(&["json_schema"])?;
            let any = Json::Object(vec![("type".to_owned(), Json::from("object"))]);
            let schema = format.get("schema").unwrap_or(&any);
            Format::of_schema(FIELD, schema, &format.name("schema"), Some(LEAVE_OUT)).map(Some)
        }
        "json_schema" => {
            unused(&["schema"])?;
            let inner = format.object("json_schema")?;
            let inner = inner.ok_or_else(|| ApiError::field(format.name("json_schema"), "is missing"))?;
            // OpenAI's flag for exact adherence to the schema; otherwise unsupported keywords are
            // ignored.
            let remedy = inner.flag("strict")?.unwrap_or(false).then_some(LEAVE_OUT_OR_LOOSEN);
            match inner.get("schema") {
                Some(schema) => Format::of_schema(FIELD, schema, &inner.name("schema"), remedy).map(Some),
                None => Err(ApiError::field(inner.name("schema"), "is missing")),
            }
        }
        other => {
            let what = format!("is `{other}`; it must be `text`, `json_object` or `json_schema`");
            Err(ApiError::field(format.name("type"), what))
        }
    }
}

/// Hint for keywords that no grammar can express.
const LEAVE_OUT: &str = "leave them out";
pub(crate) const LEAVE_OUT_OR_LOOSEN: &str = "leave them out, or set `strict` to `false`";

/// Rejects a schema with keywords that the grammar does not enforce.
pub(crate) fn check_keywords(written: &SchemaGrammar, name: &str, remedy: &str) -> Result<(), ApiError> {
    const MAX_SHOWN: usize = 8;
    if written.unchecked.is_empty() {
        return Ok(());
    }
    let places = written.unchecked.iter().take(MAX_SHOWN);
    let places: Vec<String> = places.map(|place| format!("`{}`", one_line(place))).collect();
    let what = format!("has keywords that cannot be enforced: {}: {remedy}", places.join(", "));
    Err(ApiError::field(name, what))
}

/// The error for an invalid grammar or schema.
pub(crate) fn unusable(name: &str, error: &GrammarError) -> ApiError {
    ApiError::field(name, format!("cannot be used: {}: {}", one_line(&error.to_string()), error.hint()))
}
