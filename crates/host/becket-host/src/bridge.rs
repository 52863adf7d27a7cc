//! Other agents that ask becket's hooks: what they ask, and what they are answered.
//!
//! `becket bridge` is a hook of such an agent. How an agent writes its questions and reads answers is said by the crate
//! of its dialect, in one `Bridge`; what hooks say to a question is the same for all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_events::{CompactReason, EventId, Face, OperationKind, Profile, StartReason, Verdict};
use serde_json::{Map, Value};

/// The arguments of a call.
type Arguments = Map<String, Value>;

/// becket's tool that starts a sub-agent.
pub const SPAWN_AGENT: &str = "spawn_agent";

/// The parts of a call, or what cannot be understood of it.
type CallParts = Result<Vec<CallPart>, String>;

/// An agent that can ask becket's hooks.
pub struct Bridge {
    /// The agent's name on the command line.
    pub system: &'static str,
    /// The agent's name for people.
    pub title: &'static str,
    /// The variable in which the agent names its project. A command of the model may change the directory that it works
    /// in, but not the project whose hooks count.
    pub project_variable: &'static str,
    /// Variables that the agent sets for some of its events only. Hooks do not get them, because they may stay loaded
    /// for the next event.
    pub event_variables: &'static [&'static str],
    /// How a hook's variables reach the later commands of a session.
    pub variables: VariablesFor,
    /// The events about which the agent asks.
    pub events: &'static [BridgedEvent],
    /// Reads a question. The error says what cannot be understood.
    pub read: fn(&BridgedEvent, &BridgePayload) -> Result<Asked, String>,
    /// All arguments of a call by the agent's names, where a hook has written others by becket's. The error says that
    /// the agent has no words for them.
    pub written: fn(&BridgedCall, &Arguments) -> Result<Arguments, String>,
    /// Writes an answer; nothing is printed for `None`.
    pub write: fn(&BridgedEvent, &BridgePayload, &Ruling) -> Option<Value>,
    /// How becket is entered in the agent's files.
    pub entry: BridgeEntry,
    /// The agent's program.
    pub program: AgentProgram,
}

/// How an agent takes variables of hooks for what it runs later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariablesFor {
    /// It takes none.
    Nobody,
    /// It runs the file that this variable names before its commands.
    CommandsByFile(&'static str),
    /// It reads them in the answer, for its later hooks.
    HooksByAnswer,
}

/// One event of another agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgedEvent {
    /// The agent's name for the event.
    pub name: &'static str,
    /// What happens then.
    pub kind: MomentKind,
    /// How long the agent waits for an answer; becket gives up before that.
    pub timeout: Duration,
    /// What the agent cannot do with an answer, for listings.
    pub unable: &'static str,
}

impl BridgedEvent {
    /// An event whose answers the agent takes as a whole.
    pub const fn new(name: &'static str, kind: MomentKind, seconds: u64) -> Self {
        Self {
            name,
            kind,
            timeout: Duration::from_secs(seconds),
            unable: "",
        }
    }

    /// The same event of an agent that cannot do something with the answer.
    pub const fn unable(self, what: &'static str) -> Self {
        Self { unable: what, ..self }
    }

    /// Whether something does not happen if nobody can be asked.
    pub fn is_guard(&self) -> bool {
        self.kind.is_guard()
    }
}

/// The kind of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentKind {
    SessionStart,
    SessionEnd,
    Prompt,
    Call,
    Permission,
    Called,
    Stop,
    SubagentStart,
    SubagentStop,
    PreCompact,
    PostCompact,
    Attention,
}

impl MomentKind {
    /// Whether something does not happen if nobody can be asked.
    pub fn is_guard(self) -> bool {
        matches!(
            self,
            Self::Prompt | Self::Call | Self::Permission | Self::PreCompact
        )
    }

    /// becket's events that fire then.
    pub fn events(self) -> &'static [EventId] {
        match self {
            Self::SessionStart | Self::SubagentStart => &[EventId::SessionStart],
            Self::SessionEnd => &[EventId::SessionEnd],
            Self::Prompt => &[EventId::UserPrompt],
            Self::Call => &[
                EventId::ToolStart,
                EventId::PreTool,
                EventId::PreShell,
                EventId::PreFileRead,
                EventId::PreFileWrite,
                EventId::PreFetch,
                EventId::PreSubagent,
                EventId::ApprovalDecided,
            ],
            Self::Permission => &[EventId::PermissionRequest],
            Self::Called => &[EventId::PreToolOutput, EventId::ToolEnd, EventId::PostTool],
            Self::Stop | Self::SubagentStop => &[EventId::Stop],
            Self::PreCompact => &[EventId::PreCompact],
            Self::PostCompact => &[EventId::PostCompact],
            Self::Attention => &[EventId::Attention],
        }
    }
}

/// What another agent asks about.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The agent's session.
    pub session_id: String,
    /// The sub-agent that asks, if one does.
    pub subagent: Option<String>,
    /// The model, if the agent names it.
    pub model: Option<String>,
    /// What is about to happen or has happened.
    pub moment: Moment,
}

/// What happens in another agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Moment {
    SessionStart(StartReason),
    SessionEnd,
    Prompt(String),
    Call(BridgedCall),
    Permission(BridgedCall),
    Called {
        call: BridgedCall,
        output: String,
        is_error: bool,
        duration: Duration,
    },
    Stop {
        response: String,
        /// Whether hooks have made the model go on already.
        goes_on: bool,
    },
    PreCompact(CompactReason),
    PostCompact {
        reason: CompactReason,
        summary: String,
    },
    Attention(String),
}

/// A tool call of another agent.
#[derive(Debug, Clone, PartialEq)]
pub struct BridgedCall {
    /// Identifies the call.
    pub id: String,
    /// The agent's name for the tool.
    pub name: String,
    /// The arguments as the agent wrote them.
    pub arguments: Map<String, Value>,
    /// The call in becket's words. Most calls are one; a patch is one for each file.
    pub parts: Vec<CallPart>,
}

/// A tool call, or a part of one, in becket's words.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPart {
    /// becket's name for the tool.
    pub own_name: String,
    /// Where the tool comes from.
    pub source: String,
    /// The operation, if the tool is one of becket's.
    pub operation: Option<OperationKind>,
    /// The arguments by becket's names.
    pub arguments: Map<String, Value>,
    /// The names of arguments that the operation does not have.
    pub extra: Vec<String>,
}

/// What hooks and rules say to another agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ruling {
    pub verdict: Option<Verdict>,
    /// All arguments of the call by the agent's names, if a hook has written others.
    pub arguments: Option<Map<String, Value>>,
    /// Text for the model.
    pub context: Vec<String>,
    /// The text in place of a tool's result.
    pub output: Option<String>,
    /// What the model is to do in place of stopping.
    pub go_on: Option<String>,
    /// Why the agent must end its run.
    pub halt: Option<String>,
    /// Text for the user.
    pub notices: Vec<String>,
    /// Variables for what the agent runs later.
    pub variables: BTreeMap<String, String>,
}

impl Ruling {
    /// A ruling that refuses.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            verdict: Some(Verdict::Deny(reason.into())),
            ..Self::default()
        }
    }

    /// Why it is refused, for an agent that cannot ask its user: then what a hook wants to ask is refused too.
    pub fn refusal_without_asking(&self, title: &str) -> Option<String> {
        match self.verdict.as_ref()? {
            Verdict::Deny(reason) => Some(reason.clone()),
            Verdict::Ask(reason) | Verdict::Insist(reason) => Some(format!(
                "{reason} (a hook wants to ask the user, and {title} cannot here)"
            )),
            Verdict::Allow => None,
        }
    }

    /// All texts for the model as one.
    pub fn context_text(&self) -> Option<String> {
        (!self.context.is_empty()).then(|| self.context.join("\n\n"))
    }

    /// All texts for the user as one.
    pub fn notice_text(&self) -> Option<String> {
        (!self.notices.is_empty()).then(|| self.notices.join("\n"))
    }
}

/// How becket is entered in the files of another agent.
pub struct BridgeEntry {
    /// The file in the user's home, or in the folder that the variable names.
    pub user_file: &'static str,
    /// The variable that moves the first folder of `user_file`.
    pub home_variable: &'static str,
    /// The file in a project.
    pub project_file: &'static str,
    /// Whether the file must say `"version": 1`.
    pub has_version: bool,
    /// One entry, for this event with this command.
    pub entry: fn(&BridgedEvent, &str) -> Value,
    /// What the shell does when becket cannot be started or dies, so that the agent refuses.
    pub otherwise: &'static str,
    /// Why the agent would not run the entries of a file.
    pub hindrances: fn(&EntryFile<'_>) -> Vec<String>,
    /// What the user has to do besides, if anything.
    pub hint: &'static str,
}

/// A file in which becket is entered, and where else the agent looks before it runs the entries.
pub struct EntryFile<'a> {
    /// The file.
    pub path: &'a Path,
    /// The file's content.
    pub content: &'a Value,
    /// The user's own file of the agent, whether or not it is this one.
    pub user_file: &'a Path,
    /// The root of the project.
    pub project_root: &'a Path,
}

/// The program of another agent.
pub struct AgentProgram {
    /// The program's name, which `--version` follows.
    pub name: &'static str,
    /// The version with which becket was tried; empty if it was not.
    pub tried: &'static str,
    /// The oldest version with which the entries do what they say, and what does not work before it.
    pub oldest: Option<(&'static str, &'static str)>,
}

/// What another agent has written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BridgePayload(pub Map<String, Value>);

impl BridgePayload {
    /// A text that stands under one of these names.
    pub fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(*name)?.as_str())
    }

    /// A text that must be there.
    pub fn needed(&self, name: &str) -> Result<&str, String> {
        self.text(&[name])
            .ok_or_else(|| format!("`{name}` is missing or no text"))
    }

    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// An object, which may be written as text.
    pub fn object(&self, name: &str) -> Result<Map<String, Value>, String> {
        let wrong = || format!("`{name}` is missing or no object");
        match self.0.get(name).ok_or_else(wrong)? {
            Value::Object(object) => Ok(object.clone()),
            Value::String(text) => serde_json::from_str(text).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }

    /// A text, or any other value as JSON.
    pub fn shown(&self, name: &str) -> String {
        match self.0.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// A number of milliseconds.
    pub fn milliseconds(&self, name: &str) -> Duration {
        let number = self.0.get(name).and_then(Value::as_f64).unwrap_or_default();
        Duration::from_secs_f64(number.clamp(0.0, 1e9) / 1000.0)
    }

    /// The directory in which the agent works, if it says so. Where the agent names the folders of its window, its
    /// `cwd` is an argument of the call, which the model writes.
    pub fn directory(&self) -> Option<PathBuf> {
        let first_root = self
            .0
            .get("workspace_roots")
            .and_then(|roots| roots.get(0)?.as_str());
        let directory = || self.text(&["cwd"]).filter(|cwd| !cwd.is_empty());
        Some(PathBuf::from(first_root.or_else(directory)?))
    }
}

/// Another agent's names for tools that are none of becket's operations.
pub struct ToolNames {
    /// Former names of tools, each with the name of today.
    pub former: &'static [(&'static str, &'static str)],
    /// becket's names with the agent's, for tools that both have.
    pub others: &'static [(&'static str, &'static str)],
    /// becket's names with the agent's, for the arguments of a sub-agent's call.
    pub subagent: &'static [(&'static str, &'static str)],
    /// The server and the tool in the name of a server's tool.
    pub server: fn(&str) -> Option<(String, String)>,
    /// Tools that mean operations in another way than one face.
    pub special: fn(&str, &Arguments) -> Option<CallParts>,
}

impl ToolNames {
    /// A call in becket's words. The error says what cannot be understood of a tool that is known.
    pub fn call(
        &self,
        profile: &Profile,
        (id, name): (&str, &str),
        arguments: Map<String, Value>,
    ) -> Result<BridgedCall, String> {
        let known = self.former.iter().find(|(former, _)| *former == name);
        let today = known.map_or(name, |(_, today)| *today);
        let parts = match (self.special)(today, &arguments) {
            Some(parts) => parts?,
            None => vec![self.part(profile, today, &arguments)?],
        };
        Ok(BridgedCall {
            id: id.into(),
            name: today.into(),
            arguments,
            parts,
        })
    }

    fn part(
        &self,
        profile: &Profile,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallPart, String> {
        if let Some(face) = profile.face_named(name) {
            return of_face(face, arguments);
        }
        let (own_name, source) = match (
            (self.server)(name),
            self.others.iter().find(|(_, other)| *other == name),
        ) {
            (Some((server, tool)), _) => (format!("{server}_{tool}"), format!("mcp:{server}")),
            (None, Some((own, _))) => ((*own).to_owned(), "builtin".to_owned()),
            (None, None) => (name.to_owned(), profile.name.to_owned()),
        };
        let renamed =
            |(name, value): (String, Value)| match self.subagent.iter().find(|(_, other)| *other == name) {
                Some((own, _)) if own_name == SPAWN_AGENT => ((*own).to_owned(), value),
                _ => (name, value),
            };
        Ok(CallPart {
            arguments: arguments.clone().into_iter().map(renamed).collect(),
            own_name,
            source,
            operation: None,
            extra: Vec::new(),
        })
    }

    /// All arguments of a call by the agent's names, where a hook has written others by becket's. The error says that
    /// the agent has no words for them.
    pub fn written(
        &self,
        profile: &Profile,
        call: &BridgedCall,
        own: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let unable = || {
            let name = &call.name;
            Err(format!(
                "a hook has changed the call of {name} to one that cannot be made here"
            ))
        };
        let [part] = call.parts.as_slice() else {
            return unable();
        };
        let Some(face) = profile.face_named(&call.name) else {
            if part.operation.is_some() {
                return unable();
            }
            let renamed = |(name, value): (&String, &Value)| {
                let known = self.subagent.iter().find(|(own, _)| own == name);
                let foreign = known.filter(|_| part.own_name == SPAWN_AGENT);
                (
                    foreign.map_or(name.as_str(), |(_, other)| other).to_owned(),
                    value.clone(),
                )
            };
            return Ok(own.iter().map(renamed).collect());
        };
        let (extra, own): (Map<_, _>, Map<_, _>) = own
            .clone()
            .into_iter()
            .partition(|(name, _)| part.extra.contains(name));
        if !face.expresses(&own) {
            return unable();
        }
        let mut written = (face.to_foreign)(&own);
        written.extend(extra);
        for (name, value) in without_meaning(face, &call.arguments) {
            written.entry(name).or_insert(value);
        }
        Ok(written)
    }
}

/// Arguments that mean nothing to becket, but that the agent may need, such as what a page is fetched for.
fn without_meaning(face: &Face, arguments: &Map<String, Value>) -> Map<String, Value> {
    let means = |arguments: &Map<String, Value>| of_face(face, arguments).map(|part| part.arguments).ok();
    let all = means(arguments);
    let kept = arguments.iter().filter(|(name, _)| {
        let mut others = arguments.clone();
        others.remove(*name);
        means(&others) == all
    });
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// A call of one of becket's operations, as the agent writes it.
///
/// Arguments that only becket knows by that name mean nothing to the agent. They must not stand in for those that it
/// uses, or another file would be judged than the one that is written.
fn of_face(face: &Face, arguments: &Map<String, Value>) -> Result<CallPart, String> {
    let is_agents = |name: &str| face.parameters["properties"].get(name).is_some();
    let is_own = |name: &str| face.operation.argument_names().contains(&name);
    let only = |wanted: &dyn Fn(&str) -> bool| -> Map<String, Value> {
        let members = arguments.iter().filter(|(name, _)| wanted(name));
        members
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let read = face
        .read(only(&is_agents))
        // Some versions of an agent use the name that becket uses.
        .or_else(|error| {
            face.read(only(&|name| is_agents(name) || is_own(name)))
                .map_err(|_| error)
        })
        .map_err(|error| format!("the arguments of {} cannot be read: {error}", face.name))?;
    let extra = only(&|name| !is_agents(name) && !is_own(name));
    Ok(CallPart {
        extra: extra.keys().cloned().collect(),
        ..CallPart::operation(
            face.operation,
            read.arguments().into_iter().chain(extra).collect(),
        )
    })
}

impl CallPart {
    /// A command.
    pub fn shell(command: &str) -> Self {
        Self::operation(OperationKind::Shell, members([("command", command)]))
    }

    /// The reading of a file.
    pub fn read(path: &str) -> Self {
        Self::operation(OperationKind::Read, members([("path", path)]))
    }

    /// The writing of a file; also its removal, which guards of writing judge as well.
    pub fn write(path: &str, content: &str) -> Self {
        Self::operation(
            OperationKind::Write,
            members([("path", path), ("content", content)]),
        )
    }

    /// The replacement of a piece of a file.
    pub fn edit(path: &str, old: &str, new: &str) -> Self {
        let mut arguments = members([("path", path)]);
        arguments.insert(
            "edits".into(),
            serde_json::json!([{"old_text": old, "new_text": new}]),
        );
        Self::operation(OperationKind::Edit, arguments)
    }

    /// A call of one of becket's operations.
    pub fn operation(operation: OperationKind, arguments: Map<String, Value>) -> Self {
        Self {
            own_name: operation.name().into(),
            source: "builtin".into(),
            operation: Some(operation),
            arguments,
            extra: Vec::new(),
        }
    }
}

fn members<const N: usize>(members: [(&str, &str); N]) -> Map<String, Value> {
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

/// A text among the arguments of a call. The error says that it is missing.
pub fn text_argument<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    let text = arguments.get(name).and_then(Value::as_str);
    text.ok_or_else(|| format!("`{name}` is missing or no text"))
}
