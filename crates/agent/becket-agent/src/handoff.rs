//! Who has the word after a round of tools: a tool may say so, else the fallback does when the model has answered.

use serde_json::{Map, Value};

use crate::fuel::Fuel;
use crate::tool::Handoff;

/// Somebody was given the word by a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    /// The person, with these last words.
    Person(Option<String>),
    /// The model, which goes on with this prompt.
    Model(String),
    /// The model, which goes on with this note when it has answered.
    ModelLater(String),
    /// This member of the team, which goes on with the conversation.
    Member(String),
}

impl Word {
    /// What a call says that ran with these arguments.
    pub(crate) fn given(handoff: Handoff, arguments: &Map<String, Value>) -> Self {
        let text = |name: &str| {
            let text = arguments.get(name).and_then(Value::as_str);
            text.filter(|text| !text.trim().is_empty()).map(str::to_string)
        };
        match handoff {
            Handoff::Person => Self::Person(text("message")),
            Handoff::Model => Self::Model(text("prompt").unwrap_or_default()),
            Handoff::ModelLater => Self::ModelLater(text("note").unwrap_or_default()),
            Handoff::Member => Self::Member(text("agent").unwrap_or_default()),
        }
    }
}

/// What the model reads when it is asked again without the person.
pub(crate) fn continuation_prompt(via: &str, fuel: &Fuel, prompt: &str) -> String {
    let left = match (fuel.remaining(), fuel.total) {
        (Some(remaining), Some(total)) => format!(", fuel {remaining}/{total}"),
        _ => String::new(),
    };
    let note = format!(
        "[You have the word again (by {via}{left}). Go on with the task; call_user with a message ends your turn.]"
    );
    match prompt.trim() {
        "" => note,
        prompt => format!("{note}\n{prompt}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn given(handoff: Handoff, arguments: &Value) -> Word {
        Word::given(handoff, arguments.as_object().unwrap())
    }

    #[test]
    fn words_that_are_missing_empty_or_no_text_are_none() {
        for arguments in [json!({}), json!({"message": " "}), json!({"message": 3})] {
            assert_eq!(
                given(Handoff::Person, &arguments),
                Word::Person(None),
                "{arguments}"
            );
        }
        let arguments = json!({"message": "done", "prompt": "on", "note": "later"});
        assert_eq!(
            given(Handoff::Person, &arguments),
            Word::Person(Some("done".into()))
        );
        assert_eq!(given(Handoff::Model, &arguments), Word::Model("on".into()));
        assert_eq!(
            given(Handoff::ModelLater, &arguments),
            Word::ModelLater("later".into())
        );
    }

    #[test]
    fn the_model_learns_why_it_was_asked_how_much_is_left_and_how_to_end() {
        let text = continuation_prompt("call_agent", &Fuel::full(Some(9)), "tests first");
        for piece in ["call_agent", "fuel 9/9", "call_user", "\ntests first"] {
            assert!(text.contains(piece), "{text}");
        }
        let text = continuation_prompt("call_agent", &Fuel::full(None), " ");
        assert!(!text.contains("fuel") && !text.contains('\n'), "{text}");
    }
}
