//! What guests show the user and ask them, in the words that every front end understands.

use serde::{Deserialize, Serialize};

/// When the model hears a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Delivery {
    /// Before its next request.
    Steer,
    /// When it would otherwise stop.
    FollowUp,
    /// Together with the next prompt.
    NextTurn,
}

/// Something for the person to see.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Shown {
    /// Words.
    Notify {
        /// What to show.
        message: String,
        /// How much it matters.
        level: Level,
    },
    /// A line of state, until it changes.
    Status {
        /// Which of the extension's lines.
        key: String,
        /// The line; none takes it away.
        text: Option<String>,
    },
    /// A few lines beside the editor, until they change.
    Widget {
        /// Which of the extension's widgets.
        key: String,
        /// The lines; none takes them away.
        lines: Option<Vec<String>>,
        /// Where they stand.
        placement: Option<Placement>,
    },
    /// The title of the window.
    Title {
        /// The title.
        title: String,
    },
    /// What stands in the editor.
    EditorText {
        /// The text.
        text: String,
    },
    /// More text for the editor, where its cursor stands.
    Paste {
        /// The text.
        text: String,
    },
    /// What is shown while the agent works.
    WorkingMessage {
        /// The words; the usual ones if none are said.
        text: Option<String>,
    },
    /// Whether it is shown that the agent works.
    WorkingVisible {
        /// Whether it is.
        visible: bool,
    },
    /// What moves while the agent works.
    WorkingIndicator {
        /// Its pictures, one after the other; the usual ones if none are said.
        frames: Option<Vec<String>>,
        /// Milliseconds for each.
        interval_ms: Option<f64>,
    },
    /// What stands for thoughts that are not shown.
    HiddenThinkingLabel {
        /// The words; the usual ones if none are said.
        text: Option<String>,
    },
    /// Whether the person sees the whole output of tools.
    ToolsExpanded {
        /// Whether that is so.
        expanded: bool,
    },
}

impl Shown {
    /// What takes it away again, where it stays until it changes.
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

/// Where a widget stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Placement {
    /// Above the editor.
    AboveEditor,
    /// Below it.
    BelowEditor,
}

/// What happens in an editor of an extension's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EditorNews {
    /// Another text stands in it.
    Changed {
        /// The text.
        text: String,
    },
    /// A text was handed over.
    Submitted {
        /// The text.
        text: String,
        /// The key: `enter`, or `alt+enter` for a follow-up.
        key: String,
    },
    /// A key was pressed that is the program's: `escape`, `ctrl+c`, `ctrl+d`, `alt+up`.
    Pressed {
        /// The key.
        key: String,
    },
}

/// How much some words for the person matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know.
    Info,
    /// Look at it.
    Warning,
    /// Something went wrong.
    Error,
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Dialog {
    /// One of several.
    Select {
        /// What it is about.
        title: String,
        /// What there is to choose from.
        options: Vec<String>,
    },
    /// Yes or no.
    Confirm {
        /// What it is about.
        title: String,
        /// The question.
        message: String,
    },
    /// A line.
    Input {
        /// What it is about.
        title: String,
        /// What stands there until something is written.
        placeholder: Option<String>,
    },
    /// A text.
    Editor {
        /// What it is about.
        title: String,
        /// The text to begin with.
        prefill: Option<String>,
    },
}

impl Dialog {
    /// What counts as the answer where there is nobody, or nobody answers in time.
    pub fn unanswered(&self) -> DialogAnswer {
        match self {
            Self::Confirm { .. } => DialogAnswer::Confirmed(false),
            _ => DialogAnswer::Nobody,
        }
    }
}

/// What the person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum DialogAnswer {
    /// The chosen or written words.
    Words(String),
    /// Yes or no.
    Confirmed(bool),
    /// Nothing, or there is nobody.
    Nobody,
}
