//! The parts of docker-agent's input and output that builtins use, in terms that are not docker-agent's.

use serde_json::{Map, Value};

use super::hook::BuiltinCall;
use super::output::Output;

/// The moment of a builtin's call, as far as it matters for checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment<'a> {
    /// A turn begins.
    TurnBegins,
    /// A turn is over.
    TurnEnds,
    /// A tool is about to run.
    CallBegins {
        /// Identifies the call.
        id: &'a str,
        /// The tool.
        tool: &'a str,
    },
    /// A call is over.
    CallEnds {
        /// Identifies the call.
        id: &'a str,
    },
    /// A session is over.
    SessionEnds,
    /// Any other moment.
    Other,
}

impl<'a> BuiltinCall<'a> {
    /// The moment at which the builtin is called.
    pub fn moment(&self) -> Moment<'a> {
        let text = |name: &str| self.input.get(name).and_then(Value::as_str).unwrap_or_default();
        match self.event {
            "turn_start" => Moment::TurnBegins,
            "turn_end" => Moment::TurnEnds,
            "pre_tool_use" => Moment::CallBegins {
                id: text("tool_use_id"),
                tool: text("tool_name"),
            },
            "post_tool_use" => Moment::CallEnds {
                id: text("tool_use_id"),
            },
            "session_end" => Moment::SessionEnds,
            _ => Moment::Other,
        }
    }

    /// The number of the model call within the run, counted from 1, if the event has one.
    pub fn iteration(&self) -> Option<u64> {
        self.input.get("iteration").and_then(Value::as_u64)
    }

    /// The answer that replaces the texts of the input by clean ones. `clean` returns whether it changed a value.
    pub fn cleaned(&self, clean: impl Fn(&mut Value) -> bool) -> Output {
        match self.event {
            "pre_tool_use" | "tool_input_transform" => self.cleaned_arguments(clean),
            "before_llm_call" => {
                let mut messages = self.input.get("messages").cloned().unwrap_or_default();
                let is_changed = clean(&mut messages);
                Output {
                    updated_messages: messages.as_array().filter(|_| is_changed).cloned(),
                    ..Output::default()
                }
            }
            "tool_response_transform" => {
                let mut response = self.input.get("tool_response").cloned().unwrap_or_default();
                let is_changed = response.is_string() && clean(&mut response);
                Output {
                    updated_tool_response: response.as_str().filter(|_| is_changed).map(str::to_owned),
                    ..Output::default()
                }
            }
            _ => Output::default(),
        }
    }

    /// The answer that replaces the arguments that `clean` changed; the others stay as they are.
    fn cleaned_arguments(&self, clean: impl Fn(&mut Value) -> bool) -> Output {
        let arguments = self.input.get("tool_input").and_then(Value::as_object);
        let mut changed = Map::new();
        for (name, value) in arguments.into_iter().flatten() {
            let mut value = value.clone();
            if clean(&mut value) {
                changed.insert(name.clone(), value);
            }
        }
        if changed.is_empty() {
            return Output::default();
        }
        let tool = self
            .input
            .get("tool_name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Output {
            updated_input: Some(changed),
            system_message: Some(format!(
                "redact_secrets: redacted secret material from arguments of tool {tool:?}"
            )),
            ..Output::default()
        }
    }
}

impl Output {
    /// An answer with text for the model, if there is any.
    pub fn with_context(text: Option<String>) -> Self {
        Self {
            additional_context: text,
            ..Self::default()
        }
    }

    /// An answer with a line for the user, if there is one.
    pub fn with_message(text: Option<String>) -> Self {
        Self {
            system_message: text,
            ..Self::default()
        }
    }

    /// An answer that blocks, with its reason.
    pub fn with_block(reason: String) -> Self {
        Self {
            decision: Some("block".to_owned()),
            reason: Some(reason),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hook::Builtin;
    use super::*;
    use becket_events::Scope;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn cleaned(event: &'static str, input: &Value) -> Output {
        let call = BuiltinCall {
            builtin: &Builtin::RedactSecrets,
            event,
            scope: &Scope::default(),
            input,
            env: &BTreeMap::new(),
        };
        call.cleaned(|value| {
            let text = value.to_string();
            *value = serde_json::from_str(&text.replace("secret", "hidden")).unwrap();
            text.contains("secret")
        })
    }

    #[test]
    fn arguments_messages_and_outputs_are_cleaned_and_nothing_else() {
        let input = json!({
            "tool_name": "shell", "tool_input": {"cmd": "echo secret", "cwd": "."},
            "messages": [{"content": "a secret"}], "tool_response": "the secret",
        });
        for event in ["pre_tool_use", "tool_input_transform"] {
            let output = cleaned(event, &input);
            assert_eq!(
                Value::from(output.updated_input.unwrap()),
                json!({"cmd": "echo hidden"})
            );
            let said = "redact_secrets: redacted secret material from arguments of tool \"shell\"";
            assert_eq!(output.system_message.as_deref(), Some(said));
        }
        let messages = cleaned("before_llm_call", &input).updated_messages;
        assert_eq!(messages, Some(vec![json!({"content": "a hidden"})]));
        let response = cleaned("tool_response_transform", &input).updated_tool_response;
        assert_eq!(response.as_deref(), Some("the hidden"));
        assert_eq!(cleaned("stop", &input), Output::default());
        let input = json!({"tool_input": {"cmd": "ls"}, "messages": [], "tool_response": {"a": "secret"}});
        for event in ["pre_tool_use", "before_llm_call", "tool_response_transform"] {
            assert_eq!(cleaned(event, &input), Output::default(), "{event}");
            assert_eq!(cleaned(event, &json!({})), Output::default(), "{event}");
        }
    }
}
