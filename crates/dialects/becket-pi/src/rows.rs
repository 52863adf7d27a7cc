//! The table of pi's events: for each its name, becket's event behind it, its class, the input of a handler (`show.rs`)
//! and the meaning of its answer (`read.rs`).
//!
//! pi's documentation and its versions disagree about the order of events, and becket's own order is a third one.
//! Extensions see the order of pi's newest version; that is why a prompt becomes a message only after its turn has
//! begun.
//!
//! Handlers run one after another, even where becket's own would run in parallel: extensions rely on the effects of the
//! one before.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becket_events::{
    AgentEnd, AgentStart, Class, Event, EventId, LoopStart, MessageEnd, MessageStart, MessageUpdate,
    ModelChange, ModelContext, NameChange, PostCompact, PostSessionFork, PostSessionSwitch, PostSessionTree,
    PreCompact, PreRequest, PreSessionFork, PreSessionSwitch, PreSessionTree, PreTool, PreToolOutput,
    RequestForm, RequestPurpose, Resources, ResponseData, ResponseStart, Scope, SessionEnd, SessionStart,
    Settled, Stop, SwitchReason, ThinkingChange, ToolEnd, ToolStart, ToolUpdate, TurnEnded, TurnStart,
    UserInput, UserShell,
};
use becket_hooks::{
    Action, Engine, Failure, Field, Handler, HandlerInfo, HandlerKey, LaneKind, Matcher, Occasion,
    Registration, ScriptHandler, nearest,
};
use futures_util::future::BoxFuture;

use super::dialect::DIALECT;
use super::fields::Fields;
use super::growing::Growing;
use super::read::{self, Said};
use super::show::{self, is_own};
use super::words::{ModelName, update_of};

/// The owner of a handler.
#[derive(Debug, Clone)]
pub struct ExtensionOwner {
    /// The extension's name, for messages.
    pub name: String,
    /// The extension's source.
    pub source: String,
    /// The extension's position among the extensions.
    pub order: Vec<String>,
    /// How long one run of a handler may take.
    pub timeout: Duration,
    /// The lane that runs the handler.
    pub lane: LaneKind,
    /// The handler's priority among all handlers; those with a higher one come first.
    pub priority: i32,
}

/// One of pi's events.
pub trait ExtensionRow: Send + Sync {
    /// The event's name.
    fn name(&self) -> &'static str;

    /// becket's event behind it.
    fn event(&self) -> EventId;

    /// The class of the event, which decides what a broken handler means.
    fn class(&self) -> Class;

    /// Registers a script's function for the event.
    fn register(
        &self,
        engine: &Engine,
        handler: Arc<dyn ScriptHandler>,
        owner: &ExtensionOwner,
    ) -> HandlerKey;
}

/// An event with the types of becket's event.
struct RowOf<E: Event> {
    name: &'static str,
    class: Class,
    /// When becket's event is this one, if becket's is wider.
    condition: fn(&Scope, &E::Payload) -> bool,
    show: Show<E>,
    read: Read<E>,
}

/// Adds the fields that a handler reads.
enum Show<E: Event> {
    /// One call of the handler.
    Once(fn(Fields, &Occasion<'_, E>) -> Fields),
    /// As many calls as pi has events for it, with the state that the handler has seen before.
    Growing(fn(&'static str, &Occasion<'_, E>, &mut Growing) -> Vec<Fields>),
}

/// Turns an answer into a reply.
type Read<E> = fn(&Occasion<'_, E>, &Said) -> Result<<E as Event>::Reply, Failure>;

/// The events whose handlers are guards: one that breaks refuses.
pub fn guard_events() -> Vec<&'static str> {
    let rows = rows().into_iter();
    let guards = rows.filter(|row| row.class() == Class::Guard);
    guards.map(|row| row.name()).collect()
}

/// The guard that an unknown event was probably meant to be.
pub fn misspelt_guard(event: &str) -> Option<&'static str> {
    let rows = rows();
    let known = rows.iter().map(|row| (row.name(), row.class() == Class::Guard));
    let others = NEVER_FIRED.iter().chain(DIRECT);
    let known: Vec<(&str, bool)> = known.chain(others.map(|name| (*name, false))).collect();
    match known.iter().any(|(name, _)| *name == event) {
        true => None,
        false => becket_dialect_kit::misspelt_guard(event, known),
    }
}

/// The event, with its fields, that an extension gets when it was loaded in the middle of a session.
pub fn loaded_again() -> (&'static str, Vec<Field>) {
    let event = "session_start";
    (event, Fields::of(event).with("reason", "reload").done())
}

/// The event, with its fields, that an extension gets before it is loaded again.
pub fn about_to_be_loaded_again() -> (&'static str, Vec<Field>) {
    let event = "session_shutdown";
    (event, Fields::of(event).with("reason", "reload").done())
}

/// All events, in the order in which they occur in a run. In pi sub-agents are processes with their own extensions: so
/// events about the conversation do not fire for them, and events about tools and requests do.
// tidy: a table
pub fn rows() -> Vec<Box<dyn ExtensionRow>> {
    use Class::{Guard, Transform};
    vec![
        own::<SessionStart>("session_start", show::session_start),
        changing::<Resources>(
            RESOURCES_EVENT,
            show::resources_discover,
            read::resources_discover,
        ),
        changing::<UserInput>("input", show::input, read::input),
        changing::<AgentStart>(
            "before_agent_start",
            show::before_agent_start,
            read::before_agent_start,
        ),
        agent_start(),
        own::<TurnStart>("turn_start", show::turn_start),
        // A request for a summary is no turn of the conversation.
        Box::new(RowOf::<ModelContext> {
            class: Transform,
            condition: |_, context| context.purpose == RequestPurpose::Answer,
            read: read::context,
            ..telling("context", show::context)
        }),
        Box::new(RowOf::<ModelContext> {
            class: Transform,
            condition: |_, context| context.purpose == RequestPurpose::Answer,
            read: read::context,
            // The system prompt is put before the messages by the prelude.
            ..telling("context_with_system", show::context)
        }),
        Box::new(RowOf::<PreRequest> {
            class: Transform,
            // Of a provider that writes its own requests, only the final request counts.
            condition: |_, request| {
                request.purpose == RequestPurpose::Answer && request.form == RequestForm::Wire
            },
            read: read::before_provider_request,
            ..telling("before_provider_request", show::before_provider_request)
        }),
        Box::new(RowOf::<PreRequest> {
            class: Transform,
            // Requests that extensions write themselves have headers that only they know.
            condition: |_, request| request.purpose == RequestPurpose::Answer && !request.headers.is_empty(),
            read: read::before_provider_headers,
            ..telling("before_provider_headers", show::before_provider_headers)
        }),
        own::<ResponseStart>("after_provider_response", show::after_provider_response),
        Box::new(RowOf::<ResponseData> {
            condition: |scope, data| is_own(scope) && data.purpose == RequestPurpose::Answer,
            ..telling("provider_stream_event", show::provider_stream_event)
        }),
        // pi sends a message that is only stored to its front ends, but not to extensions: one that adds a message for
        // each message would never end.
        Box::new(RowOf::<MessageStart> {
            condition: |scope, start| is_own(scope) && !start.at_rest,
            ..telling("message_start", show::message_start)
        }),
        growing("message_update", message_update),
        Box::new(RowOf::<MessageEnd> {
            class: Transform,
            condition: |scope, end| is_own(scope) && !end.at_rest,
            read: read::message_end,
            ..telling("message_end", show::message_end)
        }),
        own::<ToolStart>("tool_execution_start", show::tool_execution_start),
        Box::new(RowOf::<PreTool> {
            class: Guard,
            condition: |_, _| true,
            read: read::tool_call,
            ..telling("tool_call", show::tool_call)
        }),
        growing("tool_execution_update", tool_execution_update),
        // In pi a call that did not run has no result.
        Box::new(RowOf::<PreToolOutput> {
            class: Transform,
            condition: |_, output| output.ran,
            read: read::tool_result,
            ..telling("tool_result", show::tool_result)
        }),
        own::<ToolEnd>("tool_execution_end", show::tool_execution_end),
        changing::<Stop>(
            "agent_before_settle",
            show::agent_before_settle,
            read::agent_before_settle,
        ),
        changing::<TurnEnded>("turn_end", show::turn_end, read::turn_end),
        own::<AgentEnd>("agent_end", show::agent_end),
        own::<Settled>("agent_settled", show::agent_settled),
        changing::<PreCompact>(
            "session_before_compact",
            show::session_before_compact,
            read::session_before_compact,
        ),
        own::<PostCompact>("session_compact", show::session_compact),
        // A context that the command line chooses replaces no session: the program begins with it.
        Box::new(RowOf::<PreSessionSwitch> {
            class: Transform,
            condition: |scope, switch| is_own(scope) && switch.reason != SwitchReason::Context,
            read: read::session_before_switch,
            ..telling("session_before_switch", show::session_before_switch)
        }),
        Box::new(RowOf::<PostSessionSwitch> {
            condition: |scope, switch| is_own(scope) && switch.reason != SwitchReason::Context,
            ..telling("session_switch", show::session_switch)
        }),
        changing::<PreSessionFork>(
            "session_before_fork",
            show::session_before_fork,
            read::session_before_fork,
        ),
        own::<PostSessionFork>("session_fork", show::session_fork),
        changing::<PreSessionTree>(
            "session_before_tree",
            show::session_before_tree,
            read::session_before_tree,
        ),
        own::<PostSessionTree>("session_tree", show::session_tree),
        own::<ModelChange>("model_select", show::model_select),
        own::<ThinkingChange>("thinking_level_select", show::thinking_level_select),
        own::<NameChange>("session_info_changed", show::session_info_changed),
        Box::new(RowOf::<UserShell> {
            class: Guard,
            condition: |_, _| true,
            read: read::user_bash,
            ..telling("user_bash", show::user_bash)
        }),
        own::<SessionEnd>("session_shutdown", show::session_shutdown),
    ]
}

/// The events that pi's own front ends get, each with its fields. Front ends get every message.
// tidy: a table
pub(super) fn front_rows() -> Vec<(Box<dyn ExtensionRow>, &'static [&'static str])> {
    vec![
        (agent_start(), &[]),
        (own::<AgentEnd>("agent_end", show::agent_end), &["messages"]),
        (own::<Settled>("agent_settled", show::agent_settled), &["aborted"]),
        (own::<TurnStart>("turn_start", show::turn_start), &[]),
        (
            own::<TurnEnded>("turn_end", show::turn_end),
            &["message", "toolResults"],
        ),
        (
            own::<MessageStart>("message_start", show::message_start),
            &["message"],
        ),
        (
            growing("message_update", message_update),
            &["message", "assistantMessageEvent"],
        ),
        (own::<MessageEnd>("message_end", show::message_end), &["message"]),
        (
            own::<ToolStart>("tool_execution_start", show::tool_execution_start),
            &["toolCallId", "toolName", "args"],
        ),
        (
            growing("tool_execution_update", tool_execution_update),
            &["toolCallId", "toolName", "args", "partialResult"],
        ),
        (
            own::<ToolEnd>("tool_execution_end", show::tool_execution_end),
            &["toolCallId", "toolName", "result", "isError"],
        ),
    ]
}

/// pi's event by which extensions bring resources.
pub const RESOURCES_EVENT: &str = "resources_discover";

/// Events that stand behind none of becket's own: extensions are told directly.
pub const DIRECT: &[&str] = &[
    "mcp_servers_change",
    "project_trust",
    "session_compact_failed",
    "ui_prompt_end",
    "ui_prompt_start",
];

/// Events that some version of pi has and that never fire in becket, so that a handler of one of them is never called.
pub const NEVER_FIRED: &[&str] = &["cache_warming_decision", "session_directory"];

/// Registers an extension's function for one of pi's events. The error says why it will never be called.
pub fn register(
    engine: &Engine,
    event: &str,
    handler: Arc<dyn ScriptHandler>,
    owner: &ExtensionOwner,
) -> Result<HandlerKey, String> {
    let rows = rows();
    if let Some(row) = rows.iter().find(|row| row.name() == event) {
        return Ok(row.register(engine, handler, owner));
    }
    let source = &owner.source;
    if NEVER_FIRED.contains(&event) {
        return Err(format!(
            "{source}: pi has the event `{event}`, but becket does not fire it; its handler is never called"
        ));
    }
    let names = rows
        .iter()
        .map(|row| row.name())
        .chain(NEVER_FIRED.iter().chain(DIRECT).copied());
    let hint = match nearest(event, names) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => "; `becket hooks events` lists all".to_owned(),
    };
    Err(format!("{source}: there is no event `{event}`{hint}"))
}

/// A row of the user's own session that changes nothing.
fn telling<E: Event>(name: &'static str, show: fn(Fields, &Occasion<'_, E>) -> Fields) -> RowOf<E> {
    RowOf {
        name,
        class: Class::Observe,
        condition: |scope, _| is_own(scope),
        show: Show::Once(show),
        read: read::nothing,
    }
}

fn own<E: Event>(name: &'static str, show: fn(Fields, &Occasion<'_, E>) -> Fields) -> Box<dyn ExtensionRow> {
    Box::new(telling(name, show))
}

/// The row of `agent_start`. A continuation without the user is still the same run.
fn agent_start() -> Box<dyn ExtensionRow> {
    Box::new(RowOf::<LoopStart> {
        condition: |scope, start| is_own(scope) && start.continuation == 0,
        ..telling("agent_start", show::agent_start)
    })
}

/// A row of the user's own session about data that grow.
fn growing<E: Event>(
    name: &'static str,
    show: fn(&'static str, &Occasion<'_, E>, &mut Growing) -> Vec<Fields>,
) -> Box<dyn ExtensionRow> {
    Box::new(RowOf::<E> {
        name,
        class: Class::Observe,
        condition: |scope, _| is_own(scope),
        show: Show::Growing(show),
        read: read::nothing,
    })
}

/// A row of the user's own session that can change something.
fn changing<E: Event>(
    name: &'static str,
    show: fn(Fields, &Occasion<'_, E>) -> Fields,
    read: Read<E>,
) -> Box<dyn ExtensionRow> {
    Box::new(RowOf {
        class: Class::Transform,
        read,
        ..telling(name, show)
    })
}

fn message_update(
    event: &'static str,
    occasion: &Occasion<'_, MessageUpdate>,
    growing: &mut Growing,
) -> Vec<Fields> {
    let model = ModelName::in_use(occasion.scope);
    let events = growing.answer(occasion.payload, model, show::now_ms());
    let fields = events.into_iter().map(|(message, update)| {
        Fields::of(event)
            .with("message", message)
            .with("assistantMessageEvent", update)
    });
    fields.collect()
}

fn tool_execution_update(
    event: &'static str,
    occasion: &Occasion<'_, ToolUpdate>,
    growing: &mut Growing,
) -> Vec<Fields> {
    let call = update_of(occasion.payload);
    let fields = Fields::of(event)
        .with("toolCallId", call.id)
        .with("toolName", call.name())
        .with("args", call.foreign_arguments())
        .with("partialResult", growing.partial_result(occasion.payload));
    vec![fields]
}

impl<E: Event> Clone for Show<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Event> Copy for Show<E> {}

impl<E: Event> Clone for RowOf<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Event> Copy for RowOf<E> {}

impl<E: Event> ExtensionRow for RowOf<E> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn event(&self) -> EventId {
        E::ID
    }

    fn class(&self) -> Class {
        self.class
    }

    fn register(
        &self,
        engine: &Engine,
        handler: Arc<dyn ScriptHandler>,
        owner: &ExtensionOwner,
    ) -> HandlerKey {
        let condition = self.condition;
        engine.register(Registration {
            info: HandlerInfo {
                name: owner.name.clone(),
                source: owner.source.clone(),
                dialect: DIALECT,
                known_as: Some(self.name),
                lane: owner.lane,
                class: self.class,
                priority: owner.priority,
                timeout: owner.timeout,
                matcher: None,
                shadow: false,
                rewrites: true,
            },
            order: owner.order.clone(),
            matcher: Matcher::default(),
            condition: Some(Arc::new(condition)),
            action: Action::Other(Arc::new(Listener {
                row: *self,
                handler,
                growing: Mutex::default(),
            })),
        })
    }
}

/// A script's function as the handler of a row.
struct Listener<E: Event> {
    row: RowOf<E>,
    handler: Arc<dyn ScriptHandler>,
    growing: Mutex<Growing>,
}

impl<E: Event> Listener<E> {
    /// The fields of each call of the function.
    fn calls(&self, occasion: &Occasion<'_, E>) -> Vec<Vec<Field>> {
        let name = self.row.name;
        match self.row.show {
            Show::Once(show) => vec![show(Fields::of(name), occasion).done()],
            Show::Growing(show) => {
                let mut growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
                let calls = show(name, occasion, &mut growing);
                calls.into_iter().map(Fields::done).collect()
            }
        }
    }
}

impl<E: Event> Handler<E> for Listener<E> {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, E>) -> BoxFuture<'a, Result<E::Reply, Failure>> {
        Box::pin(async move {
            let mut said = Said::default();
            for fields in self.calls(occasion) {
                said = Said(occasion.call(&*self.handler, fields).await?);
            }
            (self.row.read)(occasion, &said)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_at_most_as_strong_as_its_event_and_two_rows_guard() {
        let rows = rows();
        let mut guards = Vec::new();
        for row in &rows {
            assert!(row.class() <= row.event().info().class, "{}", row.name());
            if row.class() == Class::Guard {
                guards.push(row.name());
            }
            assert!(!NEVER_FIRED.contains(&row.name()), "{}", row.name());
        }
        assert_eq!(guards, ["tool_call", "user_bash"]);
        let names: std::collections::BTreeSet<_> = rows.iter().map(|row| row.name()).collect();
        assert_eq!(names.len(), rows.len(), "no name stands twice");
    }
}
