//! What a chat says about itself: `/status`, `/cost`, `/hooks`, `/tools`, `/mcp` and `/permissions`, and what of it
//! stands in the footer and in the first lines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use becket_agent::session_handle::SessionHandle;
use becket_agent::tool::ToolSpec;
use becket_agent::{EndingTool, ListedRule, RuleOrigin};
use becket_events::{Class, EVENTS, RuleDecision, Usage};
use becket_hooks::{Engine, HandlerInfo};
use becket_providers::Prices;
use becket_run::config::PermissionsConfig;
use becket_system::{Surroundings, counted, harmless_name, in_thousands};

use crate::conversation::Conversation;
use crate::options::Options;

/// Something that the chat shows about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    Status,
    Cost,
    Hooks,
    Tools,
    Mcp,
    Permissions,
}

impl Report {
    /// The report, in lines.
    pub fn text(
        self,
        conversation: &Conversation,
        (options, surroundings): (&Options, &Surroundings),
    ) -> String {
        match self {
            Self::Status => status(conversation, surroundings),
            Self::Cost => cost(conversation),
            Self::Hooks => hooks(conversation),
            Self::Tools => tools(&offered_tools(conversation)),
            Self::Mcp => servers(conversation),
            Self::Permissions => permissions(conversation, options),
        }
    }
}

/// How many hooks there are, and how many of them are guards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HookCounts {
    pub all: usize,
    pub guards: usize,
}

impl HookCounts {
    pub fn of(engine: &Engine) -> Self {
        let mut counts = Self::default();
        for (_, info) in active(engine) {
            counts.all += 1;
            counts.guards += usize::from(info.class == Class::Guard && !info.shadow);
        }
        counts
    }

    /// The counts in words: `3 hooks, 1 guard`.
    pub fn in_words(self) -> String {
        match (self.all, self.guards) {
            (0, _) => "no hooks".into(),
            (all, 0) => counted(all as u64, "hook"),
            (all, guards) => format!(
                "{}, {}",
                counted(all as u64, "hook"),
                counted(guards as u64, "guard")
            ),
        }
    }
}

/// The hooks of all events, without becket's own parts.
fn active(engine: &Engine) -> Vec<(&'static str, Arc<HandlerInfo>)> {
    let events = EVENTS.iter().map(|info| (info.name, engine.handlers_of(info.id)));
    events
        .flat_map(|(event, handlers)| handlers.into_iter().map(move |info| (event, info)))
        .filter(|(_, info)| !info.is_of_the_program())
        .collect()
}

fn hooks(conversation: &Conversation) -> String {
    let active = active(&conversation.assembled().agent.engine);
    if active.is_empty() {
        return "no hooks are active; `becket hooks new guard` writes one\n".into();
    }
    let line = |(event, info): &(&str, Arc<HandlerInfo>)| {
        let class = match info.class {
            Class::Guard => "guard",
            Class::Filter => "filter",
            Class::Transform => "transform",
            Class::Observe => "observer",
        };
        let shadow = if info.shadow { ", in shadow" } else { "" };
        let (name, source) = (harmless_name(&info.name), harmless_name(&info.source));
        format!("{event:<20} {class:<9} {name}  ({source}{shadow})\n")
    };
    active.iter().map(line).collect()
}

/// The tools that the model is offered, by their sources.
type OfferedTools = BTreeMap<String, Vec<String>>;

fn offered_tools(conversation: &Conversation) -> OfferedTools {
    let agent = &conversation.assembled().agent;
    let handle = conversation.handle();
    let seen = handle.and_then(|handle| handle.config().tools().ok());
    // Where an answer ends the turn by itself, nobody is offered a tool for that.
    let is_of_use =
        |spec: &ToolSpec| !spec.only_ends_turn() || agent.settings.ending_tool == EndingTool::Always;
    let mut by_source = OfferedTools::new();
    for tool in seen.unwrap_or_default() {
        if tool.is_active && is_of_use(&tool.spec) {
            let names = by_source.entry(tool.spec.source).or_default();
            names.push(harmless_name(&tool.spec.face.name));
        }
    }
    by_source
}

fn tools(offered: &OfferedTools) -> String {
    let line = |(source, names): (&String, &Vec<String>)| {
        format!("{}: {}\n", harmless_name(source), names.join(", "))
    };
    match offered.values().map(Vec::len).sum::<usize>() {
        0 => "the model is offered no tools\n".into(),
        all => format!(
            "{}\n{}",
            counted(all as u64, "tool"),
            offered.iter().map(line).collect::<String>()
        ),
    }
}

/// The MCP servers with their states, and the tools of each.
fn servers(conversation: &Conversation) -> String {
    let mut offered = offered_tools(conversation);
    offered.retain(|source, _| source.starts_with("mcp:"));
    let mut lines = Vec::new();
    for (server, line) in server_lines(conversation) {
        lines.push(line);
        let tools = offered.remove(&format!("mcp:{server}"));
        lines.extend(tools.map(|names| format!("  {}", names.join(", "))));
    }
    let others = offered.iter();
    lines.extend(others.map(|(source, names)| format!("{}: {}", harmless_name(source), names.join(", "))));
    if lines.is_empty() {
        return "no MCP server brings tools here; [mcp.servers.NAME] in the settings adds one\n".into();
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The names of the servers of a run, and a line about each.
#[cfg(feature = "mcp")]
fn server_lines(conversation: &Conversation) -> Vec<(String, String)> {
    let servers = conversation.assembled().guests::<becket_mcp_host::RunServers>();
    servers.map_or_else(Vec::new, |servers| crate::servers::server_lines(&servers))
}

#[cfg(not(feature = "mcp"))]
fn server_lines(_: &Conversation) -> Vec<(String, String)> {
    Vec::new()
}

/// The permission mode, and the rules that count right now.
fn permissions(conversation: &Conversation, options: &Options) -> String {
    let mode = options.run.permission_mode.get().word();
    let judge = conversation.handle().and_then(|handle| handle.judge().ok());
    let agent = &conversation.assembled().agent;
    let rules = judge.map_or_else(|| agent.settings.approval.rules.listed(), |judge| judge.rules());
    let setup = conversation.setup();
    let own: BTreeSet<String> = rules_of(&setup.config.permissions).collect();
    let of_project: BTreeSet<String> = setup.project.permissions.iter().flat_map(rules_of).collect();
    let line = |rule: &ListedRule| {
        let decision = match rule.decision {
            RuleDecision::Deny => "deny",
            RuleDecision::Ask => "ask",
            RuleDecision::Allow => "allow",
        };
        let origin = match rule.origin {
            RuleOrigin::Written if own.contains(&rule.text) => "settings",
            RuleOrigin::Written if of_project.contains(&rule.text) => "settings of the project",
            RuleOrigin::Written => "settings of another system",
            RuleOrigin::Stored => "stored",
            RuleOrigin::Hook => "from a hook, until the session ends",
            RuleOrigin::Granted => "your yes, until the session ends",
        };
        format!("{decision:<6} {}  ({origin})\n", harmless_name(&rule.text))
    };
    let rules: String = match rules.as_slice() {
        [] => "no rules count here; a question about a call offers one if there is a safe one\n".into(),
        rules => rules.iter().map(line).collect(),
    };
    format!("mode   {mode} (Shift+Tab changes it)\n{rules}")
}

/// The rules of a settings file, as they are written.
fn rules_of(config: &PermissionsConfig) -> impl Iterator<Item = String> + '_ {
    let lists = [&config.deny, &config.ask, &config.allow].into_iter().flatten();
    lists.map(|rule| rule.get_ref().clone())
}

fn status(conversation: &Conversation, surroundings: &Surroundings) -> String {
    let handle = conversation.handle();
    let usage = handle.as_ref().and_then(|handle| handle.context_usage().ok());
    let window = match usage.map(|usage| usage.is_window_known) {
        Some(true) => handle.as_ref().and_then(window),
        _ => usage.map(|usage| format!("{} tokens, of how many is not known", in_thousands(usage.tokens))),
    };
    let window = window.unwrap_or_else(|| "unknown".into());
    let money = handle
        .as_ref()
        .and_then(|handle| spent(conversation, handle, &conversation.models().prices()));
    let usage = conversation.usage();
    let tools: usize = offered_tools(conversation).values().map(Vec::len).sum();
    let rows = [
        ("becket", env!("CARGO_PKG_VERSION").to_owned()),
        ("model", harmless_name(&conversation.models().current_name())),
        ("folder", folder(surroundings)),
        ("context", conversation.context_name().to_string()),
        ("messages", conversation.message_count().to_string()),
        ("window", window),
        (
            "used",
            format!(
                "{} tokens in, {} out",
                in_thousands(usage.input_tokens),
                in_thousands(usage.output_tokens)
            ),
        ),
        ("cost", money.map_or_else(|| "unknown".into(), dollars)),
        ("tools", tools.to_string()),
        (
            "hooks",
            HookCounts::of(&conversation.assembled().agent.engine).in_words(),
        ),
    ];
    rows.iter()
        .map(|(name, value)| format!("{name:<9} {value}\n"))
        .collect()
}

fn cost(conversation: &Conversation) -> String {
    let output = conversation.output();
    let seen = output.activity().spent();
    let handle = conversation.handle();
    let prices = conversation.models().prices();
    let mut lines = String::new();
    let rest = conversation.usage().without(&total(&seen));
    let others = (rest != Usage::default()).then_some(("sub-agents and summaries", rest));
    let models = seen.iter().map(|(model, usage)| (model.as_str(), *usage));
    for (model, usage) in models.chain(others) {
        let money = handle
            .as_ref()
            .and_then(|handle| price_of(model, &usage, handle, &prices));
        lines.push_str(&format!(
            "{}: {} tokens in ({} from a cache), {} out, {}\n",
            harmless_name(model),
            in_thousands(usage.input_tokens),
            in_thousands(usage.cache_read_tokens),
            in_thousands(usage.output_tokens),
            money.map_or_else(|| "the price is not known".into(), dollars),
        ));
    }
    match lines.is_empty() {
        true => "no tokens have been used yet\n".into(),
        false => lines,
    }
}

fn total(spent: &BTreeMap<String, Usage>) -> Usage {
    spent
        .values()
        .fold(Usage::default(), |sum, usage| sum.plus(*usage))
}

/// What a model's tokens cost; unless a model of that name is known, as much as those of the model in use.
fn price_of(model: &str, usage: &Usage, handle: &SessionHandle, prices: &Prices) -> Option<f64> {
    if usage.cost.is_some() {
        return usage.cost;
    }
    let known = handle.config().models().unwrap_or_default();
    let named = known.into_iter().map(|(provider, _)| provider);
    let named = named.rev().find(|provider| provider.model() == model);
    let provider = named.or_else(|| handle.config().model().ok())?;
    Some(prices.of(&*provider)?.of(usage))
}

/// What the session has cost so far, in US dollars, if all of it is known and it is not nothing.
pub fn spent(conversation: &Conversation, handle: &SessionHandle, prices: &Prices) -> Option<f64> {
    let seen = conversation.output().activity().spent();
    let rest = conversation.usage().without(&total(&seen));
    spent_on(&seen, rest, handle, prices)
}

/// What these tokens have cost, in US dollars, if all of it is known and it is not nothing.
pub fn spent_on(
    seen: &BTreeMap<String, Usage>,
    rest: Usage,
    handle: &SessionHandle,
    prices: &Prices,
) -> Option<f64> {
    let rest = (rest != Usage::default()).then_some(("", rest));
    let seen = seen.iter().map(|(model, usage)| (model.as_str(), *usage));
    let costs = seen
        .chain(rest)
        .map(|(model, usage)| price_of(model, &usage, handle, prices));
    let sum = costs.sum::<Option<f64>>()?;
    (sum.is_finite() && sum > 0.0).then_some(sum)
}

/// An amount as people write it: cents, and for small ones as much as says something.
pub fn dollars(amount: f64) -> String {
    match amount {
        0.095.. => format!("${amount:.2}"),
        _ => format!("${amount:.4}"),
    }
}

/// How full the model's window is, in words.
pub fn window(handle: &SessionHandle) -> Option<String> {
    let usage = handle.context_usage().ok()?;
    let tokens = in_thousands(usage.tokens);
    if !usage.is_window_known {
        return Some(format!("{tokens} tokens"));
    }
    let (percent, window) = (usage.percent().round(), in_thousands(usage.window));
    Some(format!("{tokens} tokens, {percent:.0} % of {window}"))
}

/// The working directory, with `~` for the home folder.
pub fn folder(surroundings: &Surroundings) -> String {
    let home = surroundings.variable("HOME");
    let below = home.as_deref().filter(|home| home.len() > 1);
    let below = below.and_then(|home| surroundings.cwd.strip_prefix(home).ok());
    let shown = match below {
        Some(rest) if rest == Path::new("") => "~".into(),
        Some(rest) => format!("~/{}", rest.display()),
        None => surroundings.cwd.display().to_string(),
    };
    harmless_name(&shown)
}

/// The names of the models that have been used, for completions.
pub fn known_models(conversation: &Conversation) -> Vec<String> {
    let listed = conversation.models().known().into_iter();
    let listed = listed.map(|model| format!("{}/{}", model.provider, model.name));
    let used = conversation
        .handle()
        .and_then(|handle| handle.config().models().ok());
    let used = used.unwrap_or_default().into_iter();
    let used = used.map(|(provider, _)| format!("{}/{}", provider.name(), provider.model()));
    listed.chain(used).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_amounts_are_in_words() {
        let words = |all, guards| HookCounts { all, guards }.in_words();
        assert_eq!(words(0, 0), "no hooks");
        assert_eq!(words(1, 0), "1 hook");
        assert_eq!(words(3, 1), "3 hooks, 1 guard");
        assert_eq!(dollars(1.234), "$1.23");
        assert_eq!(dollars(0.01234), "$0.0123");
    }
}
