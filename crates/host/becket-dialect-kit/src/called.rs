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
