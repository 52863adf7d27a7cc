//! Messages and tools that extensions draw themselves, on a screen.
//!
//! The look of a text or a tool is needed when it is printed, which cannot wait. In the embedded engine the answer is
//! available at once; in Node it is not, so extensions there are not asked about texts and tools of others.

use std::sync::Arc;
use std::time::Duration;

use becket_events::{Message, MessageBody};
use becket_host::{Drawing, Whose};
use becket_js::Extension;
use futures_util::FutureExt;
use serde_json::{Map, Value, json};

use super::extension_list::Guest;
use super::registry::ExtensionRegistry;
use crate::host_call::ToolDefinition;
use crate::services::{
    Drawer, RenderCall, RenderMessage, RenderResult, ResolveRenderers, Resolved, Service, TransformMarkdown,
};

/// How long an extension may take to draw something.
const A_MOMENT: Duration = Duration::from_secs(5);

/// Prints lines unchanged.
pub fn print(registry: &ExtensionRegistry, lines: &[String]) {
    if let Some(screen) = registry.screen() {
        screen.print(&lines.join("\n"));
    }
}

/// Prints the drawing of an extension: at once if it is available, else as soon as it is. If there is none after
/// all, nothing is printed.
fn print_drawn<S>(registry: &Arc<ExtensionRegistry>, extension: Extension, service: S)
where
    S: Service<Answer = Option<Vec<String>>> + Send + Sync + 'static,
{
    let registry = Arc::clone(registry);
    let mut drawing = Box::pin(async move {
        match registry.ask(&extension, &service, A_MOMENT).await {
            Ok(Some(lines)) => print(&registry, &lines),
            Ok(None) => {}
            Err(failure) => registry.fail(extension.name(), Some("renderer"), &failure.to_string()),
        }
    });
    if (&mut drawing).now_or_never().is_none() {
        tokio::spawn(drawing);
    }
}

/// The extension whose tool draws. The model may know the tool by becket's name of its operation.
fn drawer_of(
    registry: &ExtensionRegistry,
    tools: [&str; 2],
    draws: impl Fn(&ToolDefinition) -> bool,
) -> Option<Extension> {
    let found = registry.extensions.each(|guest| {
        let mut own = guest.tools.iter();
        let has = own.any(|tool| tools.contains(&tool.name.as_str()) && draws(tool));
        guest.extension.clone().filter(|_| has)
    });
    found.into_iter().flatten().next()
}

/// The extensions that draw a tool, by both of its names: that of the model and pi's.
fn drawers(registry: &ExtensionRegistry, tool: &str, shown: &str) -> Drawers {
    let names = [tool, shown];
    let mut drawers = Drawers {
        call: drawer_of(registry, names, |tool| tool.renders_call),
        result: drawer_of(registry, names, |tool| tool.renders_result),
    };
    // Unless an extension draws it, becket does, if it knows the tool.
    let mut others = tool != shown || drawers.call.is_some() || drawers.result.is_some();
    for extension in asked_at_once(registry, |guest| guest.resolves_renderers)
        .into_iter()
        .rev()
    {
        let service = ResolveRenderers {
            tool: shown.to_owned(),
            others,
        };
        if let Some(Resolved { call, result }) = answered(registry, &extension, &service) {
            others = [call, result] != [Drawer::Nobody; 2];
            drawers.call = resolved(call, &extension, drawers.call);
            drawers.result = resolved(result, &extension, drawers.result);
        }
    }
    drawers
}

/// The extensions that are registered for a question that cannot wait, and that can answer at once.
fn asked_at_once(registry: &ExtensionRegistry, has_a_say: impl Fn(&Guest) -> bool) -> Vec<Extension> {
    let found = registry
        .extensions
        .each(|guest| guest.extension.clone().filter(|_| has_a_say(guest)));
    let found = found.into_iter().flatten();
    found
        .filter(|extension| {
            let can = extension.answers_at_once();
            if !can {
                let name = extension.name();
                registry.warn_once(&format!(
                    "how the extension {name} wants texts or tools to look is not asked: in a process of its \
                     own it cannot answer at once"
                ));
            }
            can
        })
        .collect()
}

/// The answer of an extension, if it is available at once.
fn answered<S: Service>(
    registry: &ExtensionRegistry,
    extension: &Extension,
    service: &S,
) -> Option<S::Answer> {
    match registry.ask(extension, service, A_MOMENT).now_or_never()? {
        Ok(answer) => Some(answer),
        Err(failure) => {
            registry.fail(extension.name(), Some("renderer"), &failure.to_string());
            None
        }
    }
}

fn width(registry: &ExtensionRegistry) -> usize {
    registry.screen().map_or(80, |screen| screen.size().columns)
}

fn expanded(registry: &ExtensionRegistry) -> bool {
    registry.ui(|ui| ui.tools_expanded()).unwrap_or_default()
}

/// The extensions that draw a tool's calls and results.
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

/// Draws for the extensions of a registry.
pub struct ExtensionDrawing(pub Arc<ExtensionRegistry>);

impl Drawing for ExtensionDrawing {
    fn message(&self, message: &Message) -> bool {
        let MessageBody::Note { kind, .. } = message.body() else {
            return false;
        };
        let found = self.0.extensions.each(|guest| {
            let has = guest.renderers.contains(kind);
            guest.extension.clone().filter(|_| has)
        });
        let Some(extension) = found.into_iter().flatten().next() else {
            return false;
        };
        let service = RenderMessage {
            message: crate::messages::shown(message, crate::ModelName::of("")),
            width: width(&self.0),
            expanded: expanded(&self.0),
        };
        print_drawn(&self.0, extension, service);
        true
    }

    fn call(&self, tool: &str, arguments: &Map<String, Value>) -> bool {
        let (shown, arguments) = crate::written_call(tool, arguments.clone());
        let Some(extension) = drawers(&self.0, tool, shown).call else {
            return false;
        };
        let service = RenderCall {
            tool: shown.to_owned(),
            args: Value::Object(arguments),
            width: width(&self.0),
            expanded: expanded(&self.0),
        };
        print_drawn(&self.0, extension, service);
        true
    }

    fn draws_result(&self, tool: &str) -> bool {
        let (shown, _) = crate::written_call(tool, Map::new());
        drawers(&self.0, tool, shown).result.is_some()
    }

    fn transforms(&self) -> bool {
        !asked_at_once(&self.0, |guest| guest.transforms_markdown).is_empty()
    }

    fn transformed(&self, text: String, whose: Whose, is_complete: bool) -> String {
        let extensions = asked_at_once(&self.0, |guest| guest.transforms_markdown);
        extensions.into_iter().fold(text, |text, extension| {
            let service = TransformMarkdown {
                markdown: text,
                message_type: match whose {
                    Whose::Person => "user",
                    Whose::Model => "assistant",
                    Whose::Thoughts => "assistant-thinking",
                },
                is_streaming: !is_complete,
                width: width(&self.0),
            };
            let answered = answered(&self.0, &extension, &service);
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
        let Some(extension) = drawers(&self.0, tool_name, shown_name).result else {
            return;
        };
        let shown = crate::messages::shown(message, crate::ModelName::of(""));
        let service = RenderResult {
            tool: shown_name.to_owned(),
            args: json!({}),
            result: json!({"content": shown["content"], "details": shown["details"]}),
            is_error: *is_error,
            width: width(&self.0),
            expanded: expanded(&self.0),
        };
        print_drawn(&self.0, extension, service);
    }
}
