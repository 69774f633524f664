//! Tests of schemas with texts that match and texts that do not.

use proptest::prelude::*;

use crate::grammar::{Grammar, GrammarError};
use crate::json::Json;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// The grammar of a schema, and the keywords that it does not enforce.
fn grammar(schema: &str) -> (Grammar, Vec<String>) {
    match Grammar::of_schema(&json(schema)) {
        Ok((grammar, written)) => (grammar, written.unchecked),
        Err(error) => panic!("{schema}\n{error}"),
    }
}

/// A schema with texts that its grammar accepts and texts that it rejects.
fn check(schema: &str, good: &[&str], bad: &[&str]) {
    let (grammar, unchecked) = grammar(schema);
    assert!(unchecked.is_empty(), "{schema}\n{unchecked:?}");
    for good in good {
        assert_eq!(grammar.matches(good.as_bytes()), Ok(true), "{schema}\n{good}");
        json(good);
    }
    for bad in bad {
        assert_eq!(grammar.matches(bad.as_bytes()), Ok(false), "{schema}\n{bad}");
    }
}

#[test]
fn types() {
    check(
        r#"{"type":"string"}"#,
        &[r#""""#, r#""a\n\"é😀\/""#, r#""\u00e9\ud83d\ude00""#],
        &["a", r#"""""#, "\"\n\"", r#""\ud83d""#, r#""\q""#],
    );
    check(r#"{"type":"integer"}"#, &["0", "-7", "123"], &["", "01", "1.0", "+1", "-", "1e3"]);
    check(r#"{"type":"number"}"#, &["0", "-7.25", "1e10", "1.5E-3"], &["1.", ".5", "01", "1e", "NaN"]);
    check(r#"{"type":"boolean"}"#, &["true", "false"], &["True", "1"]);
    check(r#"{"type":"null"}"#, &["null"], &["none", ""]);
    check(r#"{"type":["string","null"]}"#, &["null", "\"x\""], &["1"]);
    check("true", &["1", "[]", "{}", "{\"a\" : [1, {\"b\":null}]}", "[1,\n  2]"], &["[1,]", "{a:1}", "", "[1 2]"]);
    check("{}", &["1", "{}"], &[""]);
    check(r#"{"type":"object"}"#, &["{}", r#"{"a":1}"#], &["[]", r#"{"a":1,}"#, r#"{1:1}"#]);
    check(r#"{"const":{"a":["\n\"",1]}}"#, &[r#"{"a":["\n\"",1]}"#], &["{}"]);
    check(r#"{"enum":["a",1,null,true]}"#, &["\"a\"", "1", "null", "true"], &["a", "2", "false"]);
}

#[test]
fn properties_keep_their_order_and_commas() {
    let schema = r#"{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"string"},"m":{"type":"boolean"}},"required":["a"]}"#;
    check(
        schema,
        &[r#"{"a":""}"#, r#"{"z":1,"a":""}"#, r#"{"a":"","m":true}"#, r#"{ "z": 1, "a" : "", "m": false }"#],
        &[
            "{}",
            r#"{"z":1}"#,
            r#"{"a":"","z":1}"#,
            r#"{"a":"",}"#,
            r#"{"m":true}"#,
            r#"{"a":"","b":1}"#,
            r#"{,"a":""}"#,
        ],
    );
    let optional = r#"{"properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3}}}"#;
    check(
        optional,
        &["{}", r#"{"a":1}"#, r#"{"b":2}"#, r#"{"c":3}"#, r#"{"a":1,"c":3}"#, r#"{"a":1,"b":2,"c":3}"#],
        &[r#"{"b":2,"a":1}"#, r#"{"a":1 "b":2}"#, r#"{"a":1,"a":1}"#],
    );
    check(r#"{"type":"object","additionalProperties":false}"#, &["{}", "{ }"], &[r#"{"a":1}"#]);
    check(
        r#"{"properties":{"a":true,"b":false},"required":["a","x"]}"#,
        &[r#"{"a":[],"x":{}}"#],
        &[r#"{"a":1}"#, r#"{"a":1,"b":1,"x":1}"#],
    );
}

#[test]
fn additional_properties_have_other_names() {
    let schema = r#"{"properties":{"ab":{"const":1},"abc":{"const":2},"é":{"const":3}},"additionalProperties":{"type":"string"}}"#;
    check(
        schema,
        &[
            "{}",
            r#"{"ab":1,"abc":2,"x":"y"}"#,
            r#"{"abd":""}"#,
            r#"{"a":"","abcd":""}"#,
            r#"{"":""}"#,
            r#"{"e":"","\n":""}"#.replace("\\n", "b\\n").as_str(),
        ],
        &[r#"{"ab":""}"#, r#"{"abc":""}"#, r#"{"é":""}"#, r#"{"\u0061b":""}"#, r#"{"x":1}"#, r#"{"x":"","ab":1}"#],
    );
    check(r#"{"additionalProperties":{"type":"integer"}}"#, &["{}", r#"{"a":1,"b":2}"#], &[r#"{"a":""}"#]);
}

#[test]
fn arrays() {
    let of = |more: &str| format!(r#"{{"type":"array","items":{{"type":"integer"}}{more}}}"#);
    check(&of(""), &["[]", "[1]", "[1, 2,3]", "[ ]"], &["[,]", "[1,]", "[\"\"]"]);
    check(&of(r#","minItems":2"#), &["[1,2]", "[1,2,3]"], &["[]", "[1]"]);
    check(&of(r#","maxItems":2"#), &["[]", "[1]", "[1,2]"], &["[1,2,3]"]);
    check(&of(r#","maxItems":0"#), &["[]"], &["[1]"]);
    check(&of(r#","minItems":1,"maxItems":1"#), &["[1]"], &["[]", "[1,2]"]);
    let tuple = r#"{"prefixItems":[{"const":1},{"const":2}]"#;
    check(&format!("{tuple}}}"), &["[1,2]"], &["[]", "[1]", "[1,2,3]"]);
    check(&format!("{tuple},\"items\":{{\"const\":3}},\"maxItems\":3}}"), &["[1,2]", "[1,2,3]"], &["[1,2,3,3]"]);
    check(&format!("{tuple},\"maxItems\":1}}"), &["[1]"], &["[1,2]"]);
}

#[test]
fn strings() {
    check(
        r#"{"minLength":2,"maxLength":3}"#,
        &[r#""ab""#, r#""é😀\n""#, r#""\ud83d\ude00a""#],
        &[r#""a""#, r#""abcd""#],
    );
    check(r#"{"type":"string","maxLength":100000}"#, &[r#""""#], &["1"]);
    check(r#"{"format":"date"}"#, &[r#""2026-11-17""#], &[r#""2026-13-01""#, r#""26-11-17""#]);
    check(
        r#"{"format":"date-time"}"#,
        &[r#""2026-11-17T09:30:00Z""#, r#""2026-11-17T23:59:59.5+01:00""#],
        &[r#""2026-11-17""#, r#""2026-11-17T24:00:00Z""#],
    );
    check(r#"{"format":"uuid"}"#, &[r#""123e4567-e89b-12d3-a456-426614174000""#], &[r#""123""#]);
    assert_eq!(grammar(r##"{"format":"hostname"}"##).1, ["#/format"]);
}

#[test]
fn patterns() {
    check(r#"{"pattern":"^[a-z]+$"}"#, &[r#""abc""#], &[r#""""#, r#""aB""#]);
    check(r#"{"pattern":"b+"}"#, &[r#""b""#, r#""abbc""#], &[r#""ac""#]);
    check(r#"{"pattern":"^a|b$"}"#, &[r#""ax""#, r#""xb""#], &[r#""xay""#]);
    check(
        r#"{"pattern":"^\\d{3}-(\\w|\\s)$"}"#,
        &[r#""123-a""#, r#""123-\t""#],
        &[r#""12-a""#, "\"123-\t\"", r#""١٢٣-a""#],
    );
    check(r#"{"pattern":"^[\"\\\\]$"}"#, &[r#""\"""#, r#""\\""#], &[r#""a""#, "\"\"\""]);
    check(r#"{"pattern":"^[^a]$"}"#, &[r#""b""#, r#""\n""#, r#""é""#], &[r#""a""#, "\"\n\"", r#""ab""#]);
    check(r#"{"pattern":"^\\/\"$"}"#, &[r#""/\"""#], &[r#""/""#]);
    for pattern in ["(", "a^b", "(?=a)", "\\\\1(a)", "^a\\\\bb$"] {
        let schema = format!(r#"{{"pattern":"{pattern}"}}"#);
        assert!(matches!(Grammar::of_schema(&json(&schema)), Err(GrammarError::Schema { .. })), "{pattern}");
    }
}

#[test]
fn combinations() {
    check(r#"{"anyOf":[{"type":"integer"},{"const":"x"}]}"#, &["1", "\"x\""], &["\"y\""]);
    check(
        r#"{"type":"object","properties":{"k":{"const":1}},"required":["k"],"oneOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{"const":2}}}]}"#,
        &[r#"{"k":1,"a":1}"#, r#"{"k":1}"#, r#"{"k":1,"b":2}"#],
        &[r#"{"a":1}"#, r#"{"k":1,"a":1,"b":2}"#],
    );
    check(
        r##"{"allOf":[{"$ref":"#/$defs/a"},{"properties":{"y":{"const":2}},"required":["y"]}],"$defs":{"a":{"properties":{"x":{"const":1}},"required":["x"]}}}"##,
        &[r#"{"x":1,"y":2}"#],
        &[r#"{"x":1}"#, r#"{"y":2}"#],
    );
    check(
        r##"{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"]}}}"##,
        &[r#"{"v":1,"next":null}"#, r#"{"v":1,"next":{"v":2,"next":{"v":3,"next":null}}}"#],
        &[r#"{"v":1}"#, r#"{"v":1,"next":{}}"#],
    );
    check(r##"{"type":"array","items":{"$ref":"#"}}"##, &["[]", "[[],[[]]]"], &["[1]"]);
    check(r##"{"$ref":"#/a~1b/0","a/b":[{"const":5}]}"##, &["5"], &["6"]);
}

#[test]
fn unenforced_keywords_are_listed() {
    let (_, unchecked) =
        grammar(r#"{"properties":{"n":{"type":"number","minimum":0},"l":{"type":"array","uniqueItems":true}}}"#);
    assert_eq!(unchecked, ["#/properties/n/minimum", "#/properties/l/uniqueItems"]);
}

#[test]
fn errors_have_a_location() {
    let place = |schema: &str| match Grammar::of_schema(&json(schema)) {
        Err(GrammarError::Schema { path, reason }) => (path, reason),
        other => panic!("{schema}: {other:?}"),
    };
    assert_eq!(
        place(r#"{"properties":{"a":{"type":"text"}}}"#),
        ("#/properties/a".to_owned(), "unknown type `text`".to_owned())
    );
    for schema in [
        "1",
        "false",
        r#"{"type":[]}"#,
        r#"{"type":1}"#,
        r#"{"enum":[]}"#,
        r#"{"enum":1}"#,
        r#"{"properties":[]}"#,
        r#"{"type":"object","required":"a"}"#,
        r#"{"anyOf":[]}"#,
        r#"{"$ref":"other.json"}"#,
        r##"{"$ref":"#/nothing"}"##,
        r##"{"$ref":"#name"}"##,
        r#"{"$ref":1}"#,
        r#"{"minLength":2,"maxLength":1}"#,
        r#"{"minLength":-1}"#,
        r#"{"minItems":1e30}"#,
        r#"{"minItems":2,"maxItems":1}"#,
        r#"{"type":"integer","minimum":3,"maximum":2}"#,
        r#"{"type":"integer","minimum":"3"}"#,
        r#"{"pattern":1}"#,
        r##"{"allOf":[{"$ref":"#"}]}"##,
    ] {
        place(schema);
    }
    let itself = Grammar::of_schema(&json(r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}"##));
    assert!(itself.is_err(), "a schema that is only a reference to itself has no meaning");
    let deep = format!("{}{}{}", r#"{"items":"#.repeat(60), "1", "}".repeat(60));
    assert!(Grammar::of_schema(&json(&deep)).is_err());
}

#[test]
fn schemas_with_exponential_expansion_are_rejected() {
    let too_large = |schema: String| {
        let error = Grammar::of_schema(&json(&schema)).unwrap_err();
        assert!(matches!(error, GrammarError::TooLarge { .. }), "{error}");
    };
    // Each subschema is expanded twice by its parent, and never becomes a shared rule.
    let twice = |n: usize| format!(r##"{{"title":"x","type":"string","$ref":"#/$defs/a{n}"}}"##);
    let parts: Vec<String> = (0..40).map(|n| format!(r#""a{n}":{{"anyOf":[{0},{0}]}}"#, twice(n + 1))).collect();
    too_large(format!(r##"{{"$ref":"#/$defs/a0","$defs":{{{},"a40":{{}}}}}}"##, parts.join(",")));
    let properties: Vec<String> = (0..20_000).map(|n| format!(r#""p{n}":{{"type":"string"}}"#)).collect();
    too_large(format!(r#"{{"properties":{{{}}}}}"#, properties.join(",")));
    let values: Vec<String> = (0..200_000).map(|n| format!(r#""value {n}""#)).collect();
    too_large(format!(r#"{{"enum":[{}]}}"#, values.join(",")));
}

#[test]
fn similar_names_get_different_rules() {
    let names = ["a b", "a-b", "a_b", "ä", "", "root", "value", "json-value", "a--2"];
    let properties: Vec<String> =
        names.iter().zip(1..).map(|(name, n)| format!("{}:{{\"const\":{n}}}", Json::from(*name))).collect();
    let required: Vec<String> = names.iter().map(|name| Json::from(*name).to_string()).collect();
    let schema = format!(r#"{{"properties":{{{}}},"required":[{}]}}"#, properties.join(","), required.join(","));
    let members: Vec<String> = required.iter().zip(1..).map(|(name, n)| format!("{name}:{n}")).collect();
    check(&schema, &[&format!("{{{}}}", members.join(","))], &["{}"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn integers_respect_both_limits(a in -20_000i64..20_000, b in -20_000i64..20_000, tests in prop::collection::vec(-25_000i64..25_000, 40)) {
        let (low, high) = (a.min(b), a.max(b));
        let (grammar, _) = grammar(&format!(r#"{{"type":"integer","minimum":{low},"exclusiveMaximum":{}}}"#, high + 1));
        let edges = [low, high, low - 1, high + 1, 0, -1, 1, low / 10, high / 10, high * 10];
        for number in tests.into_iter().chain(edges) {
            let expected = (low..=high).contains(&number);
            prop_assert_eq!(grammar.matches(number.to_string().as_bytes()), Ok(expected), "{} in {}..={}", number, low, high);
        }
        prop_assert_eq!(grammar.matches(b"-0"), Ok(false));
        prop_assert_eq!(grammar.matches(b"007"), Ok(false));
    }

    #[test]
    fn integers_respect_a_single_limit(limit in -5_000i64..5_000, number in -1_000_000i64..1_000_000) {
        let (above, _) = grammar(&format!(r#"{{"type":"integer","minimum":{limit}}}"#));
        prop_assert_eq!(above.matches(number.to_string().as_bytes()), Ok(number >= limit));
        let (below, _) = grammar(&format!(r#"{{"type":"integer","maximum":{limit}}}"#));
        prop_assert_eq!(below.matches(number.to_string().as_bytes()), Ok(number <= limit));
    }

    /// The grammar of any value accepts compact and pretty output of `serde_json`, and rejects most
    /// other texts.
    #[test]
    fn any_json_is_accepted(text in "[\\[\\]{}\",:0-9a-z \\\\-]{0,12}", word in "\\PC{0,10}", number in -1_000_000i64..1_000_000) {
        let (grammar, _) = grammar("true");
        let value = serde_json::json!({word.clone(): [number, null, {"x": word}], "y": {}});
        prop_assert_eq!(grammar.matches(value.to_string().as_bytes()), Ok(true));
        let pretty = serde_json::to_string_pretty(&value).expect("valid JSON");
        prop_assert_eq!(grammar.matches(pretty.as_bytes()), Ok(true));
        if grammar.matches(text.as_bytes()) == Ok(true) {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
        }
    }
}
