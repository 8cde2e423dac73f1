//! The OpenAPI document is one, has all routes and no others, and is true of what the service answers.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::server::{Answer, Server};

fn document() -> Value {
    serde_json::from_str(include_str!("../../src/serve/api/openapi.json")).unwrap()
}

/// A validator of one of the document's schemas.
fn schema(name: &str) -> jsonschema::Validator {
    let mut schema = document();
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["$ref"] = json!(format!("#/components/schemas/{name}"));
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
fn fits(name: &str, value: &Value) {
    let schema = schema(name);
    let errors: Vec<_> =
        schema.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?} in {value}");
}

#[tokio::test]
async fn the_document_is_openapi_and_is_what_is_served() {
    let text = include_str!("../../src/serve/api/openapi.json");
    let parsed = oas3::from_json(text).unwrap();
    assert_eq!(parsed.openapi, "3.1.0");
    let mut references = Vec::new();
    collect(&document(), &mut references);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document().pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    let server = Server::start("");
    let served = Answer::of(server.get("/openapi.json").send().await.unwrap()).await;
    assert_eq!(served.json, document());
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get("$ref") {
                found.push(reference.clone());
            }
            object.values().for_each(|value| collect(value, found));
        }
        Value::Array(array) => array.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_route_is_in_the_document_and_no_other() {
    let source = include_str!("../../src/serve/api/mod.rs");
    let routes: BTreeSet<_> =
        source.split(".route(\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect();
    let document = document();
    let documented: BTreeSet<_> = document["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(routes, documented);
    let server = Server::start("");
    for path in documented.iter().filter(|path| *path != "/runs") {
        assert_eq!(server.get(path).send().await.unwrap().status(), 200, "{path}");
    }
}

#[tokio::test]
async fn answers_are_what_the_document_says() {
    let server = Server::start("[requests]\nfiles-out = 10");
    let exchange = async |body: Value| {
        fits("RunRequest", &body);
        server.run(&body).await
    };
    let recorded: Value = serde_json::from_str(include_str!("recorded/request.json")).unwrap();
    fits("RunRequest", &recorded);
    let source = "printf 123 > a; printf 12345678901 > b; cat";
    let outcome = exchange(json!({
        "runtime": "sh", "source": source, "keepFiles": true, "standardInput": "x", "timeoutSeconds": 5,
        "maxOutputBytes": 100, "memoryBytes": 200_000_000, "arguments": ["a"], "tenant": null,
        "files": [{"path": "f", "content": "x"}, {"path": "g", "contentBase64": "AA=="}],
    }))
    .await;
    assert!(outcome.json["files"].is_array() && outcome.json["filesOmitted"].is_array(), "{outcome:?}");
    fits("Outcome", &outcome.json);
    for (runtime, source) in [("sh", "exit 9"), ("sh", "sleep 9"), ("python", "import os; os.abort()")] {
        fits("Outcome", &exchange(json!({"runtime": runtime, "source": source, "timeoutSeconds": 0.3})).await.json);
    }
    let problem = exchange(json!({"runtime": "other", "source": ""})).await;
    let documented = &document()["paths"]["/runs"]["post"]["responses"];
    assert!(documented.get(problem.status.to_string()).is_some());
    fits("Problem", &problem.json);
    for (path, name) in [("/runtimes", "Runtimes"), ("/healthz", "Probe"), ("/readyz", "Probe")] {
        fits(name, &Answer::of(server.get(path).send().await.unwrap()).await.json);
    }
}

#[test]
fn what_the_document_forbids_is_refused_by_its_schemas_too() {
    let request = schema("RunRequest");
    for wrong in [
        json!({"runtime": "sh"}),
        json!({"runtime": "sh", "source": "", "timeoutSeconds": 0}),
        json!({"runtime": "sh", "source": "", "maxOutputBytes": -1}),
        json!({"runtime": "sh", "source": "", "sourceSha256": "short"}),
        json!({"runtime": "sh", "source": "", "files": [{"path": "a"}]}),
    ] {
        assert!(!request.is_valid(&wrong), "{wrong}");
    }
    assert!(!schema("Outcome").is_valid(&json!({"exitCode": 256})));
}
