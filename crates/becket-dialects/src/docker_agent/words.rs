//! Tool calls in docker-agent's words.

use std::sync::LazyLock;

use becket_events::{Face, OperationKind, Profile};
use becket_hooks::Failure;
use serde_json::{Map, Value};

use super::output::wrong;
use super::tools::profile;

static PROFILE: LazyLock<Profile> = LazyLock::new(profile);

/// A tool call as an event tells it.
#[derive(Clone, Copy)]
pub(super) struct Called<'a> {
    pub(super) id: &'a str,
    pub(super) own_name: &'a str,
    pub(super) called_as: &'a str,
    pub(super) operation: Option<OperationKind>,
    pub(super) arguments: &'a Map<String, Value>,
}

impl Called<'_> {
    /// The same call under the other name that it has here: that of the first tool for what it does, so that a guard of
    /// `shell` hears of commands in the background. For what has no such tool it is the name that the model used.
    pub(super) fn otherwise(self) -> Self {
        let stands_for = |operation| PROFILE.faces.iter().find(move |face| face.operation == operation);
        match self.operation.and_then(stands_for) {
            Some(face) => Self {
                called_as: face.name,
                ..self
            },
            None => Self {
                own_name: self.called_as,
                ..self
            },
        }
    }

    /// The tool's name here. One without an operation keeps its own.
    pub(super) fn name(&self) -> &str {
        self.face().map_or(self.own_name, |face| face.name)
    }

    /// Its arguments here.
    pub(super) fn foreign_arguments(&self) -> Map<String, Value> {
        match self.face() {
            Some(face) => (face.to_foreign)(self.arguments),
            None => self.arguments.clone(),
        }
    }

    /// What kind of tool it is, where that is known.
    pub(super) fn category(&self) -> &'static str {
        match self.operation {
            Some(OperationKind::Shell) => "shell",
            Some(OperationKind::Fetch) => "fetch",
            Some(kind) if !OperationKind::VFS.contains(&kind) => "filesystem",
            _ => "",
        }
    }

    /// The whole arguments in becket's words, after a hook has replaced some of them in its own.
    pub(super) fn patched(&self, patch: &Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        let Some(face) = self.face() else {
            let mut arguments = self.arguments.clone();
            arguments.extend(patch.clone());
            return Ok(arguments);
        };
        // What only the tool's own schema declares means the same to everybody.
        let (extra, own): (Map<_, _>, Map<_, _>) = self
            .arguments
            .clone()
            .into_iter()
            .partition(|(name, _)| !face.knows(name));
        let mut written = (face.to_foreign)(&own);
        let mut extra = extra;
        for (name, value) in patch {
            let target = if extra.contains_key(name) {
                &mut extra
            } else {
                &mut written
            };
            target.insert(name.clone(), value.clone());
        }
        let read = face
            .read(written)
            .map_err(|error| wrong(format!("`updated_input`: {error}")))?;
        Ok(read.arguments().into_iter().chain(extra).collect())
    }

    /// The tool as which the call is shown: the one that the model called, where it is one of these; otherwise the
    /// one that says the call best.
    fn face(&self) -> Option<&'static Face> {
        let operation = self.operation?;
        PROFILE
            .face_named(self.called_as)
            .filter(|face| face.operation == operation)
            .or_else(|| PROFILE.face_for(operation, self.arguments))
    }
}
