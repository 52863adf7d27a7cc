//! Tools without an operation, under the same name in every profile: a context's own notes, and the one that ends the
//! turn.
//!
//! These tools touch nothing of the user's, so they need no yes; hooks and deny rules judge them like any other tool.

use std::path::PathBuf;
use std::sync::Arc;

use becket_agent::context_files::{ContextFile, ContextFiles, write_whole};
use becket_agent::flocks::Flocks;
use becket_agent::gate::Permit;
use becket_agent::provider::ToolFace;
use becket_agent::tool::{BUILTIN, Handoff, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_agent::vfs::Vfs;
use becket_events::{PostVfsWrite, PostVfsWritePayload, Profile};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

/// The longest notes in bytes. The model sees them with every prompt, so they are short.
const LONGEST_NOTES: usize = 64 * 1024;

/// The tool that ends the turn.
pub const CALL_USER: &str = "call_user";

/// The argument that names a flock.
const FLOCK: &str = "flock";
const ABOUT_FLOCK: &str = "The flock whose goals they are; `site` is the flock of all contexts. Without it they are \
                           this context's own.";

/// The places of the notes.
#[derive(Debug, Clone)]
pub struct NotesSettings {
    /// The folder that holds a folder for each context.
    pub contexts: PathBuf,
    /// The file of notes for all contexts; `None` if there is none.
    pub reflection: Option<PathBuf>,
    /// The folder behind the virtual file system, where the goals of flocks are.
    pub vfs: PathBuf,
}

/// A kind of notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notes {
    Of(ContextFile),
    Reflection,
}

/// The declaration of a tool without an operation.
struct Own {
    name: &'static str,
    description: &'static str,
    argument: &'static str,
    about_argument: &'static str,
    /// The notes that the tool writes; `None` for the one that ends the turn.
    notes: Option<Notes>,
    /// Whether the tool can write the notes of a flock instead.
    of_flocks: bool,
}

const OWN: &[Own] = &[
    Own {
        name: "update_todos",
        description: "Replace the list of what is to be done in this context. You see it with every prompt.",
        argument: "content",
        about_argument: "The whole list, as Markdown. Empty removes it.",
        notes: Some(Notes::Of(ContextFile::Todos)),
        of_flocks: false,
    },
    Own {
        name: "update_goals",
        description: "Replace the goals of this context, or of a flock that it belongs to: what it is all for. You see \
                      them with every prompt.",
        argument: "content",
        about_argument: "All goals, as Markdown. Empty removes them.",
        notes: Some(Notes::Of(ContextFile::Goals)),
        of_flocks: true,
    },
    Own {
        name: "update_reflection",
        description: "Replace what you have noted about yourself and how you want to work. It holds in all contexts.",
        argument: "content",
        about_argument: "The whole text, as Markdown. Empty removes it.",
        notes: Some(Notes::Reflection),
        of_flocks: false,
    },
    Own {
        name: CALL_USER,
        description: "End your turn and hand over to the user.",
        argument: "message",
        about_argument: "What the user reads as your answer.",
        notes: None,
        of_flocks: false,
    },
];

/// The names of all these tools.
pub fn own_tool_names() -> impl Iterator<Item = &'static str> {
    OWN.iter().map(|own| own.name)
}

/// The tools without an operation that a profile has, and the one that ends the turn, which any model may come to need.
pub fn own_tools(profile: &Profile, settings: &NotesSettings) -> Vec<Arc<dyn Tool>> {
    let wanted = OWN.iter().filter(|own| match own.notes {
        None => true,
        Some(Notes::Reflection) if settings.reflection.is_none() => false,
        Some(_) => profile.extras.contains(&own.name),
    });
    wanted
        .map(|own| Arc::new(OwnTool::new(own, settings.clone())) as Arc<dyn Tool>)
        .collect()
}

struct OwnTool {
    spec: ToolSpec,
    own: &'static Own,
    settings: NotesSettings,
}

impl OwnTool {
    fn new(own: &'static Own, settings: NotesSettings) -> Self {
        let required: &[&str] = if own.notes.is_some() { &[own.argument] } else { &[] };
        let mut properties = json!({ own.argument: { "type": "string", "description": own.about_argument } });
        if own.of_flocks {
            properties[FLOCK] = json!({ "type": "string", "description": ABOUT_FLOCK });
        }
        let parameters = json!({ "type": "object", "properties": properties, "required": required });
        let spec = ToolSpec {
            face: ToolFace {
                name: own.name.into(),
                description: own.description.into(),
                parameters: parameters.into(),
                operation: None,
            },
            own_name: own.name.into(),
            operation: None,
            source: BUILTIN.into(),
            read_only: true,
            parallel: false,
            handoff: own.notes.is_none().then_some(Handoff::Person),
            extra_arguments: Vec::new(),
        };
        Self { spec, own, settings }
    }

    /// The tool's only argument; `None` if it is left out where that is allowed.
    fn text<'a>(&self, arguments: &'a Map<String, Value>) -> Result<Option<&'a str>, String> {
        let Own {
            name,
            argument,
            of_flocks,
            ..
        } = self.own;
        let is_known = |key: &str| key == *argument || (*of_flocks && key == FLOCK);
        if let Some(unknown) = arguments.keys().find(|key| !is_known(key)) {
            return Err(format!(
                "{name} has no argument `{unknown}`; it takes `{argument}`"
            ));
        }
        if !matches!(arguments.get(FLOCK), None | Some(Value::Null | Value::String(_))) {
            return Err(format!("`{FLOCK}` of {name} must be a text"));
        }
        match (arguments.get(*argument), self.own.notes) {
            (Some(Value::String(text)), Some(_)) if text.len() > LONGEST_NOTES => Err(format!(
                "`{argument}` has {} bytes, and notes have at most {LONGEST_NOTES}: keep what still matters",
                text.len()
            )),
            (Some(Value::String(text)), _) => Ok(Some(text)),
            (None | Some(Value::Null), None) => Ok(None),
            (None, Some(_)) => Err(format!("{name} needs `{argument}`, a text")),
            (Some(_), _) => Err(format!("`{argument}` of {name} must be a text")),
        }
    }

    async fn perform(&self, permit: &Permit) -> Result<&'static str, String> {
        let text = self.text(permit.arguments())?.unwrap_or_default();
        if let Some(flock) = permit.arguments().get(FLOCK).and_then(Value::as_str) {
            return self.write_goals(flock, text, permit).await;
        }
        let written = match (self.own.notes, &self.settings.reflection) {
            (None, _) => return Ok("It is the user's turn."),
            (Some(Notes::Of(file)), _) => {
                ContextFiles::new(&self.settings.contexts, &permit.scope().context_name).write(file, text)
            }
            (Some(Notes::Reflection), Some(file)) => write_whole(file, text),
            (Some(Notes::Reflection), None) => return Err("reflection is switched off".into()),
        };
        written.map_err(|error| format!("the notes could not be written: {error}"))?;
        Ok("Noted.")
    }
}

impl OwnTool {
    /// Writes the goals of a flock. They are a file of the virtual file system, so its rules and guards are asked.
    async fn write_goals(&self, flock: &str, text: &str, permit: &Permit) -> Result<&'static str, String> {
        let (hooks, caller) = (permit.hooks(), &permit.scope().context_name);
        let vfs = Vfs::new(&self.settings.vfs);
        let place = Flocks::new(vfs.clone()).goals_of(flock, caller)?;
        let path = place.address().to_string();
        let judged = permit.may_write(place.address(), text).await;
        judged.map_err(|reason| format!("refused: {reason}"))?;
        vfs.prepare()?;
        let written = place.write(text.as_bytes());
        written.map_err(|error| format!("{path} could not be written: {error}"))?;
        let payload = || PostVfsWritePayload {
            tool_call_id: permit.tool_call_id().into(),
            tool_name: self.own.name.into(),
            called_as: self.spec.face.name.clone(),
            path: path.clone(),
            caller: caller.clone(),
            removed: false,
        };
        hooks.tell::<PostVfsWrite>(payload).await;
        Ok("Noted for all of the flock.")
    }
}

impl Tool for OwnTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        self.text(&arguments)?;
        Ok(arguments)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(extras: &'static [&'static str], reflection: Option<&str>) -> Vec<Arc<dyn Tool>> {
        let profile = Profile {
            extras: extras.to_vec(),
            ..Profile::own()
        };
        let settings = NotesSettings {
            contexts: "contexts".into(),
            reflection: reflection.map(Into::into),
            vfs: "vfs".into(),
        };
        own_tools(&profile, &settings)
    }

    fn names(tools: &[Arc<dyn Tool>]) -> Vec<&str> {
        tools.iter().map(|tool| tool.spec().own_name.as_str()).collect()
    }

    #[test]
    fn a_profile_has_the_notes_that_it_names_and_every_one_can_end_the_turn() {
        assert_eq!(names(&tools(&[], Some("r.md"))), ["call_user"]);
        let all = &["update_todos", "update_goals", "update_reflection"];
        assert_eq!(
            names(&tools(all, None)),
            ["update_todos", "update_goals", "call_user"],
            "no reflection where it is switched off"
        );
        assert_eq!(
            names(&tools(all, Some("r.md"))),
            own_tool_names().collect::<Vec<_>>()
        );
    }

    #[test]
    fn arguments_that_make_no_sense_are_named() {
        let tools = tools(&["update_todos"], None);
        let long = "x".repeat(LONGEST_NOTES + 1);
        let table = [
            (0, json!({}), "update_todos needs `content`"),
            (0, json!({"content": 3}), "must be a text"),
            (0, json!({"content": "x", "flock": "y"}), "no argument `flock`"),
            (0, json!({"content": long}), "at most 65536"),
            (1, json!({"message": ["x"]}), "must be a text"),
        ];
        for (tool, arguments, words) in table {
            let error = tools[tool]
                .normalise(arguments.as_object().unwrap().clone())
                .unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        for arguments in [json!({}), json!({"message": null}), json!({"message": "done"})] {
            tools[1]
                .normalise(arguments.as_object().unwrap().clone())
                .unwrap();
        }
    }
}
