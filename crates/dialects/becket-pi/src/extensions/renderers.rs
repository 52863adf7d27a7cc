//! Messages and tools that extensions draw themselves, on a screen.

use std::sync::Arc;
use std::time::Duration;

use becket_events::{Message, MessageBody};
use becket_host::{Drawing, Whose};
use becket_js::Extension;
use futures_util::FutureExt;
use serde_json::{Map, Value, json};

use super::board::{Board, Guest};
use crate::host_call::ToolDefinition;
use crate::services::{
    Drawer, RenderCall, RenderMessage, RenderResult, ResolveRenderers, Resolved, Service, TransformMarkdown,
};

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

    /// The extension whose tool draws. The model may know it by becket's own name of what it does.
    fn drawer_of(&self, tools: [&str; 2], draws: impl Fn(&ToolDefinition) -> bool) -> Option<Extension> {
        let found = self.each(|guest| {
            let mut own = guest.tools.iter();
            let has = own.any(|tool| tools.contains(&tool.name.as_str()) && draws(tool));
            guest.extension.clone().filter(|_| has)
        });
        found.into_iter().flatten().next()
    }

    /// Who draws a tool, by both of its names: that of the model and pi's.
    fn drawers(&self, tool: &str, shown: &str) -> Drawers {
        let names = [tool, shown];
        let mut drawers = Drawers {
            call: self.drawer_of(names, |tool| tool.renders_call),
            result: self.drawer_of(names, |tool| tool.renders_result),
        };
        // What nobody else draws, becket does as far as it knows the tool.
        let mut others = tool != shown || drawers.call.is_some() || drawers.result.is_some();
        for extension in self
            .asked_at_once(|guest| guest.resolves_renderers)
            .into_iter()
            .rev()
        {
            let service = ResolveRenderers {
                tool: shown.to_owned(),
                others,
            };
            if let Some(Resolved { call, result }) = self.answered(&extension, &service) {
                others = [call, result] != [Drawer::Nobody; 2];
                drawers.call = resolved(call, &extension, drawers.call);
                drawers.result = resolved(result, &extension, drawers.result);
            }
        }
        drawers
    }

    /// The extensions with a say in something that cannot wait.
    fn asked_at_once(&self, has_a_say: impl Fn(&Guest) -> bool) -> Vec<Extension> {
        let found = self.each(|guest| guest.extension.clone().filter(|_| has_a_say(guest)));
        let found = found.into_iter().flatten();
        found
            .filter(|extension| {
                let can = extension.answers_at_once();
                if !can {
                    let name = extension.name();
                    self.warn_once(&format!(
                        "how the extension {name} wants texts or tools to look is not asked: in a process of its \
                         own it cannot answer at once"
                    ));
                }
                can
            })
            .collect()
    }

    /// What an extension answers at once.
    fn answered<S: Service>(&self, extension: &Extension, service: &S) -> Option<S::Answer> {
        match self.ask(extension, service, A_MOMENT).now_or_never()? {
            Ok(answer) => Some(answer),
            Err(failure) => {
                self.fail(extension.name(), Some("renderer"), &failure.to_string());
                None
            }
        }
    }

    fn width(&self) -> usize {
        self.screen().map_or(80, |screen| screen.size().columns)
    }

    fn expanded(&self) -> bool {
        self.ui(|ui| ui.tools_expanded()).unwrap_or_default()
    }
}

/// Who draws calls of a tool, and what it gives.
struct Drawers {
    call: Option<Extension>,
    result: Option<Extension>,
}

fn resolved(drawer: Drawer, asked: &Extension, others: Option<Extension>) -> Option<Extension> {
    match drawer {
        Drawer::Own => Some(asked.clone()),
        Drawer::Others => others,
        Drawer::Nobody => None,
    }
}

/// How extensions draw.
pub struct BoardDrawing(pub Arc<Board>);

impl Drawing for BoardDrawing {
    fn message(&self, message: &Message) -> bool {
        let MessageBody::Note { kind, .. } = message.body() else {
            return false;
        };
        let found = self.0.each(|guest| {
            let has = guest.renderers.contains(kind);
            guest.extension.clone().filter(|_| has)
        });
        let Some(extension) = found.into_iter().flatten().next() else {
            return false;
        };
        let service = RenderMessage {
            message: crate::messages::shown(message, crate::ModelName::of("")),
            width: self.0.width(),
            expanded: self.0.expanded(),
        };
        self.0.print_drawn(extension, service);
        true
    }

    fn call(&self, tool: &str, arguments: &Map<String, Value>) -> bool {
        let (shown, arguments) = crate::written_call(tool, arguments.clone());
        let Some(extension) = self.0.drawers(tool, shown).call else {
            return false;
        };
        let service = RenderCall {
            tool: shown.to_owned(),
            args: Value::Object(arguments),
            width: self.0.width(),
            expanded: self.0.expanded(),
        };
        self.0.print_drawn(extension, service);
        true
    }

    fn draws_result(&self, tool: &str) -> bool {
        let (shown, _) = crate::written_call(tool, Map::new());
        self.0.drawers(tool, shown).result.is_some()
    }

    fn transforms(&self) -> bool {
        !self.0.asked_at_once(|guest| guest.transforms_markdown).is_empty()
    }

    fn transformed(&self, text: String, whose: Whose, is_complete: bool) -> String {
        let extensions = self.0.asked_at_once(|guest| guest.transforms_markdown);
        extensions.into_iter().fold(text, |text, extension| {
            let service = TransformMarkdown {
                markdown: text,
                message_type: match whose {
                    Whose::Person => "user",
                    Whose::Model => "assistant",
                    Whose::Thoughts => "assistant-thinking",
                },
                is_streaming: !is_complete,
                width: self.0.width(),
            };
            let answered = self.0.answered(&extension, &service);
            answered.unwrap_or(service.markdown)
        })
    }

    fn result(&self, message: &Message) {
        let MessageBody::Tool {
            tool_name, is_error, ..
        } = message.body()
        else {
            return;
        };
        let (shown_name, _) = crate::written_call(tool_name, Map::new());
        let Some(extension) = self.0.drawers(tool_name, shown_name).result else {
            return;
        };
        let shown = crate::messages::shown(message, crate::ModelName::of(""));
        let service = RenderResult {
            tool: shown_name.to_owned(),
            args: json!({}),
            result: json!({"content": shown["content"], "details": shown["details"]}),
            is_error: *is_error,
            width: self.0.width(),
            expanded: self.0.expanded(),
        };
        self.0.print_drawn(extension, service);
    }
}
