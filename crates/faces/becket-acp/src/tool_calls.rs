//! Tool calls as an editor shows them: what kind they are, which places they touch, what they change.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent_client_protocol_schema::v1::{
    Diff, ToolCall, ToolCallContent, ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use becket_agent::front::{LineKind, Preview};
use becket_events::{Effect, OperationKind};
use becket_system::{Surroundings, harmless, harmless_name};
use serde_json::{Map, Value};

/// How many characters of a call's summary are shown in its title.
const LONGEST_TITLE: usize = 160;

/// How many bytes of a running tool's output are shown, from its end.
const LONGEST_TAIL: usize = 8 * 1024;

/// How often the output of a running tool is shown at most.
const OUTPUT_PAUSE: Duration = Duration::from_millis(250);

/// The folders that paths of tool calls are relative to.
pub struct Places {
    cwd: PathBuf,
    home: Option<PathBuf>,
}

impl Places {
    pub fn of(surroundings: &Surroundings) -> Self {
        Self {
            cwd: surroundings.cwd.clone(),
            home: surroundings.variable("HOME").map(PathBuf::from),
        }
    }

    /// A path as an editor opens it.
    pub fn absolute(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => self.cwd.join(path),
        }
    }

    /// The file or folder that a call names.
    fn touched(&self, operation: Option<OperationKind>, arguments: &Map<String, Value>) -> Option<PathBuf> {
        let names_file = matches!(operation?.effect(), Effect::Read | Effect::Write);
        let path = arguments.get("path").filter(|_| names_file)?.as_str()?;
        // Addresses of the virtual file system are no files that an editor could open.
        (!path.contains("://")).then(|| self.absolute(path))
    }
}

/// A tool call as the model makes it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub tool_name: &'a str,
    pub operation: Option<OperationKind>,
    pub arguments: &'a Map<String, Value>,
    pub summary: Option<&'a str>,
}

impl Call<'_> {
    /// The tool's name and the call in a few words.
    pub fn title(&self, agent: Option<&str>) -> String {
        let first = || {
            let first = self.arguments.values().next()?;
            Some(
                first
                    .as_str()
                    .map_or_else(|| first.to_string(), ToOwned::to_owned),
            )
        };
        let summary = self
            .summary
            .map(ToOwned::to_owned)
            .or_else(first)
            .unwrap_or_default();
        let agent = agent.map_or(String::new(), |agent| format!("[{}] ", harmless_name(agent)));
        let name = harmless_name(self.tool_name);
        let title = format!("{agent}{name} {}", shortened(&harmless(&summary)));
        title.trim_end().to_owned()
    }

    /// The kind by which editors choose a symbol.
    pub fn kind(&self) -> ToolKind {
        match self.operation {
            Some(OperationKind::Shell) => ToolKind::Execute,
            Some(OperationKind::Fetch) => ToolKind::Fetch,
            Some(OperationKind::Find | OperationKind::Grep) => ToolKind::Search,
            Some(OperationKind::Remove | OperationKind::Rmdir | OperationKind::VfsDelete) => ToolKind::Delete,
            Some(OperationKind::VfsMove) => ToolKind::Move,
            Some(operation) if operation.effect() == Effect::Write => ToolKind::Edit,
            Some(operation) if operation.effect() == Effect::Read => ToolKind::Read,
            _ if becket_tools::todo_tool_names().any(|name| name == self.tool_name) => ToolKind::Think,
            _ => ToolKind::Other,
        }
    }

    /// The places that the call names, each with its line if it names one.
    pub fn locations(&self, places: &Places) -> Vec<ToolCallLocation> {
        let Some(path) = places.touched(self.operation, self.arguments) else {
            return Vec::new();
        };
        let first_edit = || self.arguments.get("lines")?.get(0)?.get("start");
        let line = self.arguments.get("offset").or_else(first_edit);
        let line = line
            .and_then(Value::as_u64)
            .and_then(|line| u32::try_from(line).ok());
        vec![ToolCallLocation::new(path).line(line)]
    }
}

/// The first line of a text, cut to what a title can show.
fn shortened(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let mut short: String = first.chars().take(LONGEST_TITLE).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The calls that the editor knows and that are not over.
#[derive(Default)]
pub struct Calls {
    open: HashMap<Key, OpenCall>,
    /// The ids that calls have had. Models may use one twice, and for an editor that would be one call.
    used: HashSet<String>,
}

/// The sub-agent that makes a call, and the id that the call has in the conversation.
type Key = (Option<String>, String);

/// A call that is not over.
struct OpenCall {
    id: ToolCallId,
    title: String,
    path: Option<PathBuf>,
    shows_change: bool,
    output: String,
    told_at: Option<Instant>,
}

fn key(agent: Option<&str>, id: &str) -> Key {
    (agent.map(ToOwned::to_owned), id.to_owned())
}

impl Calls {
    /// A call begins.
    pub fn begin(&mut self, agent: Option<&str>, id: &str, call: Call<'_>, places: &Places) -> ToolCall {
        let (known, title) = (self.new_id(id), call.title(agent));
        let open = OpenCall {
            id: known.clone(),
            title: title.clone(),
            path: places.touched(call.operation, call.arguments),
            shows_change: false,
            output: String::new(),
            told_at: None,
        };
        self.open.insert(key(agent, id), open);
        ToolCall::new(known, title)
            .kind(call.kind())
            .status(ToolCallStatus::Pending)
            .locations(call.locations(places))
            .raw_input(Value::Object(call.arguments.clone()))
    }

    /// An id that no other call has.
    pub fn new_id(&mut self, id: &str) -> ToolCallId {
        let ids = std::iter::once(id.to_owned()).chain((2_u64..).map(|number| format!("{id}-{number}")));
        let free = ids.into_iter().find(|id| self.used.insert(id.clone()));
        ToolCallId::new(free.unwrap_or_default())
    }

    /// The editor's id of a call that is not over.
    pub fn id(&self, agent: Option<&str>, id: &str) -> Option<ToolCallId> {
        self.open.get(&key(agent, id)).map(|call| call.id.clone())
    }

    /// Hooks have changed a call.
    pub fn change(&mut self, agent: Option<&str>, id: &str, call: Call<'_>) -> Option<ToolCallUpdate> {
        let open = self.open.get_mut(&key(agent, id))?;
        open.title = format!("{} (changed by hooks)", call.title(agent));
        let fields = ToolCallUpdateFields::new()
            .title(open.title.clone())
            .raw_input(Value::Object(call.arguments.clone()));
        Some(ToolCallUpdate::new(open.id.clone(), fields))
    }

    /// A call that is not over, as a question shows it.
    pub fn asked(&self, agent: Option<&str>, id: &str) -> Option<(ToolCallId, String)> {
        let call = self.open.get(&key(agent, id))?;
        Some((call.id.clone(), call.title.clone()))
    }

    /// The change that a call is about to make, now or after a yes.
    pub fn changes(
        &mut self,
        agent: Option<&str>,
        id: &str,
        (preview, judged): (&Preview, Option<PathBuf>),
    ) -> Option<Vec<ToolCallContent>> {
        let call = self.open.get_mut(&key(agent, id))?;
        call.path = judged.or(call.path.take());
        let changes = changes(preview, call.path.as_deref()?);
        call.shows_change |= !changes.is_empty();
        Some(changes)
    }

    /// More output of a running tool: what is shown of it by now, unless it was shown just before.
    pub fn grow(&mut self, agent: Option<&str>, id: &str, text: &str) -> Option<ToolCallUpdate> {
        let call = self.open.get_mut(&key(agent, id))?;
        call.output.push_str(text);
        let cut = call.output.len().saturating_sub(LONGEST_TAIL);
        call.output.drain(..call.output.ceil_char_boundary(cut));
        if call.told_at.is_some_and(|before| before.elapsed() < OUTPUT_PAUSE) || call.shows_change {
            return None;
        }
        call.told_at = Some(Instant::now());
        let fields = ToolCallUpdateFields::new().content(vec![fenced(&call.output)]);
        Some(ToolCallUpdate::new(call.id.clone(), fields))
    }

    /// A call is over. A change that was made stays what the editor shows.
    pub fn end(&mut self, agent: Option<&str>, id: &str, outcome: CallEnd<'_>) -> Option<ToolCallUpdate> {
        let call = self.open.remove(&key(agent, id))?;
        let fields = match outcome {
            CallEnd::Completed(_) if call.shows_change => status(ToolCallStatus::Completed),
            CallEnd::Completed(output) => completed(output),
            CallEnd::Failed(why) => failed(why),
        };
        Some(ToolCallUpdate::new(call.id, fields))
    }

    /// The calls that are over because everything is.
    pub fn end_all(&mut self) -> Vec<ToolCallUpdate> {
        let open = self.open.drain();
        open.map(|(_, call)| ToolCallUpdate::new(call.id, status(ToolCallStatus::Failed)))
            .collect()
    }
}

/// How a call ended.
#[derive(Clone, Copy)]
pub enum CallEnd<'a> {
    /// The call has run; with its output.
    Completed(&'a str),
    /// The call was refused or has failed; with the words about it.
    Failed(&'a str),
}

/// The change of a call's status.
pub fn status(status: ToolCallStatus) -> ToolCallUpdateFields {
    ToolCallUpdateFields::new().status(status)
}

/// The end of a call that has run.
pub fn completed(output: &str) -> ToolCallUpdateFields {
    let content = match output.trim().is_empty() {
        true => Vec::new(),
        false => vec![fenced(output)],
    };
    status(ToolCallStatus::Completed).content(content)
}

/// The end of a call that was refused or has failed.
pub fn failed(why: &str) -> ToolCallUpdateFields {
    status(ToolCallStatus::Failed).content(vec![fenced(why)])
}

/// A text that is shown as it is, whatever Markdown it contains.
pub fn fenced(text: &str) -> ToolCallContent {
    let text = harmless(text.trim_end());
    let ticks = text.lines().map(|line| {
        let line = line.trim_start();
        line.len() - line.trim_start_matches('`').len()
    });
    let fence = "`".repeat(ticks.max().unwrap_or(0).max(2) + 1);
    format!("{fence}\n{text}\n{fence}").into()
}

/// What a call changes in a file: for each place the lines that go and come, with some around them.
pub fn changes(preview: &Preview, path: &Path) -> Vec<ToolCallContent> {
    let mut changes = Vec::new();
    let is_new = preview.before.is_none();
    let hunks = preview.lines.split(|line| line.kind == LineKind::Place);
    for hunk in hunks.filter(|hunk| !hunk.is_empty()) {
        let side = |left_out: LineKind| -> String {
            let lines = hunk.iter().filter(|line| line.kind != left_out);
            lines.map(|line| format!("{}\n", line.text)).collect()
        };
        let (old, new) = (side(LineKind::Added), side(LineKind::Removed));
        let old = Some(old).filter(|old| !(is_new && old.is_empty()));
        changes.push(ToolCallContent::Diff(Diff::new(path, new).old_text(old)));
    }
    changes
}

#[cfg(test)]
mod tests {
    use becket_agent::front::PreviewLine;
    use serde_json::json;

    use super::*;

    fn line(kind: LineKind, text: &str) -> PreviewLine {
        let text = text.to_owned();
        PreviewLine { kind, text }
    }

    #[test]
    fn each_place_of_a_change_has_its_old_and_its_new_lines() {
        let preview = Preview {
            lines: vec![
                line(LineKind::Place, "@@ -1,2 +1,2 @@"),
                line(LineKind::Kept, "one"),
                line(LineKind::Removed, "two"),
                line(LineKind::Added, "2"),
                line(LineKind::Place, "@@ -9 +9 @@"),
                line(LineKind::Added, "nine"),
            ],
            before: Some([0; 32]),
            ..Preview::default()
        };
        let shown = serde_json::to_value(changes(&preview, Path::new("/f"))).unwrap();
        let first = json!({"type": "diff", "path": "/f", "oldText": "one\ntwo\n", "newText": "one\n2\n"});
        let second = json!({"type": "diff", "path": "/f", "oldText": "", "newText": "nine\n"});
        assert_eq!(shown, json!([first, second]));
    }

    #[test]
    fn a_call_that_reuses_an_id_is_another_call() {
        let mut calls = Calls::default();
        assert_eq!(calls.new_id("a"), ToolCallId::new("a"));
        assert_eq!(calls.new_id("a"), ToolCallId::new("a-2"));
        assert_eq!(calls.new_id("a-2"), ToolCallId::new("a-2-2"));
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        let shown = serde_json::to_value(fenced("a\n````\nb\n")).unwrap();
        assert_eq!(shown["content"]["text"], "`````\na\n````\nb\n`````");
    }
}
