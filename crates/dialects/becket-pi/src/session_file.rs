//! pi's session files: JSON lines, of which the first describes the session, and each other one an entry of its tree.
//!
//! Files of versions 1 and 2 are read as pi migrates them: entries of version 1 follow one another and get ids, and
//! messages of hooks have another role since version 3. Lines that cannot be read are reported and left out, as in pi.
//! Data without a form in becket are kept as they were in the file (`FileEntry::source`), and written back unchanged:
//! so a file that was read and written has the same content.
//!
//! The source is kept only if becket's form has less information, and always for answers, because of the provider's
//! data. So nothing has to be modelled twice.

use std::collections::{HashMap, HashSet};

use becket_events::{Message, MessageBody, MessageRecord, StopReason, ToolCall};
use chrono::DateTime;
use serde_json::{Value, json};

use super::entries::{Entry, EntryKind, iso};
use super::messages::{self, CommandRun, read_usage};
use super::words::{ModelName, own_arguments, own_tool};

/// The version of the files that are written.
const VERSION: u64 = 3;

/// The kind of a last entry that marks the session's current entry, its parent. pi continues from the last entry of a
/// file, so it continues in the right place as well.
const LEAF: &str = "becket:leaf";

/// The prefix of the kinds of entries that have no form in becket.
const UNKNOWN: &str = "pi:";

/// A file that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionFile {
    /// The first line.
    pub header: Value,
    /// The entries, parents before their children.
    pub entries: Vec<FileEntry>,
    /// The id of the session's current entry.
    pub leaf_id: Option<String>,
    /// Errors with their lines: what was left out or changed.
    pub problems: Vec<String>,
}

/// An entry of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileEntry {
    /// The entry's id.
    pub id: String,
    /// The id of the entry before it.
    pub parent_id: Option<String>,
    /// When the entry was created, in milliseconds since 1970.
    pub time_ms: u64,
    /// The entry's content.
    pub content: FileContent,
    /// The line, if it has more information than the content.
    pub source: Option<Value>,
}

/// The content of an entry of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum FileContent {
    /// A message, or a text of an extension for the model.
    Message(Message),
    /// A command that the user ran.
    Command(CommandRun),
    /// Data of an extension, or an entry without a form in becket.
    Custom {
        /// The kind of the data.
        kind: String,
        /// The data.
        data: Value,
    },
    /// A summary that replaces the messages before it.
    Compaction {
        /// The summary.
        summary: String,
        /// The first entry that is kept.
        first_kept_id: Option<String>,
        /// How many tokens the conversation had before.
        tokens_before: u64,
        /// Data of the author of the summary.
        details: Option<Value>,
        /// Whether an extension wrote the summary.
        by_hook: bool,
    },
    /// A summary of a branch that was left.
    BranchSummary {
        /// The entry at which the branch ended.
        from_id: Option<String>,
        /// The summary.
        summary: String,
        /// Data of the author of the summary.
        details: Option<Value>,
        /// Whether an extension wrote the summary.
        by_hook: bool,
    },
    /// A label that was added to an entry, or removed.
    Label {
        /// The id of the labelled entry.
        target_id: String,
        /// The new label; `None` removes it.
        label: Option<String>,
    },
    /// A new name of the session; an empty one removes it.
    Name(String),
    /// A change of the model, as `provider/name`.
    Model(String),
    /// A change of the thinking level.
    Thinking(String),
}

/// The first line of a file.
#[derive(Debug, Clone, Copy)]
pub struct Header<'a> {
    /// The session's id.
    pub id: &'a str,
    /// When the session began, in milliseconds since 1970.
    pub time_ms: u64,
    /// The directory in which the session began.
    pub cwd: &'a str,
    /// The file of the session from which this one was forked.
    pub parent: Option<&'a str>,
}

impl Header<'_> {
    /// The line as a value.
    pub fn shown(&self) -> Value {
        let mut header = json!({
            "type": "session",
            "version": VERSION,
            "id": self.id,
            "timestamp": iso(self.time_ms),
            "cwd": self.cwd,
        });
        messages::add(&mut header, "parentSession", self.parent.map(Value::from));
        header
    }
}

/// An entry as in the file from which it was read, at its place in the tree.
pub fn as_it_was(source: &Value, id: &str, parent_id: Option<&str>) -> Value {
    let mut line = source.clone();
    line["id"] = id.into();
    line["parentId"] = parent_id.into();
    line
}

/// Writes a file with entries in pi's form, for a session whose current entry is one of them, or none.
pub fn write(header: &Value, entries: &[Value], leaf_id: Option<&str>) -> String {
    let mut header = header.clone();
    header["version"] = VERSION.into();
    let last = entries.last().and_then(|entry| entry["id"].as_str());
    let marker = (last != leaf_id).then(|| marker(entries, leaf_id));
    let lines = std::iter::once(&header).chain(entries).chain(&marker);
    lines.map(|line| format!("{line}\n")).collect()
}

fn marker(entries: &[Value], leaf_id: Option<&str>) -> Value {
    let taken: HashSet<&str> = entries.iter().filter_map(|entry| entry["id"].as_str()).collect();
    let mut ids = (entries.len()..).map(|number| format!("{number:08x}"));
    let time = entries
        .last()
        .map_or(Value::Null, |entry| entry["timestamp"].clone());
    json!({
        "type": "custom",
        "id": ids.find(|id| !taken.contains(id.as_str())),
        "parentId": leaf_id,
        "timestamp": time,
        "customType": LEAF,
    })
}

/// Reads a file of any version. The error says why it is no session file.
pub fn read(text: &str) -> Result<SessionFile, String> {
    let mut problems = Vec::new();
    let mut lines: Vec<(usize, Value)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        match serde_json::from_str::<Value>(line) {
            _ if line.trim().is_empty() => {}
            Ok(value) if value.is_object() => lines.push((number, value)),
            Ok(_) => problems.push(format!("line {number} is no entry and was left out")),
            Err(error) => problems.push(format!("line {number} is not JSON and was left out: {error}")),
        }
    }
    let is_header = |line: &Value| line["type"] == "session" && line["id"].is_string();
    let Some((_, header)) = lines.first().cloned().filter(|(_, line)| is_header(line)) else {
        return Err("it is no session file: its first line does not tell of a session".into());
    };
    let version = header["version"].as_u64().unwrap_or(1);
    if version < 2 {
        give_ids(&mut lines);
    }
    if version < 3 {
        rename_roles(&mut lines);
    }
    let mut entries = Vec::new();
    for (number, line) in lines
        .into_iter()
        .skip(1)
        .filter(|(_, line)| line["type"] != "session")
    {
        match entry(line) {
            Ok(entry) => entries.push((number, entry)),
            Err(why) => problems.push(format!("line {number} was left out: {why}")),
        }
    }
    let entries = in_order(without_doubles(entries, &mut problems), &mut problems);
    let (entries, leaf_id) = standing(entries);
    Ok(SessionFile {
        header,
        entries: entries.into_iter().map(|(_, entry)| entry).collect(),
        leaf_id,
        problems,
    })
}

/// Adds ids to entries of version 1, which follow one another and refer to each other by index.
fn give_ids(lines: &mut [(usize, Value)]) {
    let ids: Vec<String> = (0..lines.len()).map(|place| format!("{place:08x}")).collect();
    let mut parent = Value::Null;
    for (place, (_, line)) in lines.iter_mut().enumerate().skip(1) {
        let kept = line["firstKeptEntryIndex"]
            .as_u64()
            .and_then(|kept| usize::try_from(kept).ok());
        let fields = line.as_object_mut();
        let Some(fields) = fields.filter(|fields| fields.get("type") != Some(&json!("session"))) else {
            continue;
        };
        fields.insert("id".into(), ids[place].as_str().into());
        fields.insert("parentId".into(), parent);
        parent = ids[place].as_str().into();
        if fields.remove("firstKeptEntryIndex").is_some()
            && let Some(kept) = kept.filter(|kept| *kept > 0).and_then(|kept| ids.get(kept))
        {
            fields.insert("firstKeptEntryId".into(), kept.as_str().into());
        }
    }
}

/// Renames the role of hooks' messages, which had another name before version 3.
fn rename_roles(lines: &mut [(usize, Value)]) {
    for (_, line) in lines {
        if line["type"] == "message" && line["message"]["role"] == "hookMessage" {
            line["message"]["role"] = "custom".into();
        }
    }
}

fn entry(line: Value) -> Result<FileEntry, String> {
    let text = |name: &str| line[name].as_str().map(ToOwned::to_owned);
    let kind = text("type").ok_or("it has no `type`")?;
    let id = text("id").filter(|id| !id.is_empty()).ok_or("it has no `id`")?;
    let time_ms = line["timestamp"].as_str().and_then(moment).unwrap_or(0);
    let known = content(&kind, &line, &id, time_ms);
    let unknown = || FileContent::Custom {
        kind: format!("{UNKNOWN}{kind}"),
        data: Value::Null,
    };
    let content = known.unwrap_or_else(unknown);
    let parent_id = text("parentId").filter(|parent| *parent != id);
    let mut entry = FileEntry {
        id,
        parent_id,
        time_ms,
        content,
        source: None,
    };
    // An answer names its provider, and the cost of its tokens.
    let is_answer = line["message"]["role"] == "assistant";
    if is_answer || entry.shown() != line {
        entry.source = Some(line);
    }
    Ok(entry)
}

impl FileEntry {
    fn shown(&self) -> Value {
        let kind = match &self.content {
            FileContent::Message(message) => EntryKind::Message(message),
            FileContent::Command(run) => EntryKind::Command(run),
            FileContent::Custom { kind, data } => EntryKind::Custom { kind, data },
            FileContent::Compaction {
                summary,
                first_kept_id,
                tokens_before,
                details,
                by_hook,
            } => EntryKind::Compaction {
                summary,
                first_kept_id: first_kept_id.as_deref(),
                tokens_before: *tokens_before,
                details: details.as_ref(),
                by_hook: *by_hook,
            },
            FileContent::BranchSummary {
                from_id,
                summary,
                details,
                by_hook,
            } => EntryKind::BranchSummary {
                from_id: from_id.as_deref().unwrap_or("root"),
                summary,
                details: details.as_ref(),
                by_hook: *by_hook,
            },
            FileContent::Label { target_id, label } => EntryKind::Label {
                target_id,
                label: label.as_deref(),
            },
            FileContent::Name(name) => EntryKind::SessionInfo { name: Some(name) },
            FileContent::Model(model) => EntryKind::ModelChange(ModelName::of(model)),
            FileContent::Thinking(level) => EntryKind::ThinkingLevelChange(level),
        };
        let entry = Entry {
            id: &self.id,
            parent_id: self.parent_id.as_deref(),
            time_ms: self.time_ms,
            kind,
        };
        entry.shown(ModelName::of(""))
    }
}

/// The content of a line, if it has a form in becket.
fn content(kind: &str, line: &Value, id: &str, time_ms: u64) -> Option<FileContent> {
    let text = |name: &str| line[name].as_str().map(ToOwned::to_owned);
    let details = || Some(line["details"].clone()).filter(|details| !details.is_null());
    let by_hook = line["fromHook"] == true;
    match kind {
        "message" if line["message"]["role"] == "bashExecution" => {
            command(&line["message"]).map(FileContent::Command)
        }
        "message" => message(&line["message"], id, time_ms).map(FileContent::Message),
        "custom_message" => {
            let mut said = line.clone();
            said["role"] = "custom".into();
            said["timestamp"] = time_ms.into();
            message(&said, id, time_ms).map(FileContent::Message)
        }
        "custom" => Some(FileContent::Custom {
            kind: text("customType")?,
            data: line["data"].clone(),
        }),
        "compaction" => Some(FileContent::Compaction {
            summary: text("summary")?,
            first_kept_id: text("firstKeptEntryId").filter(|kept| !kept.is_empty() && kept != id),
            tokens_before: line["tokensBefore"].as_u64().unwrap_or(0),
            details: details(),
            by_hook,
        }),
        "branch_summary" => Some(FileContent::BranchSummary {
            from_id: text("fromId").filter(|id| id != "root"),
            summary: text("summary")?,
            details: details(),
            by_hook,
        }),
        "label" => Some(FileContent::Label {
            target_id: text("targetId")?,
            label: text("label"),
        }),
        "session_info" => Some(FileContent::Name(text("name").unwrap_or_default())),
        "model_change" => Some(FileContent::Model(format!(
            "{}/{}",
            text("provider")?,
            text("modelId")?
        ))),
        "thinking_level_change" => Some(FileContent::Thinking(text("thinkingLevel")?)),
        _ => None,
    }
}

/// A message of the conversation with the model, with becket's names of tools. `None` for one that the model does not
/// see.
fn message(value: &Value, id: &str, time_ms: u64) -> Option<Message> {
    let is_seen = ["user", "assistant", "toolResult", "custom"].contains(&value["role"].as_str()?);
    if !is_seen {
        return None;
    }
    let read = messages::written(&[], std::slice::from_ref(value), ModelName::of(""), "message").ok()?;
    let mut body = read.first()?.body().clone();
    match &mut body {
        MessageBody::Assistant {
            content,
            tool_calls,
            usage,
            stop_reason,
            ..
        } => {
            let failed = matches!(stop_reason, StopReason::Error | StopReason::Cancelled);
            // A model cannot continue from an answer that never came.
            if failed && content.is_empty() && tool_calls.is_empty() {
                return None;
            }
            *usage = read_usage(&value["usage"]);
            tool_calls.iter_mut().for_each(in_own_words);
        }
        MessageBody::Tool { tool_name, .. } => {
            if let Some(own) = own_tool(tool_name) {
                *tool_name = own.into();
            }
        }
        _ => {}
    }
    Some(Message::new(MessageRecord {
        id: id.into(),
        time_ms: value["timestamp"].as_u64().unwrap_or(time_ms),
        body,
    }))
}

fn in_own_words(call: &mut ToolCall) {
    let arguments = serde_json::from_str::<Value>(&call.arguments);
    if let (Some(own), Ok(Value::Object(arguments))) = (own_tool(&call.name), arguments) {
        let arguments = own_arguments(own, &call.name, arguments);
        call.arguments = Value::Object(arguments).to_string();
        call.name = own.into();
    }
}

fn command(value: &Value) -> Option<CommandRun> {
    let is = |name: &str| value[name] == true;
    let code = value["exitCode"].as_i64();
    Some(CommandRun {
        command: value["command"].as_str()?.into(),
        result: becket_events::ShellResult {
            output: value["output"].as_str()?.into(),
            exit_code: code.and_then(|code| i32::try_from(code).ok()),
            cancelled: is("cancelled"),
            truncated: is("truncated"),
            full_output_path: value["fullOutputPath"].as_str().map(ToOwned::to_owned),
        },
        hidden: is("excludeFromContext"),
    })
}

/// Removes entries with an id that is taken: the first one stays.
fn without_doubles(entries: Vec<(usize, FileEntry)>, problems: &mut Vec<String>) -> Vec<(usize, FileEntry)> {
    let mut lines: HashMap<String, usize> = HashMap::new();
    let mut kept = Vec::with_capacity(entries.len());
    for (number, entry) in entries {
        match lines.get(&entry.id) {
            Some(first) => problems.push(format!(
                "line {number} was left out: line {first} has the id {:?} already",
                entry.id
            )),
            None => {
                lines.insert(entry.id.clone(), number);
                kept.push((number, entry));
            }
        }
    }
    kept
}

/// The entries with parents before their children, otherwise in the order of the file. An entry whose parent is
/// missing, or is its own descendant, becomes a root.
fn in_order(entries: Vec<(usize, FileEntry)>, problems: &mut Vec<String>) -> Vec<(usize, FileEntry)> {
    let places: HashMap<String, usize> = entries
        .iter()
        .enumerate()
        .map(|(place, (_, entry))| (entry.id.clone(), place))
        .collect();
    let parent_of = |entry: &FileEntry| entry.parent_id.as_ref().and_then(|id| places.get(id)).copied();
    let parents: Vec<Option<usize>> = entries.iter().map(|(_, entry)| parent_of(entry)).collect();
    let mut order: Vec<usize> = Vec::with_capacity(entries.len());
    let mut is_placed = vec![false; entries.len()];
    let mut cut: HashSet<usize> = HashSet::new();
    for place in 0..entries.len() {
        let mut way = Vec::new();
        let mut next = Some(place);
        while let Some(at) = next.filter(|at| !is_placed[*at]) {
            is_placed[at] = true;
            way.push(at);
            next = parents[at];
        }
        // An entry that is met again on the way to its root would be its own ancestor.
        if let (Some(met), Some(last)) = (next, way.last())
            && way.contains(&met)
        {
            cut.insert(*last);
        }
        order.extend(way.into_iter().rev());
    }
    let mut entries: Vec<Option<(usize, FileEntry)>> = entries.into_iter().map(Some).collect();
    let ordered = order.into_iter().filter_map(|place| {
        let (number, mut entry) = entries[place].take()?;
        let is_root = parents[place].is_none() || cut.contains(&place);
        if let Some(parent) = entry.parent_id.take_if(|_| is_root) {
            problems.push(format!(
                "the entry of line {number} begins a conversation: there is no way to its parent {parent:?}"
            ));
        }
        Some((number, entry))
    });
    ordered.collect()
}

/// The session's current entry: the last one of the file, or the one that it names.
fn standing(mut entries: Vec<(usize, FileEntry)>) -> (Vec<(usize, FileEntry)>, Option<String>) {
    let last = entries.iter().enumerate().max_by_key(|(_, (number, _))| *number);
    let Some((place, (_, last))) = last else {
        return (entries, None);
    };
    let is_marker = matches!(&last.content, FileContent::Custom { kind, .. } if kind == LEAF);
    if !is_marker {
        let leaf_id = Some(last.id.clone());
        return (entries, leaf_id);
    }
    let (_, marker) = entries.remove(place);
    (entries, marker.parent_id)
}

/// A time from pi's format.
fn moment(text: &str) -> Option<u64> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    u64::try_from(time.timestamp_millis()).ok()
}
