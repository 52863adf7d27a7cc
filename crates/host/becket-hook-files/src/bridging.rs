//! Questions of agents that keep hooks in JSON files, read as what they mean.
//!
//! The agents spell the members of their payloads in two ways, with underscores and with capitals. What a member means
//! is the same everywhere, so there is one reader for all of them; each dialect says what its tools are called and how
//! a result looks.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use becket_dialect_kit::patch::{Change, Chunk, patched_files};
use becket_events::{CompactReason, OperationKind, Profile, StartReason};
use becket_host::{Asked, BridgePayload, BridgedCall, BridgedEvent, CallPart, Moment, MomentKind, ToolNames};
use serde_json::{Map, Value, json};

/// How one agent names tools and shows results.
pub struct HostWords {
    /// The agent's tools.
    pub profile: fn() -> Profile,
    /// The agent's other tools.
    pub tools: ToolNames,
    /// The members in which the arguments of a call may stand.
    pub arguments: &'static [&'static str],
    /// The text of a tool's result, and whether it is an error.
    pub output: fn(&BridgePayload) -> (String, bool),
}

impl HostWords {
    /// Reads a question. The error says what cannot be understood.
    pub fn read(&self, event: &BridgedEvent, payload: &BridgePayload) -> Result<Asked, String> {
        let session_id = payload
            .text(&["session_id", "sessionId", "conversation_id"])
            .filter(|id| !id.is_empty())
            .ok_or("`session_id` is missing or no text")?;
        let is_subagent = matches!(event.kind, MomentKind::SubagentStart | MomentKind::SubagentStop)
            || payload.text(&["agent_id"]).is_some();
        let subagent = payload
            .text(&["agent_type", "subagent_type", "agentName", "agent_id"])
            .filter(|_| is_subagent);
        Ok(Asked {
            session_id: session_id.into(),
            subagent: subagent.map(ToOwned::to_owned),
            model: payload.text(&["model"]).map(ToOwned::to_owned),
            moment: self.moment(event, session_id, payload)?,
        })
    }

    fn moment(
        &self,
        event: &BridgedEvent,
        session_id: &str,
        payload: &BridgePayload,
    ) -> Result<Moment, String> {
        let reason = || match payload.text(&["trigger"]) {
            Some("manual") => CompactReason::Manual,
            _ => CompactReason::Threshold,
        };
        Ok(match event.kind {
            MomentKind::SessionStart => Moment::SessionStart(start_reason(payload)),
            MomentKind::SubagentStart => Moment::SessionStart(StartReason::Subagent),
            MomentKind::SessionEnd => Moment::SessionEnd,
            MomentKind::Prompt => Moment::Prompt(payload.needed("prompt")?.into()),
            MomentKind::Call => Moment::Call(self.call(session_id, payload)?),
            MomentKind::Permission => Moment::Permission(self.call(session_id, payload)?),
            MomentKind::Called => {
                let (output, is_error) = (self.output)(payload);
                Moment::Called {
                    call: self.call(session_id, payload)?,
                    output,
                    is_error,
                    duration: payload.milliseconds("duration_ms"),
                }
            }
            MomentKind::Stop | MomentKind::SubagentStop => Moment::Stop {
                response: payload
                    .text(&["last_assistant_message", "prompt_response", "response", "summary"])
                    .unwrap_or_default()
                    .into(),
                goes_on: payload.flag("stop_hook_active")
                    || payload
                        .0
                        .get("loop_count")
                        .and_then(Value::as_u64)
                        .unwrap_or_default()
                        > 0,
            },
            MomentKind::PreCompact => Moment::PreCompact(reason()),
            MomentKind::PostCompact => Moment::PostCompact {
                reason: reason(),
                summary: payload.text(&["compact_summary"]).unwrap_or_default().into(),
            },
            MomentKind::Attention => Moment::Attention(payload.text(&["message"]).unwrap_or_default().into()),
        })
    }

    fn call(&self, session_id: &str, payload: &BridgePayload) -> Result<BridgedCall, String> {
        let name = payload.text(&["tool_name", "toolName"]);
        let name = name.ok_or("`tool_name` is missing or no text")?;
        let found = self.arguments.iter().find(|name| payload.0.contains_key(**name));
        let arguments = payload.object(found.or(self.arguments.first()).unwrap_or(&""))?;
        let id = match payload.text(&["tool_use_id", "toolUseId"]) {
            Some(id) => id.to_owned(),
            None => made_up_id(session_id, name, &arguments),
        };
        self.tools.call(&(self.profile)(), (&id, name), arguments)
    }

    /// All arguments of a call by the agent's names, where a hook has written others.
    pub fn written(
        &self,
        call: &BridgedCall,
        own: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        self.tools.written(&(self.profile)(), call, own)
    }
}

/// The same call has the same id before and after it, in an agent that gives calls none.
fn made_up_id(session_id: &str, name: &str, arguments: &Map<String, Value>) -> String {
    let mut hasher = DefaultHasher::new();
    (session_id, name, Value::Object(arguments.clone()).to_string()).hash(&mut hasher);
    format!("call-{:016x}", hasher.finish())
}

fn start_reason(payload: &BridgePayload) -> StartReason {
    match payload.text(&["source"]) {
        Some("resume") => StartReason::Resume,
        Some("clear") => StartReason::Clear,
        Some("fork") => StartReason::Fork,
        Some("new") => StartReason::New,
        _ => StartReason::Startup,
    }
}

/// A patch as one call for each file that it touches.
pub fn patch_parts(text: &str) -> Result<Vec<CallPart>, String> {
    let files = patched_files(text).map_err(|error| format!("the patch cannot be read: {error}"))?;
    let part = |path: String, change: Option<Change>| {
        let write = |content: String| {
            let arguments = json!({"path": path, "content": content});
            (OperationKind::Write, arguments)
        };
        let (operation, arguments) = match change {
            // Guards of writing judge what goes as well.
            None => write(String::new()),
            Some(Change::Write(content)) => write(content),
            Some(Change::Edit(chunks)) => match edits(&chunks) {
                Some(edits) => (OperationKind::Edit, json!({"path": path, "edits": edits})),
                None => write(
                    chunks
                        .iter()
                        .flat_map(|chunk| &chunk.new)
                        .fold(String::new(), |text, line| text + line + "\n"),
                ),
            },
        };
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        CallPart::operation(operation, arguments)
    };
    Ok(files
        .into_iter()
        .map(|file| part(file.path, file.change))
        .collect())
}

/// The pieces that are replaced; `None` if one does not say what it replaces, or nothing is replaced.
fn edits(chunks: &[Chunk]) -> Option<Vec<Value>> {
    let edits = chunks.iter().map(|chunk| {
        let (old, new) = chunk.texts()?;
        Some(json!({"old_text": old, "new_text": new}))
    });
    edits
        .collect::<Option<Vec<Value>>>()
        .filter(|edits| !edits.is_empty())
}

/// The server and the tool in a name that has this beginning and this separator.
pub fn server_of(name: &str, beginning: &str, separator: &str) -> Option<(String, String)> {
    let (server, tool) = name.strip_prefix(beginning)?.split_once(separator)?;
    Some((server.to_owned(), tool.to_owned()))
}

/// The client of becket's daemon, which stands beside becket.
pub const CLIENT: &str = "becket-hook";

/// The command of an entry by which another agent asks becket. If becket cannot be started or dies, the shell does
/// `otherwise`.
pub fn bridge_command(program: &str, arguments: &str, otherwise: &str) -> String {
    let program = program.replace('\'', r"'\''");
    let otherwise = if otherwise.is_empty() {
        String::new()
    } else {
        format!(" || {otherwise}")
    };
    format!("'{program}' {arguments}{otherwise}")
}

/// A command that asks becket, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeCommand<'a> {
    pub program: String,
    /// The agent, the event, and options.
    pub words: Vec<&'a str>,
}

impl<'a> BridgeCommand<'a> {
    /// Takes a command apart; `None` unless it asks becket and does nothing else.
    pub fn read(command: &'a str) -> Option<Self> {
        let (program, rest) = command.strip_prefix('\'')?.split_once("' ")?;
        let (arguments, otherwise) = rest.split_once(" || ").unwrap_or((rest, ""));
        let is_word = |word: &&str| {
            let mut bytes = word.bytes();
            bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        let mut words: Vec<&str> = arguments.split(' ').collect();
        match program.rsplit('/').next() {
            Some(CLIENT) => {}
            // A version may have its number in its name.
            Some(name) if name.starts_with("becket") && words.first() == Some(&"bridge") => {
                words.remove(0);
            }
            _ => return None,
        }
        let is_plain = words.iter().all(is_word) && (otherwise.is_empty() || OTHERWISE.contains(&otherwise));
        is_plain.then(|| Self {
            program: program.replace(r"'\''", "'"),
            words,
        })
    }

    /// Whether the command asks about that event of that agent.
    pub fn asks(&self, system: &str, event: &str) -> bool {
        self.words.starts_with(&[system, event])
    }

    /// Whether refusals are only kept for a report.
    pub fn is_shadow(&self) -> bool {
        self.words.contains(&"--shadow")
    }
}

/// Whether a command does nothing but ask becket: then becket itself does not run it, because it asks all hooks anyway.
pub fn is_bridge_command(command: &str) -> bool {
    BridgeCommand::read(command).is_some()
}

/// The shell refuses by its exit code.
pub const OTHERWISE_EXIT: &str = "{ echo 'becket cannot be run, so this is refused' >&2; exit 2; }";

/// The shell refuses in JSON, for an agent to which silence means yes.
pub const OTHERWISE_JSON: &str =
    r#"{ echo '{"decision":"deny","reason":"becket cannot be run, so this is refused"}'; exit 2; }"#;

const OTHERWISE: &[&str] = &[OTHERWISE_EXIT, OTHERWISE_JSON, "true"];

/// The JSON files in which a member is `true`.
pub fn where_true<'a>(
    files: impl IntoIterator<Item = &'a PathBuf>,
    member: &'static str,
) -> impl Iterator<Item = &'a PathBuf> {
    files.into_iter().filter(move |file| {
        let text = becket_fs::read_to_string(file).unwrap_or_default();
        let parsed: Value = serde_json::from_str(&text).unwrap_or_default();
        parsed.get(member) == Some(&Value::Bool(true))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_asks_becket_and_nothing_else_is_a_bridge() {
        for otherwise in ["", OTHERWISE_EXIT, OTHERWISE_JSON, "true"] {
            for (program, arguments) in [
                ("/opt/x y/becket", "bridge claude-code PreToolUse --shadow"),
                ("/opt/becket-0.2", "bridge claude-code PreToolUse --shadow"),
                (
                    "/opt/o'x/becket-hook",
                    "claude-code PreToolUse --shadow --project-variable A_B",
                ),
            ] {
                let command = bridge_command(program, arguments, otherwise);
                let read = BridgeCommand::read(&command).unwrap();
                assert_eq!(read.program, program);
                assert!(
                    read.asks("claude-code", "PreToolUse") && read.is_shadow(),
                    "{command}"
                );
            }
        }
        for command in [
            "becket bridge claude-code PreToolUse",
            "'/bin/becket' bridge claude-code PreToolUse; ./guard.sh",
            "'/bin/becket' bridge claude-code $(./guard.sh)",
            "'/bin/becket' bridge claude-code PreToolUse || ./guard.sh",
            "'/bin/guard' bridge claude-code PreToolUse",
            "'/bin/becket' hooks list",
            "'/bin/becket' claude-code PreToolUse",
            "'/bin/becket-hook' claude-code PreToolUse; ./guard.sh",
            "'/bin/becket-hooks' claude-code PreToolUse",
            "./guard.sh && '/bin/becket' bridge claude-code PreToolUse",
        ] {
            assert!(!is_bridge_command(command), "{command}");
        }
    }

    #[test]
    fn a_patch_is_one_call_for_each_file() {
        let text = "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** Update File: b\n@@\n+new\n*** Delete File: c\n\
                    *** End Patch";
        let parts = patch_parts(text).unwrap();
        let shown: Vec<String> = parts
            .iter()
            .map(|part| format!("{} {}", part.own_name, Value::Object(part.arguments.clone())))
            .collect();
        assert_eq!(
            shown,
            [
                r#"edit {"path":"a","edits":[{"old_text":"1","new_text":"2"}]}"#,
                r#"write {"path":"b","content":"new\n"}"#,
                r#"write {"path":"c","content":""}"#,
            ]
        );
        assert!(patch_parts("echo").is_err());
    }
}
