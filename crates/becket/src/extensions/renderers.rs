//! Messages and tools that extensions draw themselves, on a screen.

use std::sync::Arc;
use std::time::Duration;

use becket_dialects::pi;
use becket_dialects::pi::host_call::ToolDefinition;
use becket_dialects::pi::services::{RenderCall, RenderMessage, RenderResult, Service};
use becket_events::{Message, MessageBody};
use becket_js::Extension;
use futures_util::FutureExt;
use serde_json::{Map, Value, json};

use super::board::Board;
use crate::front::Drawing;

/// How long somebody may take to draw something.
const A_MOMENT: Duration = Duration::from_secs(5);

impl Board {
    /// Prints lines, as they are.
    pub fn print(&self, lines: &[String]) {
        if let Some(screen) = self.screen() {
            screen.print(&lines.join("\n"));
        }
    }

    /// Prints what an extension draws: at once if it is there at once, else as soon as it is. If it draws nothing after
    /// all, nothing is printed.
    fn print_drawn<S>(self: &Arc<Self>, extension: Extension, service: S)
    where
        S: Service<Answer = Option<Vec<String>>> + Send + Sync + 'static,
    {
        let board = Arc::clone(self);
        let mut drawing = Box::pin(async move {
            match board.ask(&extension, &service, A_MOMENT).await {
                Ok(Some(lines)) => board.print(&lines),
                Ok(None) => {}
                Err(failure) => board.fail(extension.name(), Some("renderer"), &failure.to_string()),
            }
        });
        if (&mut drawing).now_or_never().is_none() {
            tokio::spawn(drawing);
        }
    }

    /// The extension whose tool draws.
    fn drawer_of(&self, tool: &str, draws: impl Fn(&ToolDefinition) -> bool) -> Option<Extension> {
        let found = self.each(|guest| {
            let has = guest.tools.iter().any(|other| other.name == tool && draws(other));
            guest.extension.clone().filter(|_| has)
        });
        found.into_iter().flatten().next()
    }

    fn width(&self) -> usize {
        self.screen().map_or(80, |screen| screen.size().columns)
    }

    fn expanded(&self) -> bool {
        self.ui(|ui| ui.tools_expanded()).unwrap_or_default()
    }
}

impl Drawing for Arc<Board> {
    fn message(&self, message: &Message) -> bool {
        let MessageBody::Note { kind, .. } = message.body() else {
            return false;
        };
        let found = self.each(|guest| {
            let has = guest.renderers.contains(kind);
            guest.extension.clone().filter(|_| has)
        });
        let Some(extension) = found.into_iter().flatten().next() else {
            return false;
        };
        let service = RenderMessage {
            message: pi::messages::shown(message, pi::ModelName::of("")),
            width: self.width(),
            expanded: self.expanded(),
        };
        self.print_drawn(extension, service);
        true
    }

    fn call(&self, tool: &str, arguments: &Map<String, Value>) -> bool {
        let Some(extension) = self.drawer_of(tool, |tool| tool.renders_call) else {
            return false;
        };
        let service = RenderCall {
            tool: tool.to_owned(),
            args: Value::Object(arguments.clone()),
            width: self.width(),
            expanded: self.expanded(),
        };
        self.print_drawn(extension, service);
        true
    }

    fn draws_result(&self, tool: &str) -> bool {
        self.drawer_of(tool, |tool| tool.renders_result).is_some()
    }

    fn result(&self, message: &Message) {
        let MessageBody::Tool {
            tool_name, is_error, ..
        } = message.body()
        else {
            return;
        };
        let Some(extension) = self.drawer_of(tool_name, |tool| tool.renders_result) else {
            return;
        };
        let shown = pi::messages::shown(message, pi::ModelName::of(""));
        let service = RenderResult {
            tool: tool_name.clone(),
            args: json!({}),
            result: json!({"content": shown["content"], "details": shown["details"]}),
            is_error: *is_error,
            width: self.width(),
            expanded: self.expanded(),
        };
        self.print_drawn(extension, service);
    }
}
