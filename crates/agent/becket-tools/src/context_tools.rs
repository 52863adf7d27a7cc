//! Tools between contexts: messages to others, and the flocks that a context belongs to.
//!
//! These tools have no operation and the same name in every profile. What they touch belongs to the user's own
//! contexts, so they need no yes; hooks and deny rules judge them like any other tool.

use std::path::PathBuf;
use std::sync::Arc;

use becket_agent::flocks::{Flocks, SITE};
use becket_agent::gate::Permit;
use becket_agent::mail::Sending;
use becket_agent::provider::ToolFace;
use becket_agent::store::Store;
use becket_agent::tool::{BUILTIN, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_agent::vfs::Vfs;
use becket_events::Profile;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

/// The tool that sends a message.
pub const SEND_MESSAGE: &str = "send_message";

/// What the context tools work on.
#[derive(Clone)]
pub struct ContextToolSettings {
    /// The store, which keeps the inboxes.
    pub store: Arc<dyn Store>,
    /// The folder behind the virtual file system, where the flocks are.
    pub vfs: PathBuf,
}

/// What a context tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Send,
    Join,
    Leave,
    List,
}

/// An argument of a context tool, which is always a text.
struct Argument {
    name: &'static str,
    about: &'static str,
    required: bool,
}

/// The declaration of a context tool.
struct ContextTool {
    name: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    deed: Deed,
}

const FLOCK: Argument = Argument {
    name: "flock",
    about: "The flock's name: lowercase letters, digits and hyphens.",
    required: true,
};

const TOOLS: &[ContextTool] = &[
    ContextTool {
        name: SEND_MESSAGE,
        description: "Send a message to another context. It is shown there with the next prompt.",
        arguments: &[
            Argument {
                name: "to",
                about: "The context that gets it.",
                required: true,
            },
            Argument {
                name: "content",
                about: "What it says.",
                required: true,
            },
            Argument {
                name: "from",
                about: "Who is named as its writer; this context when absent.",
                required: false,
            },
        ],
        deed: Deed::Send,
    },
    ContextTool {
        name: "flock_join",
        description: "Join a flock: a group of contexts that share goals, instructions, tasks and files. \
                      It is made if it is new.",
        arguments: &[FLOCK],
        deed: Deed::Join,
    },
    ContextTool {
        name: "flock_leave",
        description: "Leave a flock.",
        arguments: &[FLOCK],
        deed: Deed::Leave,
    },
    ContextTool {
        name: "flock_list",
        description: "List all flocks with their members, those of this context first.",
        arguments: &[],
        deed: Deed::List,
    },
];

/// The names of all context tools.
pub fn context_tool_names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|tool| tool.name)
}

/// The context tools that a profile has.
pub fn context_tools(profile: &Profile, settings: &ContextToolSettings) -> Vec<Arc<dyn Tool>> {
    let wanted = TOOLS.iter().filter(|tool| profile.extras.contains(&tool.name));
    wanted
        .map(|tool| Arc::new(Ready::new(tool, settings.clone())) as Arc<dyn Tool>)
        .collect()
}

struct Ready {
    spec: ToolSpec,
    tool: &'static ContextTool,
    settings: ContextToolSettings,
}

impl Ready {
    fn new(tool: &'static ContextTool, settings: ContextToolSettings) -> Self {
        let describe = |argument: &Argument| {
            let schema = json!({ "type": "string", "description": argument.about });
            (argument.name.to_owned(), schema)
        };
        let properties: Map<String, Value> = tool.arguments.iter().map(describe).collect();
        let required = tool.arguments.iter().filter(|argument| argument.required);
        let required: Vec<&str> = required.map(|argument| argument.name).collect();
        let spec = ToolSpec {
            face: ToolFace {
                name: tool.name.into(),
                description: tool.description.into(),
                parameters: json!({ "type": "object", "properties": properties, "required": required })
                    .into(),
                operation: None,
            },
            own_name: tool.name.into(),
            operation: None,
            source: BUILTIN.into(),
            read_only: true,
            parallel: false,
            handoff: None,
            extra_arguments: Vec::new(),
        };
        Self { spec, tool, settings }
    }

    fn check(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let ContextTool {
            name,
            arguments: known,
            ..
        } = self.tool;
        if let Some(unknown) = arguments
            .keys()
            .find(|key| !known.iter().any(|known| known.name == *key))
        {
            let names: Vec<&str> = known.iter().map(|argument| argument.name).collect();
            let takes = match names.as_slice() {
                [] => "nothing".to_owned(),
                names => names.join(", "),
            };
            return Err(format!("{name} has no argument `{unknown}`; it takes {takes}"));
        }
        for Argument {
            name: key, required, ..
        } in *known
        {
            match arguments.get(*key) {
                Some(Value::String(_)) => {}
                None | Some(Value::Null) if !required => {}
                None | Some(Value::Null) => return Err(format!("{name} needs `{key}`, a text")),
                Some(_) => return Err(format!("`{key}` of {name} must be a text")),
            }
        }
        match self.tool.deed {
            Deed::Send => sending(arguments).check(),
            _ => Ok(()),
        }
    }

    async fn perform(&self, permit: &Permit) -> Result<String, String> {
        let arguments = permit.arguments();
        self.check(arguments)?;
        let context = permit.scope().context_name.as_str();
        let flocks = Flocks::new(Vfs::new(&self.settings.vfs));
        let flock = text(arguments, "flock").unwrap_or_default();
        match self.tool.deed {
            Deed::Send => {
                sending(arguments)
                    .send(permit.hooks(), &*self.settings.store)
                    .await
            }
            Deed::Join => Ok(match flocks.join(flock, context)? {
                true => {
                    format!("{context} has joined the flock {flock}. Its zone is vfs:///flocks/{flock}.")
                }
                false => format!("{context} belonged to the flock {flock} before."),
            }),
            Deed::Leave => {
                flocks.leave(flock, context)?;
                Ok(format!("{context} has left the flock {flock}."))
            }
            Deed::List => list(&flocks, context),
        }
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

fn sending(arguments: &Map<String, Value>) -> Sending<'_> {
    Sending {
        to: text(arguments, "to").unwrap_or_default(),
        content: text(arguments, "content").unwrap_or_default(),
        from: text(arguments, "from"),
    }
}

fn list(flocks: &Flocks, context: &str) -> Result<String, String> {
    let is_own = |flock: &becket_agent::flocks::Flock| flock.members.iter().any(|member| member == context);
    let (own, others): (Vec<_>, Vec<_>) = flocks.list()?.into_iter().partition(is_own);
    let mut lines = vec![format!("{SITE}: all contexts")];
    for (flock, note) in own
        .iter()
        .map(|flock| (flock, " (yours)"))
        .chain(others.iter().map(|flock| (flock, "")))
    {
        let members = match flock.members.is_empty() {
            true => "nobody".to_owned(),
            false => flock.members.join(", "),
        };
        lines.push(format!("{}{note}: {members}", flock.name));
    }
    Ok(lines.join("\n"))
}

impl Tool for Ready {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        self.check(&arguments)?;
        Ok(arguments)
    }

    fn reaches_others(&self) -> bool {
        self.tool.deed != Deed::List
    }

    fn run<'a>(&'a self, permit: Permit, _: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match self.perform(&permit).await {
                Ok(words) => ToolOutput::text(words),
                Err(words) => ToolOutput::error(words),
            }
        })
    }
}
