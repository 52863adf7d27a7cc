//! A list of what is to be done, item by item, and a place to think.
//!
//! The list is kept with the context, so that the next session finds it. A sub-agent has its own, which ends with its
//! session. Thoughts are kept in the transcript, like every call.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becket_agent::context_files::{ContextFile, ContextFiles};
use becket_agent::gate::Permit;
use becket_agent::tool::{Tool, ToolSpec};
use becket_events::Profile;
use becket_lock::lock_within;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::plain_tool::{PlainTool, spec};

/// The most items of a list, and the longest one: a larger list is not worked through.
const MOST_ITEMS: usize = 500;
const LONGEST_ITEM: usize = 10 * 1024;

/// How long to wait for another process that changes the list.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The names of the todo tools.
pub fn todo_tool_names() -> impl Iterator<Item = &'static str> {
    ["create_todo", "create_todos", MARK, "list_todos", "think"].into_iter()
}

/// Becket's own name for the tool that models know as `update_todos`, since its own notes have a tool of that name.
const MARK: &str = "mark_todos";
const MARK_FACE: &str = "update_todos";

/// An item of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Item {
    id: String,
    description: String,
    status: Status,
}

/// The status of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    description: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Several {
    descriptions: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Updates {
    updates: Vec<Update>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Update {
    id: String,
    status: Status,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Thought {
    thought: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The lists of all agents.
struct Lists {
    contexts: PathBuf,
    /// The lists of sub-agents, by session.
    passing: Mutex<BTreeMap<String, Vec<Item>>>,
}

/// The todo tools that a profile has; `contexts` holds a folder for each context.
pub fn todo_tools(profile: &Profile, contexts: &Path) -> Vec<Arc<dyn Tool>> {
    let lists = Arc::new(Lists {
        contexts: contexts.into(),
        passing: Mutex::default(),
    });
    let tools = [
        creating_one(Arc::clone(&lists)),
        creating(Arc::clone(&lists)),
        marking(Arc::clone(&lists)),
        listing(lists),
        thinking(),
    ];
    let has = |tool: &Arc<dyn Tool>| profile.extras.iter().any(|name| *name == tool.spec().own_name);
    tools.into_iter().filter(has).collect()
}

fn object(properties: Value) -> Value {
    let required: Vec<String> = properties
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .cloned()
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn creating_one(lists: Arc<Lists>) -> Arc<dyn Tool> {
    let description = json!({"type": "string", "description": "What is to be done."});
    let schema = object(json!({"description": description}));
    let spec = spec(
        "create_todo",
        "Add something to the list of what is to be done.",
        schema,
    );
    PlainTool::arc(spec, move |One { description }, permit| {
        lists.change(permit, |items| {
            let added = add(items, vec![description])?;
            Ok(json!({"created": added[0], "all_todos": items, "reminder": reminder(items)}))
        })
    })
}

fn creating(lists: Arc<Lists>) -> Arc<dyn Tool> {
    let descriptions = json!({
        "type": "array", "items": {"type": "string"}, "description": "What is to be done, one text for each.",
    });
    let schema = object(json!({"descriptions": descriptions}));
    let spec = spec(
        "create_todos",
        "Add several things to the list of what is to be done.",
        schema,
    );
    PlainTool::arc(spec, move |Several { descriptions }, permit| {
        lists.change(permit, |items| {
            let added = add(items, descriptions)?;
            Ok(json!({"created": added, "all_todos": items, "reminder": reminder(items)}))
        })
    })
}

fn marking(lists: Arc<Lists>) -> Arc<dyn Tool> {
    let status = json!({
        "type": "string", "enum": ["pending", "in-progress", "completed"], "description": "How far it is now.",
    });
    let update = object(json!({
        "id": {"type": "string", "description": "The item's ID."},
        "status": status,
    }));
    let updates =
        json!({"type": "array", "items": update, "description": "Which items, and how far they are."});
    let about = "Say how far items of the list of what is to be done are.";
    let mut spec: ToolSpec = spec(MARK, about, object(json!({"updates": updates})));
    spec.face.name = MARK_FACE.into();
    PlainTool::arc(spec, move |Updates { updates }, permit| {
        lists.change(permit, |items| {
            let (found, missing): (Vec<Update>, Vec<Update>) = updates
                .into_iter()
                .partition(|update| items.iter().any(|item| item.id == update.id));
            let missing: Vec<String> = missing.into_iter().map(|update| update.id).collect();
            if found.is_empty() && !missing.is_empty() {
                return Err(json!({"not_found": missing, "all_todos": items}).to_string());
            }
            for update in &found {
                items
                    .iter_mut()
                    .filter(|item| item.id == update.id)
                    .for_each(|item| item.status = update.status);
            }
            let reminder = reminder(items);
            Ok(json!({"updated": found, "not_found": missing, "all_todos": items, "reminder": reminder}))
        })
    })
}

fn listing(lists: Arc<Lists>) -> Arc<dyn Tool> {
    let schema = json!({"type": "object", "properties": {}});
    let spec = spec(
        "list_todos",
        "List what is to be done, and how far each item is.",
        schema,
    );
    PlainTool::arc(spec, move |_: Nothing, permit| {
        let items = lists.read(permit)?;
        Ok(told(json!({"todos": items, "reminder": reminder(&items)})))
    })
}

fn thinking() -> Arc<dyn Tool> {
    let thought = json!({"type": "string", "description": "The thought."});
    let about = "Write down a thought: a plan, an observation, a doubt. Nothing else happens.";
    let mut spec = spec("think", about, object(json!({"thought": thought})));
    spec.parallel = true;
    PlainTool::arc(spec, |Thought { thought }, _| match thought.trim() {
        "" => Err("the thought is empty".to_owned()),
        _ => Ok("Noted. Go on.".to_owned()),
    })
}

/// Adds items, and returns them.
fn add(items: &mut Vec<Item>, descriptions: Vec<String>) -> Result<Vec<Item>, String> {
    if descriptions.is_empty() || descriptions.iter().any(|text| text.trim().is_empty()) {
        return Err("a description is missing or empty; say what is to be done".to_owned());
    }
    if items.len() + descriptions.len() > MOST_ITEMS
        || descriptions.iter().any(|text| text.len() > LONGEST_ITEM)
    {
        return Err(format!(
            "a list has at most {MOST_ITEMS} items of {LONGEST_ITEM} bytes each"
        ));
    }
    let number = |item: &Item| {
        item.id
            .strip_prefix("todo_")
            .and_then(|number| number.parse::<u64>().ok())
    };
    let last = items.iter().filter_map(number).max().unwrap_or(0);
    let added = (last + 1..).zip(descriptions).map(|(number, description)| Item {
        id: format!("todo_{number}"),
        description,
        status: Status::Pending,
    });
    let added: Vec<Item> = added.collect();
    items.extend(added.iter().cloned());
    Ok(added)
}

/// A reminder of the open items; `None` if there are none.
fn reminder(items: &[Item]) -> Option<String> {
    let open = items.iter().filter(|item| item.status != Status::Completed);
    let open: Vec<String> = open
        .map(|item| format!("[{}] {}", item.id, item.description))
        .collect();
    (!open.is_empty()).then(|| format!("Still open: {}", open.join("; ")))
}

/// An answer as text, without empty fields.
fn told(answer: Value) -> String {
    let fields = answer.as_object().into_iter().flatten();
    let said = fields.filter(|(name, value)| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty() || name.ends_with("todos"),
        _ => true,
    });
    let said: Map<String, Value> = said.map(|(name, value)| (name.clone(), value.clone())).collect();
    Value::Object(said).to_string()
}

impl Lists {
    /// The list of the agent that makes a call.
    fn read(&self, permit: &Permit) -> Result<Vec<Item>, String> {
        let scope = permit.scope();
        if scope.parent_session_id.is_some() {
            let passing = self.passing.lock().expect("no panic happens while it is held");
            return Ok(passing.get(&scope.session_id).cloned().unwrap_or_default());
        }
        Ok(self.stored(permit)?.remove(&scope.agent_name).unwrap_or_default())
    }

    /// Changes the list of the agent that makes a call. An error changes nothing.
    fn change(
        &self,
        permit: &Permit,
        change: impl FnOnce(&mut Vec<Item>) -> Result<Value, String>,
    ) -> Result<String, String> {
        let scope = permit.scope();
        if scope.parent_session_id.is_some() {
            let mut items = self.read(permit)?;
            let answer = change(&mut items)?;
            let mut passing = self.passing.lock().expect("no panic happens while it is held");
            passing.insert(scope.session_id.clone(), items);
            return Ok(told(answer));
        }
        let files = self.files(permit);
        let broken = |error: std::io::Error| format!("the list could not be written: {error}");
        let _lock = lock(files.folder()).map_err(broken)?;
        let mut stored = self.stored(permit)?;
        let answer = change(stored.entry(scope.agent_name.clone()).or_default())?;
        let text = serde_json::to_string_pretty(&stored).map_err(|error| error.to_string())?;
        files.write(ContextFile::TodoList, &text).map_err(broken)?;
        Ok(told(answer))
    }

    fn files(&self, permit: &Permit) -> ContextFiles {
        ContextFiles::new(&self.contexts, &permit.scope().context_name)
    }

    /// The lists of all agents of the context, by their names.
    fn stored(&self, permit: &Permit) -> Result<BTreeMap<String, Vec<Item>>, String> {
        let files = self.files(permit);
        let wrong = |error: &dyn std::fmt::Display| {
            let file = files.path(ContextFile::TodoList);
            format!(
                "the list {} cannot be read: {error}. Repair or remove it",
                file.display()
            )
        };
        match files.try_read(ContextFile::TodoList) {
            Ok(None) => Ok(BTreeMap::new()),
            Ok(Some(text)) => serde_json::from_str(&text).map_err(|error| wrong(&error)),
            Err(error) => Err(wrong(&error)),
        }
    }
}

/// Keeps other processes from changing the list; the operating system releases the lock when this process ends.
fn lock(folder: &Path) -> std::io::Result<File> {
    std::fs::create_dir_all(folder)?;
    // The folder is locked, since the file in it is replaced by each change.
    let file = File::open(folder)?;
    match lock_within(&file, LOCK_TIMEOUT)? {
        true => Ok(file),
        false => Err(std::io::Error::other("another process changes it")),
    }
}
