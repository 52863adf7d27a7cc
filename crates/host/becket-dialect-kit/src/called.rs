//! A tool call as an event tells it, and the same call in the words of a foreign system.

use becket_events::{Face, OperationKind, Profile};
use serde_json::{Map, Value};

/// A tool call.
#[derive(Clone, Copy)]
pub struct Called<'a> {
    /// The words in which it is shown.
    pub profile: &'static Profile,
    /// Identifies the call.
    pub id: &'a str,
    /// The tool, in becket's own words.
    pub own_name: &'a str,
    /// The tool's name as the model called it.
    pub called_as: &'a str,
    /// What it does, where it is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// Its arguments, in becket's own words.
    pub arguments: &'a Map<String, Value>,
}

impl Called<'_> {
    /// The tool's name there. One without an operation keeps its own.
    pub fn name(&self) -> &str {
        self.face().map_or(self.own_name, |face| face.name)
    }

    /// Its arguments there.
    pub fn foreign_arguments(&self) -> Map<String, Value> {
        match self.face() {
            Some(face) => (face.to_foreign)(self.arguments),
            None => self.arguments.clone(),
        }
    }

    /// The arguments in becket's words, from the whole of them as a hook has written them in its own.
    pub fn read(&self, written: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let Some(face) = self.face() else {
            return Ok(written);
        };
        // What only the tool's own schema declares means the same to everybody.
        let is_extra = |name: &String| self.arguments.contains_key(name) && !face.knows(name);
        let (extra, written): (Map<_, _>, Map<_, _>) =
            written.into_iter().partition(|(name, _)| is_extra(name));
        let read = face.read(written)?;
        Ok(read.arguments().into_iter().chain(extra).collect())
    }

    /// The tool as which the call is shown: the one that the model called, where it is one of these; otherwise the
    /// one that says the call best.
    pub fn face(&self) -> Option<&'static Face> {
        let operation = self.operation?;
        self.profile
            .face_named(self.called_as)
            .filter(|face| face.operation == operation)
            .or_else(|| self.profile.face_for(operation, self.arguments))
    }
}

/// The tool call that an event is about: its payloads name the parts of a call alike.
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
