//! Tests of chat templates of common models, and of hostile ones.

use std::time::{Duration, UNIX_EPOCH};

use super::*;

fn template(source: &str) -> ChatTemplate {
    ChatTemplate::new(source, "<s>", "</s>").unwrap_or_else(|error| panic!("{source}\n{error}"))
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Renders one user message.
fn render(source: &str) -> Result<String, TemplateError> {
    let mut conversation = Conversation::new(vec![message("user", "Hi")]);
    conversation.variables.push(("value".to_owned(), json(r#"{"b":[1,2.5,null,true,"é<\"'"],"a":{}}"#)));
    template(source).render(&conversation)
}

fn shows(source: &str, expected: &str) {
    assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
}

#[test]
fn chatml() {
    let mut conversation = Conversation::new(vec![message("system", "Be brief."), message("user", "Hi")]);
    let template = template(CHATML);
    assert_eq!(
        template.render(&conversation).as_deref(),
        Ok("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    );
    conversation.add_generation_prompt = false;
    conversation.messages.truncate(1);
    assert_eq!(template.render(&conversation).as_deref(), Ok("<|im_start|>system\nBe brief.<|im_end|>\n"));
    assert_eq!(template.capabilities(), TemplateCapabilities { system: true, typed_content: false, tools: false });
}

#[test]
fn values_are_formatted_as_in_python() {
    shows("{{ value }}", r#"{'b': [1, 2.5, None, True, 'é<"\''], 'a': {}}"#);
    shows("{{ value.b[4] | string }}{{ value.a | string }}{{ none }}{{ missing }}", "é<\"'{}None");
    shows("{{ value | tojson }}", r#"{"b": [1, 2.5, null, true, "é<\"'"], "a": {}}"#);
    shows(
        "{{ value | tojson(indent=2) }}",
        "{\n  \"b\": [\n    1,\n    2.5,\n    null,\n    true,\n    \"é<\\\"'\"\n  ],\n  \"a\": {}\n}",
    );
    shows(
        "{{ value | tojson(sort_keys=true, separators=(',', ':'), ensure_ascii=true) }}",
        r#"{"a":{},"b":[1,2.5,null,true,"\u00e9<\"'"]}"#,
    );
    shows("{{ '😀' | tojson(ensure_ascii=true) }}", r#""\ud83d\ude00""#);
}

#[test]
fn features_that_templates_use_are_supported() {
    shows(
        "{% set ns = namespace(n=0) %}{% for i in [1,2,3] %}{% if i == 2 %}{% continue %}{% endif %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
        "4",
    );
    shows("{% for i in range(9) %}{% if loop.index0 == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}", "012");
    shows(
        "{{ ' a '.strip() ~ 'xay'.split('a')[1] ~ 'b'.upper() }}{{ 'abc'.startswith('ab') and 'c' in 'abc' }}",
        "ayBTrue",
    );
    shows("{% for key, item in value.items() %}{{ key }}{% endfor %}{{ value.get('zz', 'none') }}", "banone");
    shows(
        "{{ messages[0]['role'] }}{{ messages[::-1][0].content[:1] + 'Hi'[::-1] }}{{ (messages | selectattr('role', 'equalto', 'user') | list) | length }}",
        "userHiH1",
    );
    shows("{%- macro f(x) -%} [{{ x }}] {%- endmacro -%}{{ f('a') }}{{ f(1) }}", "[a][1]");
    shows(
        "{{ bos_token }}{{ eos_token }}{{ tools is none }}{{ tools is defined }}{{ add_generation_prompt }}",
        "<s></s>TrueTrueTrue",
    );
    // `trim_blocks` and `lstrip_blocks`, as in `transformers`.
    shows("a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc");
    shows("x{% generation %}{{ 'y' }}{%- endgeneration -%} z", "xyz");
    shows(
        "{{ value.b is sequence }}{{ value is mapping }}{{ 'x' is string }}{{ value.zz is defined }}",
        "TrueTrueTrueFalse",
    );
    shows("{{ none is iterable }}{{ [] is iterable }}{{ 'x' is iterable }}{{ 1 is iterable }}", "FalseTrueTrueFalse");
}

#[test]
fn the_time_is_set_by_the_caller() {
    let mut conversation = Conversation::new(vec![message("user", "Hi")]);
    // Mid-month: the same month in every time zone.
    conversation.now = UNIX_EPOCH + Duration::from_secs(1_781_870_400);
    let text = template("{{ strftime_now('%b %Y') }}").render(&conversation);
    assert_eq!(text.as_deref(), Ok("Jun 2026"));
    assert!(matches!(template("{{ strftime_now('%') }}").render(&conversation), Err(TemplateError::Render { .. })));
}

#[test]
fn without_a_system_role_the_user_message_includes_the_system_prompt() {
    let source = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}[{{ m.role }}:{{ m.content }}]{% endfor %}";
    let template = template(source);
    assert!(!template.capabilities().system);
    let text = template.render(&Conversation::new(vec![
        message("system", "S"),
        message("user", "U"),
        message("assistant", "A"),
    ]));
    assert_eq!(text.as_deref(), Ok("[user:S\n\nU][assistant:A]"));
    let text = template.render(&Conversation::new(vec![message("system", "S")]));
    assert_eq!(text.as_deref(), Ok("[user:S]"));
}

#[test]
fn content_has_the_form_that_the_template_accepts() {
    let parts = json(r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#);
    let plain = template("{% for m in messages %}{{ m.content + '|' }}{% endfor %}");
    assert_eq!(plain.render(&Conversation::new(vec![parts.clone()])).as_deref(), Ok("a\nb|"));
    let typed = template(
        "{% for m in messages %}{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}{% endfor %}",
    );
    assert!(typed.capabilities().typed_content);
    assert_eq!(typed.render(&Conversation::new(vec![message("user", "x")])).as_deref(), Ok("x"));
    assert_eq!(typed.render(&Conversation::new(vec![parts])).as_deref(), Ok("a\nb"));
}

#[test]
fn tools_and_calls_are_rendered() {
    let source = "{% if tools %}{% for t in tools %}{{ t | tojson }}{% endfor %}{% endif %}{% for m in messages %}{{ m.content + ';' }}{% if m.tool_calls %}{% for c in m.tool_calls %}{{ c.function.name }}({{ c.function.arguments | tojson }}){% endfor %}{% endif %}{% endfor %}";
    let template = template(source);
    assert!(template.capabilities().tools);
    let mut conversation = Conversation::new(vec![
        message("user", "Q"),
        json(
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"z\":1, \"a\":2}"}}]}"#,
        ),
    ]);
    conversation.tools = vec![json(r#"{"type":"function","function":{"name":"f","parameters":{"z":{},"a":{}}}}"#)];
    let expected =
        r#"{"type": "function", "function": {"name": "f", "parameters": {"z": {}, "a": {}}}}Q;;f({"z": 1, "a": 2})"#;
    assert_eq!(template.render(&conversation).as_deref(), Ok(expected));
}

#[test]
fn raised_exceptions_keep_their_message() {
    let error = render("{{ raise_exception('user and\nassistant in turn') }}").unwrap_err();
    assert_eq!(error, TemplateError::Raised { reason: "user and assistant in turn".to_owned() });
    let nested = "{% macro f() %}{{ raise_exception('deep') }}{% endmacro %}{{ f() }}";
    assert_eq!(render(nested).unwrap_err(), TemplateError::Raised { reason: "deep".to_owned() });
}

#[test]
fn invalid_templates_fall_back_to_chatml() {
    let none = ChatTemplate::of_model(None, "", "");
    assert!(none.note().is_some_and(|note| note.contains("chatml")));
    let bad = ChatTemplate::of_model(Some("{% for %}"), "", "");
    assert!(bad.note().is_some_and(|note| note.contains("line 1") && !note.contains('\n')), "{:?}", bad.note());
    assert!(
        bad.render(&Conversation::new(vec![message("user", "Hi")]))
            .is_ok_and(|text| text.contains("<|im_start|>user\nHi"))
    );
    let good = ChatTemplate::of_model(Some("{{ messages[0].content }}"), "", "");
    assert_eq!(good.note(), None);
}

#[test]
fn hostile_templates_terminate() {
    let endless = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}";
    assert!(matches!(render(endless), Err(TemplateError::Endless { .. })));
    let long = "{% for a in range(9999) %}{{ 'abcdefgh' * 10000 }}{% endfor %}";
    assert_eq!(render(long), Err(TemplateError::TooLong { limit: MAX_TEXT_BYTES }));
    let deep = "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}";
    assert!(render(deep).is_err());
    assert!(matches!(render("{{ messages[9].content.x.y }}"), Err(TemplateError::Render { .. })));
    for source in [
        "{{",
        "{% if %}",
        "{% endfor %}",
        "{{ 1 + }}",
        "{% include 'x' %}{% for",
        &"(".repeat(5000),
        &format!("{{{{ {} }}}}", "(".repeat(5000)),
    ] {
        match ChatTemplate::new(source, "", "") {
            Err(error) => assert!(!error.to_string().contains('\n') && !error.hint().is_empty()),
            Ok(template) => drop(template.render(&Conversation::new(Vec::new()))),
        }
    }
    assert!(ChatTemplate::new(&" ".repeat(2 << 20), "", "").is_err());
}

#[test]
fn messages_of_any_shape_cause_no_panic() {
    for text in [
        "1",
        "null",
        "[]",
        "{}",
        r#"{"role":1,"content":2}"#,
        r#"{"content":[1,null,{"text":3}],"tool_calls":[1,{"function":2}]}"#,
    ] {
        let _ = template(CHATML).render(&Conversation::new(vec![json(text)]));
    }
}

#[test]
fn only_free_variables_of_the_template_are_listed() {
    let source = "{% if enable_thinking is defined and not enable_thinking %}a{% endif %}{% set effort = reasoning_effort | default('low') %}\
        {% macro show(m) %}{{ m.content }}{{ inner }}{% endmacro %}{% for m in messages %}{{ show(m) }}{{ m.unread }}{% endfor %}\
        {{ effort }}{{ bos_token }}{{ strftime_now('%Y') }}{% if tools %}{{ range(2) }}{% endif %}\
        {% if not date is defined %}{% set date = 'today' %}{% endif %}{{ date }}\
        {%- set own = own | default(1) -%}{% set count = 0 %}{% set count = count + 1 %}{{ own }}{{ count }}";
    let template = template(source);
    let variables: Vec<&str> = template.variables().iter().map(String::as_str).collect();
    assert_eq!(variables, ["date", "enable_thinking", "inner", "own", "reasoning_effort"]);
    let plain = ChatTemplate::of_model(None, "<s>", "</s>");
    assert!(plain.variables().is_empty());
}
