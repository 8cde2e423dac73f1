//! What a script's arguments must be.

use std::fmt;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

/// A JSON Schema for a script's arguments. It is looked at once, when it is made; references to other documents are not
/// followed.
#[derive(Clone)]
pub struct ArgumentSchema(Arc<Validator>);

/// A schema that is none.
#[derive(Debug, thiserror::Error)]
#[error("the argument schema cannot be used: {0}")]
pub struct SchemaError(String);

impl ArgumentSchema {
    /// Reads a schema.
    pub fn new(schema: &Value) -> Result<ArgumentSchema, SchemaError> {
        let validator = jsonschema::validator_for(schema).map_err(|error| SchemaError(error.to_string()))?;
        Ok(ArgumentSchema(Arc::new(validator)))
    }

    /// Whether these arguments fit. The error says where they do not, never what they hold: it is written down.
    pub(super) fn check(&self, arguments: Option<&str>) -> Result<(), String> {
        let arguments: Value = match arguments {
            None => Value::Null,
            Some(text) => serde_json::from_str(text)
                .map_err(|error| format!("they are no JSON (line {}, column {})", error.line(), error.column()))?,
        };
        match self.0.validate(&arguments) {
            Ok(()) => Ok(()),
            Err(error) => {
                let place = match error.instance_path().as_str() {
                    "" => "they do".to_owned(),
                    path => format!("what is at `{path}` does"),
                };
                Err(format!("{place} not fit the schema's `{}`", error.schema_path()))
            }
        }
    }
}

impl fmt::Debug for ArgumentSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArgumentSchema(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_does_not_fit_is_said_by_its_place_and_not_by_its_value() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let schema = ArgumentSchema::new(&schema).unwrap();
        schema.check(Some(r#"{"n": 1}"#)).unwrap();
        let wrong = schema.check(Some(r#"{"n": "secret"}"#)).unwrap_err();
        assert!(wrong.contains("/n") && !wrong.contains("secret"), "{wrong}");
        assert!(schema.check(Some("secret")).unwrap_err().contains("no JSON"));
        assert!(schema.check(Some("{}")).unwrap_err().contains("required"));
        assert!(schema.check(None).is_err());
        assert!(ArgumentSchema::new(&json!({"type": "nothing"})).is_err());
    }
}
