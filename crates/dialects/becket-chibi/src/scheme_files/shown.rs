//! Contexts and tools as files of the virtual file system, for files that look for them there.
//!
//! They are written when somebody looks, so that they can be read, listed and searched like any other file, and are
//! true at that moment. Nobody else writes there.

use std::path::PathBuf;
use std::sync::Arc;

use becket_agent::flocks::{Flocks, SITE, folder};
use becket_agent::tool::Tool;
use becket_agent::vfs::{Vfs, VfsPath, VfsPlace};
use becket_store::{ContextSummary, SqliteStore};
use serde_json::{Value, json};

use crate::generations::tool_type;
use crate::plugin::Generation;
use crate::written_conversation::written;

/// The folder of all contexts.
const CONTEXTS: &str = "/sys/contexts";

/// The folder of all tools.
const TOOLS: &str = "/tools/sys";

/// Shows contexts and tools as files.
pub struct ShownContexts {
    pub vfs: Vfs,
    pub store: Arc<SqliteStore>,
    /// The folder with the folder of contexts in it.
    pub home: PathBuf,
}

impl ShownContexts {
    /// Writes what is to be seen at an address. The error says why that is not true.
    pub fn show(&self, path: &VfsPath, tools: impl FnOnce() -> Vec<Arc<dyn Tool>>) -> Result<(), String> {
        let names: Vec<&str> = path.names().collect();
        match names.as_slice() {
            ["sys", "contexts"] => self.show_contexts(),
            ["sys", "contexts", context, ..] => self.show_context(context),
            ["tools", "sys", ..] => self.show_tools(&tools()),
            _ => Ok(()),
        }
    }

    fn show_contexts(&self) -> Result<(), String> {
        let names = self.names()?;
        for name in &names {
            let made = self.place(&format!("{CONTEXTS}/{name}"))?.make_folder();
            made.map_err(|error| error.to_string())?;
        }
        self.keep_only(CONTEXTS, &names)
    }

    fn show_tools(&self, tools: &[Arc<dyn Tool>]) -> Result<(), String> {
        let mut names = Vec::new();
        for tool in tools {
            let (face, source) = (&tool.spec().face, &tool.spec().source);
            let schema = json!({
                "name": face.name,
                "description": face.description,
                "category": tool_type(Generation::Newer, &face.name, source),
                "parameters": face.parameters,
            });
            self.put(&format!("{TOOLS}/{}", face.name), &pretty(&schema))?;
            names.push(face.name.clone());
        }
        self.keep_only(TOOLS, &names)
    }

    fn show_context(&self, name: &str) -> Result<(), String> {
        if !self.names()?.iter().any(|known| known == name) {
            return self.keep_only(CONTEXTS, &self.names()?);
        }
        let stored = self.store.context(name).map_err(|error| error.to_string())?;
        let lines = match &stored {
            Some(_) => self
                .store
                .conversation(name)
                .map(|(tree, _)| written(&tree, name)),
            None => Ok(Vec::new()),
        };
        let lines = lines.map_err(|error| error.to_string())?;
        let flocks = Flocks::new(self.vfs.clone()).of(name)?;
        let flocks: Vec<String> = std::iter::once(SITE.to_owned()).chain(flocks).collect();
        let folders: Vec<String> = flocks.iter().map(|flock| folder(flock)).collect();
        let own = format!("/home/{name}/tasks");
        let of_flocks = folders.iter().map(|folder| format!("{folder}/tasks"));
        let task_folders = std::iter::once(own.clone()).chain(of_flocks);
        let quoted: Vec<String> = task_folders.map(|folder| format!("{folder:?}")).collect();
        let goals: Vec<String> = folders
            .iter()
            .map(|folder| format!("{folder}/goals.md"))
            .collect();
        let mut state = state(stored.as_ref(), &lines);
        state["flocks"] = json!(flocks);
        state["paths"] = json!({"tasks": own, "goals": goals});
        let manifest = json!({"version": 1, "active_partition": "active.jsonl", "partitions": []});
        let transcript: String = lines.iter().map(|line| format!("{line}\n")).collect();
        for (file, text) in [
            ("state.json", pretty(&state)),
            ("task-dirs", format!("({})", quoted.join(" "))),
            ("transcript/manifest.json", pretty(&manifest)),
            ("transcript/active.jsonl", transcript),
        ] {
            self.put(&format!("{CONTEXTS}/{name}/{file}"), &text)?;
        }
        Ok(())
    }

    /// The names of all contexts: those of the store, and those that have only a folder yet.
    fn names(&self) -> Result<Vec<String>, String> {
        let stored = self.store.contexts().map_err(|error| error.to_string())?;
        let mut names: Vec<String> = stored.into_iter().map(|context| context.name).collect();
        let mut only_there = crate::home_contexts::names(&self.home);
        only_there.retain(|name| !names.contains(name));
        names.extend(only_there);
        Ok(names)
    }

    fn place(&self, path: &str) -> Result<VfsPlace, String> {
        let place = self.vfs.place(&VfsPath::from_path(path)?)?;
        match place.address().as_str() == path {
            true => Ok(place),
            false => Err(format!("vfs://{path} is a link; only becket creates files there")),
        }
    }

    /// Writes a file, if it does not hold this text yet.
    fn put(&self, path: &str, text: &str) -> Result<(), String> {
        let place = self.place(path)?;
        if place.read().is_ok_and(|bytes| bytes == text.as_bytes()) {
            return Ok(());
        }
        self.vfs.prepare()?;
        place.write(text.as_bytes()).map_err(|error| error.to_string())
    }

    /// Removes what is no longer to be seen in a folder.
    fn keep_only(&self, folder: &str, names: &[String]) -> Result<(), String> {
        let folder = self.place(folder)?;
        for entry in folder.entries().unwrap_or_default() {
            if !names.contains(&entry.name) {
                let removed = folder.child(&entry.name)?.remove_all();
                removed.map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}

/// What is known of a context, with times in seconds.
fn state(stored: Option<&ContextSummary>, lines: &[Value]) -> Value {
    let seconds = |milliseconds: u64| milliseconds / 1000;
    let lifetime = stored.map(|context| context.lifetime).unwrap_or_default();
    let prompts = lines.iter().filter(|line| line["role"] == "user");
    json!({
        "created_at": stored.map_or(0, |context| seconds(context.created_ms)),
        "last_activity_at": stored.map_or(0, |context| seconds(context.last_used_ms)),
        "prompt_count": prompts.count(),
        "auto_destroy_at": lifetime.destroy_at_ms.map(seconds),
        "auto_destroy_after_inactive_secs": lifetime.destroy_after_ms.map(seconds),
    })
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}
