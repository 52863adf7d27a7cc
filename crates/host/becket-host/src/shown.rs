//! What guests show the user and ask them, in a form that every front end understands.

use serde::{Deserialize, Serialize};

use crate::terminal_signal::TerminalSignal;

/// When the model gets a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Delivery {
    /// Before the model's next request.
    Steer,
    /// When the model would otherwise stop.
    FollowUp,
    /// Together with the next prompt.
    NextTurn,
}

/// An element that an extension shows the user.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Shown {
    /// A notification.
    Notify {
        /// The text of the notification.
        message: String,
        /// How important the notification is.
        level: Level,
    },
    /// A status line, which stays until it changes.
    Status {
        /// Which of the extension's status lines.
        key: String,
        /// The line; `None` removes it.
        text: Option<String>,
    },
    /// A few lines next to the editor, which stay until they change.
    Widget {
        /// Which of the extension's widgets.
        key: String,
        /// The lines; `None` removes them.
        lines: Option<Vec<String>>,
        /// The widget's position.
        placement: Option<Placement>,
    },
    /// The title of the window.
    Title {
        /// The title.
        title: String,
    },
    /// The text in the editor.
    EditorText {
        /// The text.
        text: String,
    },
    /// A text that is inserted at the editor's cursor.
    Paste {
        /// The text.
        text: String,
    },
    /// The text that is shown while the agent works.
    WorkingMessage {
        /// The text; `None` for the usual one.
        text: Option<String>,
    },
    /// Whether the user sees that the agent works.
    WorkingVisible {
        /// Whether the indicator is visible.
        visible: bool,
    },
    /// The animation that is shown while the agent works.
    WorkingIndicator {
        /// The frames, in order; `None` for the usual ones.
        frames: Option<Vec<String>>,
        /// How many milliseconds each frame is shown.
        interval_ms: Option<f64>,
    },
    /// The placeholder for thoughts that are not shown.
    HiddenThinkingLabel {
        /// The text; `None` for the usual one.
        text: Option<String>,
    },
    /// Whether the user sees the whole output of tools.
    ToolsExpanded {
        /// Whether the output is expanded.
        expanded: bool,
    },
    /// What the terminal is to do.
    #[serde(skip)]
    Signals(Vec<TerminalSignal>),
}

impl Shown {
    /// The change that removes this element again, if it stays until it changes.
    pub fn undone(&self) -> Option<Self> {
        match self {
            Self::Status { key, .. } => Some(Self::Status {
                key: key.clone(),
                text: None,
            }),
            Self::Widget { key, .. } => Some(Self::Widget {
                key: key.clone(),
                lines: None,
                placement: None,
            }),
            Self::WorkingMessage { .. } => Some(Self::WorkingMessage { text: None }),
            Self::HiddenThinkingLabel { .. } => Some(Self::HiddenThinkingLabel { text: None }),
            _ => None,
        }
    }
}

/// The position of a widget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Placement {
    /// Above the editor.
    AboveEditor,
    /// Below the editor.
    BelowEditor,
}

/// An event of an extension's own editor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EditorNews {
    /// The editor's text has changed.
    Changed {
        /// The text.
        text: String,
    },
    /// The user has submitted a text.
    Submitted {
        /// The submitted text.
        text: String,
        /// The key that submitted it: `enter`, or `alt+enter` for a follow-up.
        key: String,
    },
    /// A key was pressed that belongs to the program: `escape`, `ctrl+c`, `ctrl+d`, `alt+up`.
    Pressed {
        /// The key.
        key: String,
    },
}

/// How important a notification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A piece of information.
    Info,
    /// A warning.
    Warning,
    /// An error.
    Error,
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Dialog {
    /// A choice of one of several options.
    Select {
        /// The dialog's title.
        title: String,
        /// The options.
        options: Vec<String>,
    },
    /// A confirmation, yes or no.
    Confirm {
        /// The dialog's title.
        title: String,
        /// The question.
        message: String,
    },
    /// A single line of text.
    Input {
        /// The dialog's title.
        title: String,
        /// The text that is shown until the user types.
        placeholder: Option<String>,
    },
    /// A text of several lines.
    Editor {
        /// The dialog's title.
        title: String,
        /// The text to begin with.
        prefill: Option<String>,
    },
}

impl Dialog {
    /// The answer that counts if there is no user, or if none answers in time.
    pub fn unanswered(&self) -> DialogAnswer {
        match self {
            Self::Confirm { .. } => DialogAnswer::Confirmed(false),
            _ => DialogAnswer::Nobody,
        }
    }
}

/// The user's answer to a dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum DialogAnswer {
    /// The chosen or typed text.
    Words(String),
    /// The answer to a confirmation.
    Confirmed(bool),
    /// No answer: the dialog was cancelled, timed out, or there is no user.
    Nobody,
}
