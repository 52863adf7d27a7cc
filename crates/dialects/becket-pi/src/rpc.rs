//! pi's RPC protocol: the commands that a program writes to standard input, and the responses besides events
//! (`stream.rs`).
//!
//! Lines end with `
//! ` and nothing else; a `\r` before it is ignored.

use becket_events::ShellResult;
use serde::Deserialize;
use serde_json::{Value, json};

use super::host_call::{Delivery, Dialog, DialogAnswer, Shown};

/// A line of input.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// A command.
    Command {
        /// The id that the response repeats.
        id: Option<Value>,
        /// The command's name.
        name: String,
        /// The command with its fields.
        command: Command,
    },
    /// The answer to a dialog.
    Answer(UiResponse),
    /// A line that could not be understood; the response says why.
    Wrong(Value),
}

/// The commands of the protocol.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Command {
    /// A prompt of the user, or a command of an extension.
    Prompt {
        /// The text.
        message: String,
        /// The images.
        images: Option<Value>,
        /// When the model gets the message if the agent is running.
        streaming_behavior: Option<Behaviour>,
    },
    /// A message for the model as soon as the tools of its answer have run.
    Steer {
        /// The text.
        message: String,
        /// The images.
        images: Option<Value>,
    },
    /// A message for the model when it would stop.
    FollowUp {
        /// The text.
        message: String,
        /// The images.
        images: Option<Value>,
    },
    /// Takes back the messages that wait for the model.
    ClearQueue,
    /// Aborts the agent's run.
    Abort,
    /// Begins another session.
    NewSession {
        /// The file of the session from which the new one comes.
        parent_session: Option<String>,
    },
    /// The state of the session.
    GetState,
    /// Chooses a model.
    SetModel {
        /// The model's provider.
        provider: String,
        /// The provider's id of the model.
        model_id: String,
    },
    /// Chooses the next model.
    CycleModel,
    /// The models that can be used.
    GetAvailableModels,
    /// Sets the thinking level.
    SetThinkingLevel {
        /// pi's name of the level.
        level: String,
    },
    /// Chooses the next thinking level.
    CycleThinkingLevel,
    /// The thinking levels that the model has.
    GetAvailableThinkingLevels,
    /// Sets how many steering messages are delivered at once.
    SetSteeringMode {
        /// How many messages are delivered at once.
        mode: QueueMode,
    },
    /// Sets how many follow-up messages are delivered at once.
    SetFollowUpMode {
        /// How many messages are delivered at once.
        mode: QueueMode,
    },
    /// Summarises the conversation.
    Compact {
        /// Instructions for the summary.
        custom_instructions: Option<String>,
    },
    /// Sets whether a conversation that is too long is summarised automatically.
    SetAutoCompaction {
        /// Whether long conversations are summarised.
        enabled: bool,
    },
    /// Sets whether a failed request is retried automatically.
    SetAutoRetry {
        /// Whether failed requests are retried.
        enabled: bool,
    },
    /// Aborts the waiting for a retry.
    AbortRetry,
    /// Runs a shell command of the user.
    Bash {
        /// The command line.
        command: String,
    },
    /// Aborts the shell commands of the user.
    AbortBash,
    /// The token usage and cost of the session.
    GetSessionStats,
    /// Exports the conversation as an HTML page.
    ExportHtml {
        /// The path of the page.
        output_path: Option<String>,
    },
    /// Continues with another session.
    SwitchSession {
        /// The other session's file.
        session_path: String,
    },
    /// Starts another session with the conversation before an entry.
    Fork {
        /// The id of the entry.
        entry_id: String,
    },
    /// Starts another session with a copy of the conversation.
    Clone,
    /// The entries at which the session can be forked.
    GetForkMessages,
    /// The entries of the session, on all branches.
    GetEntries {
        /// The entry after which to begin.
        since: Option<String>,
    },
    /// The entries of the session as a tree.
    GetTree,
    /// The text of the model's last answer.
    GetLastAssistantText,
    /// Names the session.
    SetSessionName {
        /// The session's name.
        name: String,
    },
    /// The messages of the conversation.
    GetMessages,
    /// The commands that can be typed after a slash.
    GetCommands,
}

/// When a message is delivered that is sent while the agent is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Behaviour {
    /// Before the next request.
    Steer,
    /// When the agent would stop.
    FollowUp,
}

impl From<Behaviour> for Delivery {
    fn from(behaviour: Behaviour) -> Self {
        match behaviour {
            Behaviour::Steer => Self::Steer,
            Behaviour::FollowUp => Self::FollowUp,
        }
    }
}

/// How many queued messages are delivered at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    /// All queued messages.
    All,
    /// The first message.
    OneAtATime,
}

impl QueueMode {
    /// pi's name of the mode.
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::OneAtATime => "one-at-a-time",
        }
    }
}

/// The answer to a dialog.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct UiResponse {
    /// The id of the dialog.
    pub id: String,
    #[serde(default)]
    value: Value,
    #[serde(default)]
    confirmed: Value,
    #[serde(default)]
    cancelled: Value,
}

impl UiResponse {
    /// Whether the answer is a yes, to whichever dialog.
    pub fn says_yes(&self) -> bool {
        self.cancelled != true && self.confirmed == true
    }

    /// The answer to the given dialog.
    pub fn answers(&self, dialog: &Dialog) -> DialogAnswer {
        if self.cancelled == true {
            return dialog.unanswered();
        }
        match (dialog, &self.value) {
            (Dialog::Confirm { .. }, _) => DialogAnswer::Confirmed(self.confirmed == true),
            (_, Value::String(words)) => DialogAnswer::Words(words.clone()),
            _ => DialogAnswer::Nobody,
        }
    }
}

/// Whether a command exists.
fn is_known(name: &str) -> bool {
    // A known command without its fields has another error than an unknown one.
    match serde_json::from_value::<Command>(json!({"type": name})) {
        Ok(_) => true,
        Err(error) => !error.to_string().starts_with("unknown variant"),
    }
}

/// Parses a line, given without its end.
pub fn read(line: &str) -> Line {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let wrong = |why: String| {
        Line::Wrong(response(
            None,
            "parse",
            Err(format!("Failed to parse command: {why}")),
        ))
    };
    let value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => return wrong(error.to_string()),
    };
    let Some(name) = value["type"].as_str().map(ToOwned::to_owned) else {
        return wrong("a command is an object with a `type`".into());
    };
    let id = value.get("id").filter(|id| !id.is_null()).cloned();
    if name == "extension_ui_response" {
        return match serde_json::from_value(value) {
            Ok(answer) => Line::Answer(answer),
            Err(error) => wrong(error.to_string()),
        };
    }
    match serde_json::from_value(value) {
        Ok(command) => Line::Command { id, name, command },
        Err(_) if !is_known(&name) => {
            let why = format!("Unknown command: {name}");
            Line::Wrong(response(id.as_ref(), &name, Err(why)))
        }
        Err(error) => Line::Wrong(response(id.as_ref(), &name, Err(error.to_string()))),
    }
}

/// A response: the result of a command, if it has one, or why it failed.
pub fn response(id: Option<&Value>, command: &str, outcome: Result<Option<Value>, String>) -> Value {
    let mut response = json!({});
    if let Some(id) = id {
        response["id"] = id.clone();
    }
    response["type"] = "response".into();
    response["command"] = command.into();
    response["success"] = outcome.is_ok().into();
    match outcome {
        Ok(Some(data)) => response["data"] = data,
        Ok(None) => {}
        Err(error) => response["error"] = error.into(),
    }
    response
}

/// The request for a dialog.
pub fn dialog_request(id: &str, dialog: &Dialog, timeout_ms: Option<u64>) -> Value {
    let mut request = match dialog {
        Dialog::Select { title, options } => json!({"method": "select", "title": title, "options": options}),
        Dialog::Confirm { title, message } => {
            json!({"method": "confirm", "title": title, "message": message})
        }
        Dialog::Input { title, placeholder } => {
            json!({"method": "input", "title": title, "placeholder": placeholder})
        }
        Dialog::Editor { title, prefill } => json!({"method": "editor", "title": title, "prefill": prefill}),
    };
    if let Some(timeout) = timeout_ms {
        request["timeout"] = timeout.into();
    }
    ui_request(id, request)
}

/// The request to show something; `None` if the protocol has no form for it.
pub fn shown_request(id: &str, shown: &Shown) -> Option<Value> {
    let request = match shown {
        Shown::Notify { message, level } => {
            json!({"method": "notify", "message": message, "notifyType": level})
        }
        Shown::Status { key, text } => json!({"method": "setStatus", "statusKey": key, "statusText": text}),
        Shown::Widget {
            key,
            lines,
            placement,
        } => json!({
            "method": "setWidget",
            "widgetKey": key,
            "widgetLines": lines,
            "widgetPlacement": placement,
        }),
        Shown::Title { title } => json!({"method": "setTitle", "title": title}),
        Shown::EditorText { text } | Shown::Paste { text } => {
            json!({"method": "set_editor_text", "text": text})
        }
        Shown::WorkingMessage { .. }
        | Shown::WorkingVisible { .. }
        | Shown::WorkingIndicator { .. }
        | Shown::HiddenThinkingLabel { .. }
        | Shown::ToolsExpanded { .. }
        | Shown::Signals(_) => return None,
    };
    Some(ui_request(id, request))
}

/// A UI request with the given fields; missing ones are left out, as in JavaScript.
fn ui_request(id: &str, fields: Value) -> Value {
    let mut request = json!({"type": "extension_ui_request", "id": id});
    if let (Value::Object(request), Value::Object(fields)) = (&mut request, fields) {
        request.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    request
}

/// The state of the session, for `get_state`.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionState {
    /// The model in pi's form.
    pub model: Value,
    /// The thinking level.
    pub thinking_level: Value,
    /// Whether the agent is running.
    pub is_streaming: bool,
    /// Whether a summary is being written.
    pub is_compacting: bool,
    /// How many steering messages are delivered at once.
    pub steering_mode: &'static str,
    /// How many follow-up messages are delivered at once.
    pub follow_up_mode: &'static str,
    /// The session's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<String>,
    /// The session's id.
    pub session_id: String,
    /// The session's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// Whether a conversation that is too long is summarised automatically.
    pub auto_compaction_enabled: bool,
    /// How many messages the model sees.
    pub message_count: usize,
    /// How many messages are queued.
    pub pending_message_count: usize,
}

/// The token usage and cost of a conversation, for `get_session_stats`, from its messages in pi's form.
pub fn session_stats(messages: &[Value]) -> Value {
    let of = |role: &str| messages.iter().filter(|message| message["role"] == role).count();
    let answers = || messages.iter().filter(|message| message["role"] == "assistant");
    let calls = answers()
        .filter_map(|answer| answer["content"].as_array())
        .flatten();
    let calls = calls.filter(|part| part["type"] == "toolCall").count();
    let sum = |kind: &str| -> u64 {
        answers()
            .filter_map(|answer| answer["usage"][kind].as_u64())
            .sum()
    };
    let (input, output) = (sum("input"), sum("output"));
    let (read, write) = (sum("cacheRead"), sum("cacheWrite"));
    let cost: f64 = answers()
        .filter_map(|answer| answer["usage"]["cost"]["total"].as_f64())
        .sum();
    json!({
        "userMessages": of("user"),
        "assistantMessages": of("assistant"),
        "toolCalls": calls,
        "toolResults": of("toolResult"),
        "totalMessages": messages.len(),
        "tokens": {
            "input": input,
            "output": output,
            "cacheRead": read,
            "cacheWrite": write,
            "total": input + output + read + write,
        },
        "cost": cost,
    })
}

/// The result of a shell command of the user.
pub fn bash_result(result: &ShellResult) -> Value {
    let mut shown = json!({
        "output": result.output,
        "cancelled": result.cancelled,
        "truncated": result.truncated,
    });
    if let Some(code) = result.exit_code {
        shown["exitCode"] = code.into();
    }
    if let Some(path) = &result.full_output_path {
        shown["fullOutputPath"] = path.clone().into();
    }
    shown
}

/// The text of the last answer that has one.
pub fn last_answer(messages: &[Value]) -> Option<String> {
    let answer = messages.iter().rev().find(|message| {
        let is_empty = message["content"].as_array().is_none_or(Vec::is_empty);
        message["role"] == "assistant" && !(message["stopReason"] == "aborted" && is_empty)
    })?;
    let parts = answer["content"].as_array()?.iter();
    let text: String = parts.filter_map(|part| part["text"].as_str()).collect();
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(line: &str) -> Value {
        match read(line) {
            Line::Wrong(response) => response,
            other => panic!("{line} was read as {other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let cases = [
            ("{", "parse", "Failed to parse command: "),
            ("", "parse", "Failed to parse command: "),
            ("null", "parse", "Failed to parse command: a command is an object"),
            ("[]", "parse", "Failed to parse command: a command is an object"),
            (
                r#"{"type":7}"#,
                "parse",
                "Failed to parse command: a command is an object",
            ),
            (r#"{"type":"fly","id":"1"}"#, "fly", "Unknown command: fly"),
            (
                r#"{"type":"prompt","id":"1"}"#,
                "prompt",
                "missing field `message`",
            ),
            (
                r#"{"type":"set_steering_mode","mode":"two"}"#,
                "set_steering_mode",
                "unknown variant `two`",
            ),
        ];
        for (line, command, error) in cases {
            let response = wrong(line);
            assert_eq!(response["command"], command, "{line}");
            assert_eq!(response["success"], false, "{line}");
            let said = response["error"].as_str().unwrap_or_default();
            assert!(said.starts_with(error), "{line}: {said}");
            assert_eq!(response.get("id").is_some(), line.contains("\"id\""), "{line}");
        }
    }

    #[test]
    fn lines_are_read_whatever_stands_in_their_strings() {
        let line = "{\"type\":\"prompt\",\"message\":\"a\u{2028}b\u{2029}c\",\"extra\":1}\r";
        let Line::Command { id, name, command } = read(line) else {
            panic!("no command")
        };
        assert_eq!((id, name.as_str()), (None, "prompt"));
        let expected = Command::Prompt {
            message: "a\u{2028}b\u{2029}c".into(),
            images: None,
            streaming_behavior: None,
        };
        assert_eq!(command, expected);
    }

    #[test]
    fn answers_mean_what_their_dialogs_ask_for() {
        let select = Dialog::Select {
            title: "t".into(),
            options: Vec::new(),
        };
        let confirm = Dialog::Confirm {
            title: "t".into(),
            message: "m".into(),
        };
        let answer = |fields: Value| {
            let mut line = json!({"type": "extension_ui_response", "id": "1"});
            line.as_object_mut()
                .unwrap()
                .extend(fields.as_object().unwrap().clone());
            match read(&line.to_string()) {
                Line::Answer(answer) => answer,
                other => panic!("{other:?}"),
            }
        };
        let cases = [
            (&select, json!({"value": "a"}), DialogAnswer::Words("a".into())),
            (
                &select,
                json!({"value": "a", "cancelled": true}),
                DialogAnswer::Nobody,
            ),
            (&select, json!({"value": 7}), DialogAnswer::Nobody),
            (&select, json!({}), DialogAnswer::Nobody),
            (
                &confirm,
                json!({"confirmed": true}),
                DialogAnswer::Confirmed(true),
            ),
            (
                &confirm,
                json!({"confirmed": "yes"}),
                DialogAnswer::Confirmed(false),
            ),
            (
                &confirm,
                json!({"confirmed": true, "cancelled": true}),
                DialogAnswer::Confirmed(false),
            ),
            (&confirm, json!({}), DialogAnswer::Confirmed(false)),
        ];
        for (dialog, fields, expected) in cases {
            assert_eq!(answer(fields.clone()).answers(dialog), expected, "{fields}");
        }
    }
}
