//! LoRA adapters: the field `lora`, and `/lora-adapters`. The scale of the fake model's second adapter
//! is the number of letters that its continuations skip.

use serde_json::{Value, json};

use crate::test_server::{TestServer, start};

fn text(server: &TestServer, lora: Value) -> String {
    let body = json!({"prompt": "a", "max_tokens": 3, "temperature": 0, "lora": lora});
    let answer = server.post("/v1/completions", &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["choices"][0]["text"].as_str().expect("a text").to_owned()
}

#[test]
fn a_request_chooses_adapters() {
    let server = start();
    assert_eq!(text(&server, Value::Null), "bcd");
    assert_eq!(text(&server, json!([])), "bcd");
    assert_eq!(text(&server, json!([{"id": 1, "scale": 1}])), "ceg");
    assert_eq!(text(&server, json!([{"id": 0, "scale": 0.5}])), "bcd");
}

#[test]
fn default_scales_are_read_and_set() {
    let server = start();
    let expected =
        |scale: f64| json!([{"id": 0, "path": "one", "scale": 0.0}, {"id": 1, "path": "two", "scale": scale}]);
    assert_eq!(server.get("/lora-adapters").json(), expected(0.0));
    let answer = server.post("/lora-adapters", &json!([{"id": 1, "scale": 2.0, "path": "two"}]));
    assert_eq!((answer.status, answer.json()), (200, json!({"success": true})));
    assert_eq!(server.get("/lora-adapters").json(), expected(2.0));
    assert_eq!(text(&server, Value::Null), "dgj");
    // Those not listed have scale 0.
    assert_eq!(text(&server, json!([{"id": 0, "scale": 1}])), "bcd");
    assert_eq!(server.post("/lora-adapters", &json!([])).status, 200);
    assert_eq!(server.get("/lora-adapters").json(), expected(0.0));
}

#[test]
fn wrong_adapters_are_refused() {
    let server = start();
    for (lora, param) in [
        (json!([{"id": 2, "scale": 1}]), "lora"),
        (json!([{"id": -1, "scale": 1}]), "lora[0].id"),
        (json!([{"scale": 1}]), "lora[0].id"),
        (json!([{"id": 0}]), "lora[0].scale"),
        (json!([{"id": 0, "scale": "1"}]), "lora[0].scale"),
        (json!([{"id": 0, "scale": 1, "weight": 1}]), "lora[0].weight"),
        (json!([5]), "lora[0]"),
        (json!({"id": 0}), "lora"),
    ] {
        let answer = server.post("/v1/completions", &json!({"prompt": "a", "lora": lora}));
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert_eq!(answer.json()["error"]["param"], param, "{}", answer.body);
    }
    for body in [json!({"id": 0}), json!([{"id": 7, "scale": 1}]), json!([{"id": 0}])] {
        assert_eq!(server.post("/lora-adapters", &body).status, 400, "{body}");
    }
}
