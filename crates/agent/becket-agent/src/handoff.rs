//! Who speaks next after a round of tools: a tool may decide, else the fallback does when the model has answered.

use serde_json::{Map, Value};

use crate::fuel::Fuel;
use crate::tool::Handoff;

/// Who speaks next, as a tool has decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NextSpeaker {
    /// The user, who is shown this last message.
    Person(Option<String>),
    /// The model, with this prompt.
    Model(String),
    /// The model, with this note after its answer.
    ModelLater(String),
    /// This member of the team, which continues the conversation.
    Member(String),
}

impl NextSpeaker {
    /// The next speaker that a handoff call with these arguments chooses.
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

/// The prompt when the model is asked again without the user.
pub(crate) fn continuation_prompt(via: &str, fuel: &Fuel, prompt: &str) -> String {
    let left = match (fuel.remaining(), fuel.total) {
        (Some(remaining), Some(total)) => format!(", fuel {remaining}/{total}"),
        _ => String::new(),
    };
    let note = format!(
        "[It is your turn again (by {via}{left}). Go on with the task; call_user with a message ends your turn.]"
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

    fn given(handoff: Handoff, arguments: &Value) -> NextSpeaker {
        NextSpeaker::given(handoff, arguments.as_object().unwrap())
    }

    #[test]
    fn words_that_are_missing_empty_or_no_text_are_none() {
        for arguments in [json!({}), json!({"message": " "}), json!({"message": 3})] {
            assert_eq!(
                given(Handoff::Person, &arguments),
                NextSpeaker::Person(None),
                "{arguments}"
            );
        }
        let arguments = json!({"message": "done", "prompt": "on", "note": "later"});
        assert_eq!(
            given(Handoff::Person, &arguments),
            NextSpeaker::Person(Some("done".into()))
        );
        assert_eq!(given(Handoff::Model, &arguments), NextSpeaker::Model("on".into()));
        assert_eq!(
            given(Handoff::ModelLater, &arguments),
            NextSpeaker::ModelLater("later".into())
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
