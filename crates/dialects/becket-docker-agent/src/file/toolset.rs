//! Reads toolsets: the known types, and the keys of each.

use becket_dialect_kit::yaml::{Spanned, line_of};
use becket_hooks::{SettingsError, nearest};

use super::reader::Reader;
use super::written::{AnyToolset, Ordered, Table, WrittenRemote, WrittenScript, WrittenToolset};
use super::{Fence, McpDefinition, McpReach, ScriptDefinition, Toolset, ToolsetKind};
use crate::fence::Domain;
use crate::tools::toolset_types;
use crate::toolset_tools;

const MCP: &str = "mcp";
const SCRIPT: &str = "script";
const OPEN_URL: &str = "open_url";

/// How references to servers of Docker's catalogue begin.
const CATALOGUE: &str = "docker:";

/// The types of toolsets that becket serves.
fn served() -> impl Iterator<Item = &'static str> {
    toolset_types().chain([MCP, SCRIPT, OPEN_URL])
}

/// A key that not all toolsets have.
struct Particular {
    key: &'static str,
    /// The line of its value, if it is there.
    line: Option<usize>,
    /// The types of toolsets that have it.
    types: &'static [&'static str],
}

impl Particular {
    fn new<T>(key: &'static str, value: &Option<Spanned<T>>, types: &'static [&'static str]) -> Self {
        let line = value.as_ref().map(line_of);
        Self { key, line, types }
    }
}

/// The types of toolsets that may reach private addresses, if they say so.
const IP_TYPES: &[&str] = &["fetch", MCP];

impl WrittenToolset {
    /// The keys that not all toolsets have.
    fn particular(&self) -> [Particular; 17] {
        [
            Particular::new("name", &self.name, &[MCP, OPEN_URL]),
            Particular::new("ref", &self.r#ref, &[MCP]),
            Particular::new("command", &self.command, &[MCP]),
            Particular::new("args", &self.args, &[MCP]),
            Particular::new("remote", &self.remote, &[MCP]),
            Particular::new("working_dir", &self.working_dir, &[MCP]),
            Particular::new("env", &self.env, &["shell", SCRIPT, MCP, "background_jobs"]),
            Particular::new("shell", &self.shell, &[SCRIPT]),
            Particular::new("path", &self.path, &["memory", "tasks"]),
            Particular::new("timeout", &self.timeout, &["fetch"]),
            Particular::new("url", &self.url, &[OPEN_URL]),
            Particular::new("safer", &self.safer, &["shell"]),
            Particular::new("allow_list", &self.allow_list, &["filesystem"]),
            Particular::new("deny_list", &self.deny_list, &["filesystem"]),
            Particular::new("allowed_domains", &self.allowed_domains, &["fetch"]),
            Particular::new("blocked_domains", &self.blocked_domains, &["fetch"]),
            Particular::new("allow_private_ips", &self.allow_private_ips, IP_TYPES),
        ]
    }
}

/// Reads a toolset; one that refers to a server of the file becomes that server. A type that becket does not have is
/// left out with a remark, whatever its keys: a tool that is not offered restricts nobody. A misspelt type is an error.
pub(super) fn toolset(
    reader: &mut Reader<'_>,
    written: &Spanned<AnyToolset>,
    servers: &Ordered<Spanned<AnyToolset>>,
) -> Result<Option<Toolset>, SettingsError> {
    let (line, set) = (line_of(written), &written.value);
    let Some(kind) = &set.r#type else {
        return Err(reader.error(line, "a toolset has a `type`, as in `type: shell`"));
    };
    let name = kind.value.as_str();
    if !served().any(|served| served == name) {
        if let Some(near) = served().find(|served| is_slip(name, served)) {
            let message = format!("there is no toolset of type `{name}`; did you mean `{near}`?");
            return Err(reader.error(line_of(kind), message));
        }
        let message = format!("toolsets of type `{name}` are not served, so this one is left out");
        reader.leave_out_tools(line_of(kind), message);
        return Ok(None);
    }
    if let Some(key) = set.unknown.first() {
        let message = match nearest(&key.value, WrittenToolset::keys()) {
            Some(near) => format!("unknown key `{}`; did you mean `{near}`?", key.value),
            None => format!("unknown key `{}`", key.value),
        };
        return Err(reader.error(line_of(key), message));
    }
    reader.look_at(set.unserved())?;
    for Particular { key, line, types } in set.particular() {
        if let Some(line) = line.filter(|_| !types.contains(&name)) {
            let types = types.join(", ");
            let message = format!("`{key}` belongs to toolsets of type {types}, not {name}");
            return Err(reader.error(reader.line_of_key(key, line), message));
        }
    }
    let kind = match name {
        MCP => ToolsetKind::Mcp(server(reader, set, line, servers)?),
        SCRIPT => ToolsetKind::Script(scripts(reader, set, line)?),
        OPEN_URL => open_url(reader, set, line)?,
        _ => builtin(set, name),
    };
    let defined = referred(set, servers).map(|definition| &definition.value);
    let chosen = set.tools.as_ref().or_else(|| defined?.tools.as_ref());
    if let (Some(known), Some(chosen)) = (toolset_tools(name), &set.tools) {
        check_tools(reader, name, known, chosen)?;
    }
    Ok(Some(Toolset {
        line,
        kind,
        fence: fence(reader, set, name)?,
        safer: set.safer.as_ref().is_some_and(|safer| safer.value),
        tools: chosen.map(|names| names.iter().map(|name| name.value.clone()).collect()),
        instruction: set.instruction.clone().or_else(|| defined?.instruction.clone()),
        readonly: set.readonly || defined.is_some_and(|definition| definition.readonly),
    }))
}

/// Whether a name differs from another one by a single letter, so that it is a slip and no type of its own.
fn is_slip(name: &str, other: &str) -> bool {
    let (name, other): (Vec<char>, Vec<char>) = (name.chars().collect(), other.chars().collect());
    let same =
        |pairs: &mut dyn Iterator<Item = (&char, &char)>| pairs.take_while(|(one, two)| one == two).count();
    let (shorter, longer) = (name.len().min(other.len()), name.len().max(other.len()));
    let before = same(&mut name.iter().zip(&other));
    let behind = same(&mut name.iter().rev().zip(other.iter().rev()));
    shorter > 3 && longer - behind.min(shorter - before.min(shorter)) - before <= 1
}

/// What the tools of the set may reach.
fn fence(reader: &Reader<'_>, set: &WrittenToolset, kind: &str) -> Result<Fence, SettingsError> {
    let list = |written: &Option<Spanned<Vec<String>>>| {
        let written = written.as_ref();
        written.map(|list| list.value.clone()).unwrap_or_default()
    };
    for list in [&set.allowed_domains, &set.blocked_domains].into_iter().flatten() {
        for text in &list.value {
            Domain::read(text).map_err(|message| reader.error(line_of(list), message))?;
        }
    }
    Ok(Fence {
        allow_list: list(&set.allow_list),
        deny_list: list(&set.deny_list),
        allowed_domains: list(&set.allowed_domains),
        blocked_domains: list(&set.blocked_domains),
        refuses_private: kind == "fetch" && !set.allow_private_ips.as_ref().is_some_and(|may| may.value),
    })
}

fn open_url(reader: &Reader<'_>, set: &WrittenToolset, line: usize) -> Result<ToolsetKind, SettingsError> {
    let name = set.name.as_ref().map_or(OPEN_URL, |name| &name.value);
    if !is_tool_name(name) {
        let message = format!("`{name}` is no name of a tool: letters, digits, `_` and `-` make one");
        return Err(reader.error(line, message));
    }
    match &set.url {
        Some(url) => Ok(ToolsetKind::OpenUrl {
            name: name.to_owned(),
            url: url.value.clone(),
        }),
        None => Err(reader.error(line, "a toolset of type open_url has a `url`")),
    }
}

fn check_tools(
    reader: &Reader<'_>,
    name: &str,
    known: &[&str],
    chosen: &[Spanned<String>],
) -> Result<(), SettingsError> {
    let Some(wrong) = chosen.iter().find(|tool| !known.contains(&tool.value.as_str())) else {
        return Ok(());
    };
    let message = format!("the toolset {name} has no tool `{}`", wrong.value);
    let message = match nearest(&wrong.value, known.iter().copied()) {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => format!("{message}; it has {}", known.join(", ")),
    };
    Err(reader.error(line_of(wrong), message))
}

fn builtin(set: &WrittenToolset, name: &str) -> ToolsetKind {
    ToolsetKind::Builtin {
        name: name.to_owned(),
        env: set.env.as_ref().map(|env| env.value.clone()).unwrap_or_default(),
        path: set.path.as_ref().map(|path| path.value.clone()),
        timeout: set.timeout.as_ref().map(|timeout| timeout.value),
    }
}

fn scripts(
    reader: &mut Reader<'_>,
    set: &WrittenToolset,
    line: usize,
) -> Result<Vec<ScriptDefinition>, SettingsError> {
    let all = set.env.as_ref().map(|env| env.value.clone()).unwrap_or_default();
    let Some(scripts) = set.shell.as_ref().filter(|shell| !shell.value.0.is_empty()) else {
        let message =
            "a toolset of type script has its commands under `shell`, as in `shell: {name: {cmd: …}}`";
        return Err(reader.error(line, message));
    };
    let mut read = Vec::new();
    for (name, script) in &scripts.value.0 {
        let line = line_of(script);
        let WrittenScript {
            cmd,
            description,
            args,
            required,
            env,
            working_dir,
        } = &script.value;
        let Some(command) = cmd.clone().filter(|command| !command.trim().is_empty()) else {
            return Err(reader.error(line, format!("the script `{name}` has no `cmd`")));
        };
        if !is_tool_name(name) {
            let message = format!("`{name}` is no name of a tool: letters, digits, `_` and `-` make one");
            return Err(reader.error(line, message));
        }
        // By default docker-agent requires all arguments.
        let required = required.clone().unwrap_or_else(|| args.keys().cloned().collect());
        if let Some(odd) = required.iter().find(|name| !args.contains_key(*name)) {
            let message = format!("the script `{name}` requires `{odd}`, which is not among its `args`");
            return Err(reader.error(line, message));
        }
        if let Some(twice) = env.keys().find(|name| args.contains_key(*name)) {
            let message =
                format!("the script `{name}` has `{twice}` in `args` and in `env`: one would be lost");
            return Err(reader.error(line, message));
        }
        let mut variables = all.clone();
        variables.extend(env.clone());
        read.push(ScriptDefinition {
            name: name.clone(),
            description: description.clone(),
            command,
            arguments: args.clone(),
            required,
            env: variables,
            working_dir: working_dir.clone(),
        });
    }
    Ok(read)
}

fn is_tool_name(name: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(plain)
}

/// The server of the file to which a toolset refers.
fn referred<'a>(
    set: &WrittenToolset,
    servers: &'a Ordered<Spanned<AnyToolset>>,
) -> Option<&'a Spanned<AnyToolset>> {
    servers.get(&set.r#ref.as_ref()?.value)
}

fn server(
    reader: &mut Reader<'_>,
    set: &WrittenToolset,
    line: usize,
    servers: &Ordered<Spanned<AnyToolset>>,
) -> Result<McpDefinition, SettingsError> {
    let name = || set.name.as_ref().map(|name| name.value.clone());
    if let Some(wanted) = &set.r#ref {
        if set.command.is_some() || set.remote.is_some() {
            return Err(reader.error(line, "a server has one of `command`, `remote` and `ref`"));
        }
        let env = set.env.as_ref().map(|env| env.value.clone()).unwrap_or_default();
        if let Some(server) = wanted.value.strip_prefix(CATALOGUE) {
            let server = server.to_owned();
            return Ok(McpDefinition {
                name: name(),
                reach: McpReach::Catalogue { server, env },
            });
        }
        let Some(definition) = referred(set, servers) else {
            return Err(reader.error(line_of(wanted), unknown_server(&wanted.value, servers)));
        };
        let deeper = definition.value.r#ref.as_ref();
        if let Some(deeper) = deeper.filter(|deeper| !deeper.value.starts_with(CATALOGUE)) {
            return Err(reader.error(
                line_of(deeper),
                "a server under `mcps` is described there, without `ref`",
            ));
        }
        let mut found = server(reader, &definition.value, line_of(definition), servers)?;
        found.name = name().or(found.name);
        if let McpReach::Program { env: own, .. } | McpReach::Catalogue { env: own, .. } = &mut found.reach {
            own.extend(env);
        }
        return Ok(found);
    }
    let reach = match (&set.command, &set.remote) {
        (Some(command), None) => McpReach::Program {
            command: command.value.clone(),
            args: set
                .args
                .as_ref()
                .map(|args| args.value.clone())
                .unwrap_or_default(),
            env: set.env.as_ref().map(|env| env.value.clone()).unwrap_or_default(),
            working_dir: set.working_dir.as_ref().map(|folder| folder.value.clone()),
        },
        (None, Some(remote)) => web(reader, remote)?,
        _ => return Err(reader.error(line, "a server has one of `command`, `remote` and `ref`")),
    };
    Ok(McpDefinition { name: name(), reach })
}

fn unknown_server(name: &str, servers: &Ordered<Spanned<AnyToolset>>) -> String {
    match nearest(name, servers.names()) {
        Some(near) => format!("there is no server `{name}` under `mcps`; did you mean `{near}`?"),
        None => format!("there is no server `{name}` under `mcps`"),
    }
}

fn web(reader: &mut Reader<'_>, remote: &Spanned<WrittenRemote>) -> Result<McpReach, SettingsError> {
    let line = line_of(remote);
    let remote = &remote.value;
    reader.look_at(remote.unserved())?;
    let named = remote.transport_type.as_ref();
    if let Some(transport) = named
        && !matches!(
            transport.value.as_str(),
            "streamable" | "streamable-http" | "http" | "sse"
        )
    {
        let message = format!(
            "the transport `{}` is not served; `streamable` is used, which most servers know",
            transport.value
        );
        reader.remark(line_of(transport), message);
    }
    match &remote.url {
        Some(url) => Ok(McpReach::Web {
            url: url.clone(),
            headers: remote.headers.clone(),
            is_event_stream: named.is_some_and(|transport| transport.value == "sse"),
        }),
        None => Err(reader.error(line, "a `remote` has a `url`")),
    }
}
