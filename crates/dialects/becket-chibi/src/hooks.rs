//! The table of chibi's hooks: for each its name, becket's event behind it, its class, the input of a plugin
//! (`show.rs`) and the meaning of its answer (`read.rs`).
//!
//! The input is the union of everything that the documentation and programs of both generations promise, so that
//! plugins of either find their fields.

use std::sync::Arc;
use std::time::Duration;

use becket_events::{Class, CompactScope, Event, EventId, Scope};
use becket_hooks::{
    Action, Cause, Engine, Failure, Field, Handler, HandlerInfo, HandlerKey, LaneKind, Matcher, Occasion,
    Registration, Row, RowHandler, ScriptHandler, Unanswerable, nearest,
};
use becket_host::Unloaded;
use futures_util::future::BoxFuture;

use super::answer::AnswerFields;
use super::call::{CONTEXT, Call, HOOK, HOOK_DATA, plugin_lane, timeout_of};
use super::dialect::DIALECT;
use super::plugin::{Generation, HostFacts, Plugin};
use super::scheme::{CONTEXT_NAME, PAYLOAD, SESSION_ID, answer};
use super::situation::{Situation, Teller};
use super::words::Words;
use super::{read, show};

/// One of chibi's hooks.
pub trait Hook: Send + Sync {
    /// The hook's name.
    fn name(&self) -> &'static str;

    /// becket's event behind the hook.
    fn event(&self) -> EventId;

    /// The class of the hook, which decides what a broken plugin means.
    fn class(&self) -> Class;

    /// Registers a plugin for the hook.
    fn register(&self, engine: &Engine, plugin: &Plugin, host: &HostFacts);

    /// Registers a Scheme procedure for the hook.
    fn register_script(&self, engine: &Engine, script: ScriptHook, host: &HostFacts) -> HandlerKey;
}

/// A Scheme procedure for a hook.
pub struct ScriptHook {
    /// The file's name in messages.
    pub file: String,
    /// The procedure's place in the file.
    pub source: String,
    /// The procedure.
    pub function: Arc<dyn ScriptHandler>,
    /// How long one call may take.
    pub timeout: Duration,
    /// Decides whose events the procedure gets.
    pub hears: Arc<dyn Fn(&Scope) -> bool + Send + Sync>,
    /// The lane that runs the procedure.
    pub lane: LaneKind,
}

/// The sort key that puts Scheme procedures after all plugins: no name of a file sorts after it.
const AFTER_PLUGINS: &str = "\u{10ffff}";

/// A hook with the types of its event.
struct HookRow<E: Event> {
    name: &'static str,
    class: Class,
    /// When the event is this hook, if the event is wider.
    condition: Option<fn(&Scope, &E::Payload) -> bool>,
    show: Show<E>,
    read: Read<E>,
}

/// Makes the JSON text that a plugin reads.
type Show<E> = fn(&Situation<'_, E>) -> String;

/// Turns an answer into a reply.
type Read<E> = fn(&Situation<'_, E>, AnswerFields) -> Result<<E as Event>::Reply, Failure>;

/// All hooks.
// tidy: a table
pub fn hooks() -> Vec<Box<dyn Hook>> {
    use Class::{Filter, Guard, Observe, Transform};
    vec![
        own("on_start", Observe, show::on_start, read::nothing),
        own("on_end", Observe, show::on_end, read::nothing),
        row(
            "on_context_switch",
            Observe,
            show::on_context_switch,
            read::nothing,
        ),
        own("pre_message", Filter, show::pre_message, read::prompt),
        own("post_message", Observe, show::post_message, read::nothing),
        own(
            "pre_system_prompt",
            Transform,
            show::pre_system_prompt,
            read::inject_before,
        ),
        own(
            "post_system_prompt",
            Transform,
            show::post_system_prompt,
            read::inject_after,
        ),
        row("pre_tool", Guard, show::pre_tool, read::call),
        row("post_tool", Observe, show::post_tool, read::nothing),
        row("pre_tool_output", Filter, show::pre_tool_output, read::output),
        row("post_tool_output", Observe, show::post_tool_output, read::nothing),
        row(
            "pre_api_tools",
            Filter,
            show::pre_api_tools,
            read::choice_of_tools,
        ),
        row(
            "pre_api_request",
            Filter,
            show::pre_api_request,
            read::request_body,
        ),
        own(
            "pre_agentic_loop",
            Transform,
            show::pre_agentic_loop,
            read::loop_start,
        ),
        own(
            "post_tool_batch",
            Transform,
            show::post_tool_batch,
            read::tool_batch,
        ),
        only(
            |_, read| !read.inside,
            "pre_file_read",
            Guard,
            show::pre_file_read,
            read::denied_reading,
        ),
        row(
            "pre_file_write",
            Guard,
            show::pre_file_write,
            read::denied_writing,
        ),
        row(
            "pre_shell_exec",
            Guard,
            show::pre_shell_exec,
            read::denied_command,
        ),
        only(
            |_, fetch| fetch.sensitive.is_some() || fetch.url.is_none(),
            "pre_fetch_url",
            Guard,
            show::pre_fetch_url,
            read::denied_fetching,
        ),
        row("pre_spawn_agent", Guard, show::pre_spawn_agent, read::subagent),
        only(
            |_, agent| agent.error.is_none(),
            "post_spawn_agent",
            Observe,
            show::post_spawn_agent,
            read::nothing,
        ),
        row("pre_cache_output", Transform, show::pre_cache_output, read::cache),
        row(
            "post_cache_output",
            Observe,
            show::post_cache_output,
            read::nothing,
        ),
        row(
            "pre_send_message",
            Transform,
            show::pre_send_message,
            read::delivery,
        ),
        row(
            "post_send_message",
            Observe,
            show::post_send_message,
            read::nothing,
        ),
        row("post_index_file", Observe, show::post_index_file, read::nothing),
        row("pre_vfs_write", Observe, show::pre_vfs_write, read::nothing),
        row("post_vfs_write", Observe, show::post_vfs_write, read::nothing),
        row("pre_clear", Observe, show::pre_clear, read::nothing),
        row("post_clear", Observe, show::post_clear, read::nothing),
        only(
            |scope, compaction| is_own(scope) && compaction.scope == CompactScope::Full,
            "pre_compact",
            Observe,
            show::pre_compact,
            read::nothing,
        ),
        only(
            |scope, compaction| is_own(scope) && compaction.scope == CompactScope::Full,
            "post_compact",
            Observe,
            show::post_compact,
            read::nothing,
        ),
        only(
            |scope, compaction| is_own(scope) && compaction.scope == CompactScope::Rolling,
            "pre_rolling_compact",
            Observe,
            show::pre_rolling_compact,
            read::nothing,
        ),
        only(
            |scope, compaction| is_own(scope) && compaction.scope == CompactScope::Rolling,
            "post_rolling_compact",
            Observe,
            show::post_rolling_compact,
            read::nothing,
        ),
    ]
}

/// The hook with that name.
pub fn hook_named(name: &str) -> Option<Box<dyn Hook>> {
    hooks().into_iter().find(|hook| hook.name() == name)
}

/// Registers a plugin for its hooks, each once, whichever of its tools lists it. Returns the errors in the names of the
/// others.
pub fn register(engine: &Engine, plugin: &Plugin, host: &HostFacts) -> Vec<String> {
    register_further(engine, plugin, &[], host)
}

/// Registers a plugin for its hooks, except for those for which it is registered already.
pub fn register_further(engine: &Engine, plugin: &Plugin, asked: &[&str], host: &HostFacts) -> Vec<String> {
    let known = hooks();
    let mut remarks = Vec::new();
    for name in plugin.hooks().into_iter().filter(|name| !asked.contains(name)) {
        match known.iter().find(|hook| hook.name() == name) {
            Some(hook) => hook.register(engine, plugin, host),
            None => {
                let near = nearest(name, known.iter().map(|hook| hook.name()));
                let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                remarks.push(format!("it wants the hook `{name}`, which does not exist{hint}"));
            }
        }
    }
    remarks
}

/// Registers refusals for a plugin that could not be loaded, at all guards.
pub fn refuse_for(unloaded: &Unloaded, engine: &Engine, host: &HostFacts) {
    let refusing = Arc::new(Unanswerable(Failure::new(
        Cause::SpawnFailed,
        format!("it could not be loaded: {}", unloaded.why),
    )));
    for hook in hooks().into_iter().filter(|hook| hook.class() == Class::Guard) {
        let script = ScriptHook {
            file: unloaded.name.clone(),
            source: unloaded.source.clone(),
            function: refusing.clone(),
            timeout: host.hook_timeout,
            hears: Arc::new(|_| true),
            lane: LaneKind::Command,
        };
        hook.register_script(engine, script, host);
    }
}

/// A hook that is the whole of its event.
fn row<E: Event>(name: &'static str, class: Class, show: Show<E>, read: Read<E>) -> Box<dyn Hook> {
    Box::new(HookRow {
        name,
        class,
        condition: None,
        show,
        read,
    })
}

/// A hook about the user's own conversation, which gets no events of sub-agents.
fn own<E: Event>(name: &'static str, class: Class, show: Show<E>, read: Read<E>) -> Box<dyn Hook> {
    only(|scope, _| is_own(scope), name, class, show, read)
}

/// Whether the session was started by the user, not by an agent.
fn is_own(scope: &Scope) -> bool {
    scope.parent_session_id.is_none()
}

/// A hook that is a part of its event.
fn only<E: Event>(
    condition: fn(&Scope, &E::Payload) -> bool,
    name: &'static str,
    class: Class,
    show: Show<E>,
    read: Read<E>,
) -> Box<dyn Hook> {
    Box::new(HookRow {
        name,
        class,
        condition: Some(condition),
        show,
        read,
    })
}

impl<E: Event> Hook for HookRow<E> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn event(&self) -> EventId {
        E::ID
    }

    fn class(&self) -> Class {
        self.class
    }

    fn register(&self, engine: &Engine, plugin: &Plugin, host: &HostFacts) {
        let call = self.call(plugin);
        let timeout = timeout_of(host, call, host.hook_timeout);
        let info = HandlerInfo {
            name: plugin.name.clone(),
            source: plugin.path.display().to_string(),
            dialect: DIALECT,
            known_as: Some(self.name),
            lane: LaneKind::Command,
            class: self.class,
            priority: 0,
            timeout,
            matcher: None,
            shadow: false,
            rewrites: true,
        };
        let handler = RowHandler {
            lane: Arc::new(plugin_lane(plugin, host, call)),
            row: self.row(plugin, host),
            timeout,
        };
        engine.register(Registration {
            info,
            order: vec![plugin.name.clone()],
            matcher: Matcher::default(),
            condition: self.condition.map(|condition| Arc::new(condition) as _),
            action: Action::Other(Arc::new(handler)),
        });
    }

    fn register_script(&self, engine: &Engine, script: ScriptHook, host: &HostFacts) -> HandlerKey {
        let ScriptHook {
            file,
            source,
            function,
            timeout,
            hears,
            lane,
        } = script;
        let info = HandlerInfo {
            name: file.clone(),
            source,
            dialect: DIALECT,
            known_as: Some(self.name),
            lane,
            class: self.class,
            priority: 0,
            timeout,
            matcher: None,
            shadow: false,
            rewrites: true,
        };
        let row = ScriptRow::<E> {
            function,
            class: self.class,
            show: self.show,
            read: self.read,
            teller: Teller {
                host: host.clone(),
                plugin: file.clone(),
                words: Words::of(Generation::Newer),
            },
        };
        let own = self.condition;
        let condition = move |scope: &Scope, payload: &E::Payload| {
            hears(scope) && own.is_none_or(|own| own(scope, payload))
        };
        engine.register(Registration {
            info,
            order: vec![AFTER_PLUGINS.into(), file],
            matcher: Matcher::default(),
            condition: Some(Arc::new(condition)),
            action: Action::Other(Arc::new(row)),
        })
    }
}

/// A Scheme procedure as the handler of a hook.
struct ScriptRow<E: Event> {
    function: Arc<dyn ScriptHandler>,
    class: Class,
    show: Show<E>,
    read: Read<E>,
    teller: Teller,
}

impl<E: Event> Handler<E> for ScriptRow<E> {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, E>) -> BoxFuture<'a, Result<E::Reply, Failure>> {
        Box::pin(async move {
            let scope = occasion.scope;
            let situation = self.teller.situation(occasion.payload, &scope.context_name);
            let shown = occasion.text(NEWER, || (self.show)(&situation));
            let quoted = |text: &str| serde_json::Value::from(text).to_string();
            let fields = vec![
                Field::new(PAYLOAD, Arc::clone(&shown)),
                Field::new(CONTEXT_NAME, quoted(&scope.context_name)),
                Field::new(SESSION_ID, quoted(&scope.session_id)),
            ];
            let answered = occasion.call(&*self.function, fields).await?;
            let answer = answer(self.class, answered.returned.as_deref(), &shown)?;
            (self.read)(&situation, answer)
        })
    }
}

/// The format of the input of newer plugins and of Scheme procedures.
const NEWER: &str = "chibi";

impl<E: Event> HookRow<E> {
    fn call(&self, plugin: &Plugin) -> Call {
        match self.class {
            Class::Guard => Call::Guard(plugin.terminal),
            _ => Call::Hook,
        }
    }

    /// The row for one plugin.
    fn row(&self, plugin: &Plugin, host: &HostFacts) -> Row<E> {
        let Self {
            name,
            class,
            show,
            read,
            ..
        } = *self;
        let teller = Arc::new(Teller {
            host: host.clone(),
            plugin: plugin.name.clone(),
            words: Words::of(plugin.generation),
        });
        let (reader, generation) = (Arc::clone(&teller), plugin.generation);
        Row {
            format: match generation {
                Generation::Older => "chibi, older",
                Generation::Newer => NEWER,
            },
            encode: Box::new(move |occasion| {
                show(&teller.situation(occasion.payload, &occasion.scope.context_name))
            }),
            environment: Box::new(move |occasion, input| {
                Ok(variables(name, &occasion.scope.context_name, input))
            }),
            decode: Box::new(move |payload, finished| {
                let answer = AnswerFields::read(class, &finished)?;
                read(&reader.situation(payload, ""), answer)
            }),
        }
    }
}

/// The variables of a hook's call. Newer plugins ignore the data here, and an older plugin that was not recognised
/// finds them.
fn variables(hook: &str, context_name: &str, data: &str) -> Vec<(String, String)> {
    vec![
        (HOOK.to_owned(), hook.to_owned()),
        (CONTEXT.to_owned(), context_name.to_owned()),
        (HOOK_DATA.to_owned(), data.to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_at_most_as_strong_as_its_event() {
        for hook in hooks() {
            assert!(hook.class() <= hook.event().info().class, "{}", hook.name());
        }
    }

    #[test]
    fn there_are_34_hooks_and_six_of_them_guard() {
        let names: std::collections::BTreeSet<_> = hooks().iter().map(|hook| hook.name()).collect();
        assert_eq!(names.len(), 34);
        let guards: Vec<_> = hooks()
            .iter()
            .filter(|hook| hook.class() == Class::Guard)
            .map(|hook| hook.name())
            .collect();
        let expected = [
            "pre_tool",
            "pre_file_read",
            "pre_file_write",
            "pre_shell_exec",
            "pre_fetch_url",
            "pre_spawn_agent",
        ];
        assert_eq!(guards, expected);
    }
}
