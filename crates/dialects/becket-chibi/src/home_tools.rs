//! chibi's tools about contexts and models, which becket itself does not have.
//!
//! They only look at what is the user's own, so they need no yes; hooks and deny rules judge them like any other tool.

use std::path::PathBuf;
use std::sync::Arc;

use becket_agent::context_files::{ContextFile, ContextFiles};
use becket_agent::flocks::Flocks;
use becket_agent::gate::Permit;
use becket_agent::provider::ToolFace;
use becket_agent::store::EntryContent;
use becket_agent::task_table;
use becket_agent::tool::{BUILTIN, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_agent::vfs::Vfs;
use becket_store::{ContextName, SqliteStore};
use becket_tools::Models;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::home_contexts::conversation;
use crate::local_settings::model_named;
use crate::written_conversation::{written, written_seed};

/// The tool that shows another context.
pub const READ_CONTEXT: &str = "read_context";

/// The tool that says what is known of a model.
pub const MODEL_INFO: &str = "model_info";

/// How many messages are shown by default.
const USUAL_MESSAGES: u64 = 5;

/// What these tools look at.
#[derive(Clone)]
pub struct HomeToolSettings {
    pub store: Arc<SqliteStore>,
    /// The folder with the folder of contexts in it.
    pub home: PathBuf,
    pub vfs: Vfs,
    /// Finds models by their names.
    pub models: Models,
}

/// The tools.
pub fn home_tools(settings: &HomeToolSettings) -> Vec<Arc<dyn Tool>> {
    let text = |about: &str| json!({"type": "string", "description": about});
    let read_context = spec(
        READ_CONTEXT,
        "Look at another context: its summary, tasks, goals and latest messages.",
        json!({
            "context_name": text("The context."),
            "include_messages": text("Whether messages are shown: \"true\", the usual one, or \"false\"."),
            "num_messages": {
                "type": "integer",
                "description": "How many of the latest messages are shown; 5 when absent.",
                "default": USUAL_MESSAGES,
            },
        }),
        "context_name",
    );
    let model_info = spec(
        MODEL_INFO,
        "Say what is known of a model: its provider, and whether it can be asked.",
        json!({"model": text("The model, as in anthropic/claude-sonnet-4.")}),
        "model",
    );
    let tools = [
        (read_context, HomeTool::read_context as Perform),
        (model_info, HomeTool::model_info),
    ];
    let made = tools.map(|(spec, perform)| {
        Arc::new(HomeTool {
            spec,
            perform,
            settings: settings.clone(),
        }) as Arc<dyn Tool>
    });
    made.into()
}

fn spec(name: &str, description: &str, properties: Value, required: &str) -> ToolSpec {
    ToolSpec {
        own_name: name.into(),
        face: ToolFace {
            name: name.into(),
            description: description.into(),
            parameters: json!({"type": "object", "properties": properties, "required": [required]}).into(),
            operation: None,
        },
        operation: None,
        source: BUILTIN.into(),
        read_only: true,
        parallel: true,
        handoff: None,
        extra_arguments: Vec::new(),
    }
}

/// Does what a tool is for; the error is for the model.
type Perform = fn(&HomeTool, &Map<String, Value>) -> Result<Value, String>;

struct HomeTool {
    spec: ToolSpec,
    perform: Perform,
    settings: HomeToolSettings,
}

impl HomeTool {
    /// The argument that the tool needs.
    fn named<'a>(&self, arguments: &'a Map<String, Value>) -> Result<&'a str, String> {
        let name = self.spec.face.parameters["required"][0]
            .as_str()
            .unwrap_or_default();
        let named = arguments.get(name).and_then(Value::as_str);
        named.ok_or_else(|| format!("{} needs `{name}`, a text", self.spec.face.name))
    }

    fn read_context(&self, arguments: &Map<String, Value>) -> Result<Value, String> {
        let HomeToolSettings { store, home, vfs, .. } = &self.settings;
        let name = self.named(arguments)?;
        ContextName::parse(name).map_err(|error| error.to_string())?;
        let failed = |error: becket_agent::store::StoreError| error.to_string();
        let (lines, stored_summary) = match store.context(name).map_err(failed)? {
            Some(_) => {
                let (tree, _) = store.conversation(name).map_err(failed)?;
                let summary = tree.path().iter().rev().find_map(|entry| match &entry.content {
                    EntryContent::Compaction { summary, .. } => Some(summary.clone()),
                    _ => None,
                });
                (written(&tree, name), summary)
            }
            None if crate::home_contexts::names(home)
                .iter()
                .any(|known| known == name) =>
            {
                let read = conversation(home, name)?;
                (
                    read.map_or_else(Vec::new, |read| written_seed(&read.seed, name)),
                    None,
                )
            }
            None => return Err(format!("Context '{name}' does not exist")),
        };
        let files = ContextFiles::new(&home.join("contexts"), name);
        let text = |file| files.read(file).unwrap_or_default();
        let mut shown = json!({
            "name": name,
            "summary": stored_summary.unwrap_or_else(|| text(ContextFile::Summary)),
            "tasks": task_table(vfs, name).unwrap_or_default(),
            "flock_goals": Flocks::new(vfs.clone()).texts(name).goals,
            "todos": text(ContextFile::Todos),
            "goals": text(ContextFile::Goals),
        });
        if !matches!(arguments.get("include_messages"), Some(Value::String(word)) if word == "false") {
            let most = number(arguments.get("num_messages")).unwrap_or(USUAL_MESSAGES) as usize;
            let latest = lines[lines.len().saturating_sub(most)..].iter();
            let message = |line: &Value| {
                let (from, content) = (&line["from"], &line["content"]);
                json!({"from": from, "content": content, "type": line["entry_type"]})
            };
            shown["message_count"] = lines.len().into();
            shown["recent_messages"] = latest.map(message).collect();
        }
        Ok(shown)
    }

    fn model_info(&self, arguments: &Map<String, Value>) -> Result<Value, String> {
        let id = self.named(arguments)?;
        // chibi's names of models are those of one provider; becket has more.
        let name = model_named(id);
        let named = name.as_deref().map(|name| (self.settings.models)(name));
        let found = match named {
            Some(Ok(model)) => Ok(model),
            _ => (self.settings.models)(id),
        };
        // A model that cannot be asked, for want of a key, has a name and a provider all the same.
        let (provider, model) = match (found, name.as_deref().unwrap_or(id).split_once('/')) {
            (Ok(model), _) => (model.name().to_owned(), model.model().to_owned()),
            (Err(_), Some((provider, model))) => (provider.to_owned(), model.to_owned()),
            (Err(why), None) => return Err(format!("failed to fetch metadata for '{id}': {why}")),
        };
        Ok(json!({
            "info": {
                "id": model,
                "provider": provider,
                "capabilities": ["Chat"],
                "context_window": null,
            },
            "parameters": {},
            "pricing": null,
            "max_output_tokens": null,
        }))
    }
}

/// A number, which models may write as text.
fn number(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64(),
    }
}

impl Tool for HomeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        self.named(&arguments)?;
        Ok(arguments)
    }

    fn run<'a>(&'a self, permit: Permit, _: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match (self.perform)(self, permit.arguments()) {
                Ok(shown) => ToolOutput::text(format!("{shown:#}")),
                Err(words) => ToolOutput::error(format!("Error: {words}")),
            }
        })
    }
}
