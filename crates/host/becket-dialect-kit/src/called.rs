//! A tool call as an event reports it, and the same call in the terms of a foreign system.

use becket_events::{Face, OperationKind, Profile};
use serde_json::{Map, Value};

/// A tool call.
#[derive(Clone, Copy)]
pub struct Called<'a> {
    /// The profile in which the call is shown.
    pub profile: &'static Profile,
    /// Identifies the call.
    pub id: &'a str,
    /// becket's own name for the tool.
    pub own_name: &'a str,
    /// The tool's name as the model called it.
    pub called_as: &'a str,
    /// What the tool does, if it is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// The arguments of the call, in becket's own terms.
    pub arguments: &'a Map<String, Value>,
}

impl Called<'_> {
    /// The tool's name in the profile. A tool without an operation keeps its own.
    pub fn name(&self) -> &str {
        self.face().map_or(self.own_name, |face| face.name)
    }

    /// The arguments in the profile's terms.
    pub fn foreign_arguments(&self) -> Map<String, Value> {
        match self.face() {
            Some(face) => (face.to_foreign)(self.arguments),
            None => self.arguments.clone(),
        }
    }

    /// The command that does the same, for a change of files that the profile has no tool for. Its system does that in
    /// the shell, so a guard of commands must be asked.
    pub fn as_command(&self) -> Option<String> {
        let operation = self.operation.filter(|_| self.face().is_none())?;
        let path = quoted(self.arguments.get("path").and_then(Value::as_str)?);
        change_of_files(operation, &path)
    }

    /// The name of the profile's shell.
    pub fn shell_name(&self) -> Option<&'static str> {
        let mut faces = self.profile.faces.iter();
        Some(faces.find(|face| face.operation == OperationKind::Shell)?.name)
    }

    /// The arguments in becket's terms, from all of them as a hook has written them in its own.
    pub fn read(&self, written: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let Some(face) = self.face() else {
            return Ok(written);
        };
        // Arguments that only the tool's own schema declares are the same in every profile.
        let is_extra = |name: &String| self.arguments.contains_key(name) && !face.knows(name);
        let (extra, written): (Map<_, _>, Map<_, _>) =
            written.into_iter().partition(|(name, _)| is_extra(name));
        let read = face.read(written)?;
        Ok(read.arguments().into_iter().chain(extra).collect())
    }

    /// The tool as which the call is shown: the one that the model called, if the profile has it; otherwise the one
    /// that expresses the call best.
    pub fn face(&self) -> Option<&'static Face> {
        let operation = self.operation?;
        self.profile
            .face_named(self.called_as)
            .filter(|face| face.operation == operation)
            .or_else(|| self.profile.face_for(operation, self.arguments))
    }
}

/// The command that changes files as an operation does, of a path that is written as the shell reads it.
pub fn change_of_files(operation: OperationKind, path: &str) -> Option<String> {
    Some(match operation {
        OperationKind::Mkdir => format!("mkdir -p {path}"),
        OperationKind::Rmdir => format!("rmdir {path}"),
        OperationKind::Remove => format!("rm {path}"),
        _ => return None,
    })
}

/// The plain name of an MCP server and the tool's name there. becket's own name for the tool begins with the former.
pub fn server_tool<'a>(server: &str, own_name: &'a str) -> (String, &'a str) {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
        _ => '_',
    };
    let server: String = server.chars().map(plain).collect();
    let tool = own_name.strip_prefix(&format!("{server}_")).unwrap_or(own_name);
    (server, tool)
}

/// A word as the shell reads it.
pub fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-./:=@%+,".contains(character);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Functions that return the tool call of an event: all payloads name the parts of a call alike.
#[macro_export]
macro_rules! calls {
    ($profile:expr; $($name:ident($Payload:ty),)+) => {
        $(
            pub(crate) fn $name(call: &$Payload) -> $crate::called::Called<'_> {
                $crate::called::Called {
                    profile: &$profile,
                    id: &call.tool_call_id,
                    own_name: &call.tool_name,
                    called_as: &call.called_as,
                    operation: call.operation,
                    arguments: &call.arguments,
                }
            }
        )+
    };
}

pub use calls;
