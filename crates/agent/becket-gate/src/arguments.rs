//! The arguments of a call on their way from the model to the tool: what was asked for, and what was judged.

use serde_json::{Map, Value};

/// The arguments of a call, under becket's own names. A tool runs with what was judged; what was asked for stays known,
/// for hooks and records.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arguments {
    asked: Map<String, Value>,
    /// What was judged, if that is not what was asked for.
    judged: Option<Map<String, Value>>,
}

impl Arguments {
    /// Reads what the model wrote. The tool brings it into becket's own names (`normalise`), here and nowhere else.
    pub fn read(
        text: &str,
        normalise: impl FnOnce(Map<String, Value>) -> Result<Map<String, Value>, String>,
    ) -> Result<Self, String> {
        let asked = normalise(object_in(text)?)?;
        Ok(Self { asked, judged: None })
    }

    /// The same call with the arguments that were judged.
    pub fn judged_as(self, judged: &Map<String, Value>) -> Self {
        let judged = (*judged != self.asked).then(|| judged.clone());
        Self { judged, ..self }
    }

    /// What was asked for.
    pub fn asked(&self) -> &Map<String, Value> {
        &self.asked
    }

    /// What was judged; before that, what was asked for.
    pub fn judged(&self) -> &Map<String, Value> {
        self.judged.as_ref().unwrap_or(&self.asked)
    }

    /// What was judged, if that is not what was asked for.
    pub fn change(&self) -> Option<&Map<String, Value>> {
        self.judged.as_ref()
    }
}

/// The arguments as an object; a model that needs none may write nothing.
fn object_in(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("the arguments must be a JSON object".into()),
        Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn only_a_change_counts_as_one() {
        let asked = Arguments::read(r#"{"path": "a"}"#, Ok).unwrap();
        assert_eq!(asked.judged(), asked.asked());
        let same = asked.clone().judged_as(&object(json!({"path": "a"})));
        assert_eq!((same.change(), &same), (None, &asked));
        let other = asked.judged_as(&object(json!({"path": "b"})));
        assert_eq!(other.judged(), &object(json!({"path": "b"})));
        assert_eq!(other.asked(), &object(json!({"path": "a"})));
    }

    #[test]
    fn what_is_no_object_is_refused_and_nothing_is_an_empty_one() {
        assert_eq!(Arguments::read(" ", Ok), Ok(Arguments::default()));
        assert!(Arguments::read("[]", Ok).is_err());
        assert!(Arguments::read("{", Ok).is_err());
        assert_eq!(Arguments::read("{}", |_| Err("no".into())), Err("no".into()));
    }
}
