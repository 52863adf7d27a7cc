//! pi's RPC protocol: what a program writes to standard input, and what it reads besides events (`stream.rs`).
//!
//! Lines end with `\n` and nothing else; one `\r` before it does not count.

use becket_events::ShellResult;
use serde::Deserialize;
use serde_json::{Value, json};

use super::host_call::{Delivery, Dialog, DialogAnswer, Shown};

/// A line that came in.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// Something to be done.
    Command {
        /// By which the program knows the response.
        id: Option<Value>,
        /// The command's name.
        name: String,
        /// What it is.
        command: Command,
    },
    /// The answer to a dialog.
    Answer(UiResponse),
    /// Nothing that could be understood; the response says why.
    Wrong(Value),
}

/// What a program can ask for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Command {
    /// The person's words, or a command of an extension's.
    Prompt {
        /// The words.
        message: String,
        /// Pictures.
        images: Option<Value>,
        /// When they are heard if the agent works.
        streaming_behavior: Option<Behaviour>,
    },
    /// Words for the model as soon as the tools of its answer have run.
    Steer {
        /// The words.
        message: String,
        /// Pictures.
        images: Option<Value>,
    },
    /// Words for the model when it would stop.
    FollowUp {
        /// The words.
        message: String,
        /// Pictures.
        images: Option<Value>,
    },
    /// Ends what the agent does.
    Abort,
    /// Begins another session.
    NewSession {
        /// The session it comes from.
        parent_session: Option<String>,
    },
    /// How things stand.
    GetState,
    /// Chooses a model.
    SetModel {
        /// Its provider.
        provider: String,
        /// Its id there.
        model_id: String,
    },
    /// Chooses the next model.
    CycleModel,
    /// The models that can be used.
    GetAvailableModels,
    /// How much the model is to think.
    SetThinkingLevel {
        /// pi's word.
        level: String,
    },
    /// The next level of thinking.
    CycleThinkingLevel,
    /// How many words that steer are heard at once.
    SetSteeringMode {
        /// How many.
        mode: QueueMode,
    },
    /// How many words that follow are heard at once.
    SetFollowUpMode {
        /// How many.
        mode: QueueMode,
    },
    /// Summarises the conversation.
    Compact {
        /// What the summary should look at.
        custom_instructions: Option<String>,
    },
    /// Whether a conversation that has become too long is summarised.
    SetAutoCompaction {
        /// Whether it is.
        enabled: bool,
    },
    /// Whether a request that failed is tried again.
    SetAutoRetry {
        /// Whether it is.
        enabled: bool,
    },
    /// Ends the waiting for another try.
    AbortRetry,
    /// Runs a command line of the person's own.
    Bash {
        /// The command line.
        command: String,
    },
    /// Ends it.
    AbortBash,
    /// What the session has cost.
    GetSessionStats,
    /// Writes the conversation as a page.
    ExportHtml {
        /// Where to.
        output_path: Option<String>,
    },
    /// Goes on with another session.
    SwitchSession {
        /// Its file.
        session_path: String,
    },
    /// Begins another session with the conversation before an entry.
    Fork {
        /// The entry.
        entry_id: String,
    },
    /// Begins another session with the conversation as it is.
    Clone,
    /// The entries at which the session can be forked.
    GetForkMessages,
    /// The model's last words.
    GetLastAssistantText,
    /// Names the session.
    SetSessionName {
        /// Its name.
        name: String,
    },
    /// The conversation.
    GetMessages,
    /// What can be typed after a slash.
    GetCommands,
}

/// When words are heard that are said while the agent works.
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

/// How many words are heard at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    /// All that wait.
    All,
    /// The first.
    OneAtATime,
}

impl QueueMode {
    /// pi's word for it.
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
    /// The dialog.
    pub id: String,
    #[serde(default)]
    value: Value,
    #[serde(default)]
    confirmed: Value,
    #[serde(default)]
    cancelled: Value,
}

impl UiResponse {
    /// Whether it says yes, to whichever dialog.
    pub fn says_yes(&self) -> bool {
        self.cancelled != true && self.confirmed == true
    }

    /// What it means.
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

/// The names of all commands, as they are read.
fn is_known(name: &str) -> bool {
    // A command without its fields is another mistake than an unknown one.
    match serde_json::from_value::<Command>(json!({"type": name})) {
        Ok(_) => true,
        Err(error) => !error.to_string().starts_with("unknown variant"),
    }
}

/// Reads a line, without its end.
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

/// A response: what was asked for, if there is something to tell, or why it was not done.
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

/// A dialog on its way to the program.
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

/// Something to be seen on its way to the program; `None` for what it could not show.
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
        | Shown::ToolsExpanded { .. } => return None,
    };
    Some(ui_request(id, request))
}

/// What is not said is left out, as JavaScript does.
fn ui_request(id: &str, fields: Value) -> Value {
    let mut request = json!({"type": "extension_ui_request", "id": id});
    if let (Value::Object(request), Value::Object(fields)) = (&mut request, fields) {
        request.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    request
}

/// How things stand, for `get_state`.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionState {
    /// The model in pi's shape.
    pub model: Value,
    /// How much it thinks.
    pub thinking_level: Value,
    /// Whether the agent works.
    pub is_streaming: bool,
    /// Whether a summary is written.
    pub is_compacting: bool,
    /// How many words that steer are heard at once.
    pub steering_mode: &'static str,
    /// The same of words that follow.
    pub follow_up_mode: &'static str,
    /// The session's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<String>,
    /// Its id.
    pub session_id: String,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// Whether a conversation that has become too long is summarised.
    pub auto_compaction_enabled: bool,
    /// How many messages the model sees.
    pub message_count: usize,
    /// How many words wait.
    pub pending_message_count: usize,
}

/// What a conversation has cost, for `get_session_stats`, of its messages in pi's shape.
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

/// What came of a command line of the person's.
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

/// The words of the last answer that has some.
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
