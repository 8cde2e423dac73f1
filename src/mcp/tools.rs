//! The tools as agents are told of them.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::runner::Runner;

pub const RUN_SCRIPT: &str = "run_script";
pub const LIST_RUNTIMES: &str = "list_runtimes";

/// Both tools. The languages are the runner's, the limits those of this tenant.
pub fn all(runner: &Runner, tenant: &str) -> Vec<Tool> {
    let languages: Vec<_> = runner.allowed().entries().map(|(value, _)| value).collect();
    let limits = runner.policy().limits_of(tenant);
    let timeout = limits.timeout.map_or(0.0, |timeout| timeout.as_secs_f64());
    let run = format!(
        "Run code in a sandbox and get what it prints, its exit code, and the files it leaves in its working directory \
         (images as images). Each run starts anew: nothing is kept from one to the next. No network, no processes, no \
         package installation. Python has numpy, pandas, scipy, scikit-learn and matplotlib (save figures with \
         savefig). Limits: {timeout} s, {} MiB of memory, {} MiB of files.",
        limits.memory_bytes >> 20,
        limits.scratch_bytes >> 20,
    );
    let input = json!({
        "type": "object",
        "required": ["language", "code"],
        "additionalProperties": false,
        "properties": {
            "language": { "type": "string", "enum": languages, "description": "What runs the code." },
            "name": {
                "type": "string",
                "description": "The program's file name, as its messages show it. JavaScript whose name ends in .ts is \
                                TypeScript."
            },
            "code": { "type": "string", "description": "The program's text. Print what is to be seen." },
            "stdin": { "type": "string", "description": "Standard input. Default: empty." },
            "args": {
                "type": "array",
                "items": { "type": "string" },
                "description": "Arguments (sys.argv[1:], $1, process.argv[2:])."
            },
            "files": {
                "type": "array",
                "description": "Files in the working directory.",
                "items": {
                    "type": "object",
                    "required": ["path"],
                    "additionalProperties": false,
                    "properties": {
                        "path": { "type": "string", "description": "Relative, such as data/a.csv." },
                        "content": { "type": "string", "description": "Its text." },
                        "content_base64": { "type": "string", "description": "Its bytes, where it is no text." }
                    }
                }
            },
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "description": format!("When to stop it, in seconds. Default and most: {timeout}.")
            }
        }
    });
    let nothing = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let list = "List the languages that run_script takes, with their versions, and the limits of a run.";
    // What is inside a sandbox changes nothing outside, and every run of the same code does the same again.
    let harmless = |title: &str| {
        ToolAnnotations::with_title(title).read_only(true).destructive(false).idempotent(true).open_world(false)
    };
    vec![
        Tool::new(RUN_SCRIPT, run, object(input)).with_annotations(harmless("Run code in a sandbox")),
        Tool::new(LIST_RUNTIMES, list, object(nothing)).with_annotations(harmless("List languages")),
    ]
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}
