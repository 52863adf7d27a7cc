//! Tool calls under the names that a plugin knows.

use std::sync::LazyLock;

use becket_events::{Face, OperationKind, Profile, ToolOffer};
use becket_hooks::Failure;
use serde_json::{Map, Value};

use super::answer::wrong_shape;
use super::generations::{is_offered_as, profile_of, tool_type};
use super::plugin::Generation;

/// The names of tools and their arguments, as plugins of one generation know them.
#[derive(Debug)]
pub(super) struct Words {
    generation: Generation,
    profile: Profile,
}

/// A tool call under a plugin's names.
pub(super) struct ForeignCall {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
}

impl Words {
    /// The names of a generation. They are the same for all its plugins, and built once.
    pub(super) fn of(generation: Generation) -> &'static Self {
        static OLDER: LazyLock<Words> = LazyLock::new(|| Words::new(Generation::Older));
        static NEWER: LazyLock<Words> = LazyLock::new(|| Words::new(Generation::Newer));
        match generation {
            Generation::Older => &OLDER,
            Generation::Newer => &NEWER,
        }
    }

    fn new(generation: Generation) -> Self {
        Self {
            generation,
            profile: profile_of(generation),
        }
    }

    /// A call as plugins know it. A tool without an operation keeps its name and arguments.
    pub(super) fn call(
        &self,
        called_as: &str,
        own_name: &str,
        operation: Option<OperationKind>,
        arguments: &Map<String, Value>,
    ) -> ForeignCall {
        match self.face(called_as, operation, arguments) {
            Some(face) => ForeignCall {
                name: face.name.into(),
                arguments: (face.to_foreign)(arguments),
            },
            None => ForeignCall {
                name: own_name.into(),
                arguments: arguments.clone(),
            },
        }
    }

    /// The arguments that a plugin wrote, under becket's names. `current` are those that it was shown.
    pub(super) fn arguments(
        &self,
        called_as: &str,
        operation: Option<OperationKind>,
        current: &Map<String, Value>,
        written: Map<String, Value>,
    ) -> Result<Map<String, Value>, Failure> {
        match self.face(called_as, operation, current) {
            Some(face) => {
                // A plugin that replaces a builtin may have its own arguments, which have the same names for all.
                let (extra, known): (Map<_, _>, Map<_, _>) = written
                    .into_iter()
                    .partition(|(name, _)| current.contains_key(name) && !face.knows(name));
                let read = face.read(known);
                read.map(|operation| operation.arguments().into_iter().chain(extra).collect())
                    .map_err(|error| wrong_shape(format!("`arguments`: {error}")))
            }
            None => Ok(written),
        }
    }

    /// A call whose operation follows from the tool's own name.
    pub(super) fn named(
        &self,
        called_as: &str,
        own_name: &str,
        arguments: &Map<String, Value>,
    ) -> ForeignCall {
        let kind = OperationKind::ALL.iter().find(|kind| kind.name() == own_name);
        self.call(called_as, own_name, kind.copied(), arguments)
    }

    /// The name of a tool whose arguments are not known.
    pub(super) fn tool_name(&self, called_as: &str, own_name: &str) -> String {
        self.named(called_as, own_name, &Map::new()).name
    }

    /// The names under which an offered tool appears: its own if that is a foreign name already, else all names that
    /// plugins have for its operation.
    pub(super) fn names_of<'a>(&'a self, offer: &'a ToolOffer) -> Vec<&'a str> {
        let Some(operation) = offer.operation else {
            return vec![&offer.name];
        };
        let faces = || {
            self.profile
                .faces
                .iter()
                .filter(move |face| face.operation == operation)
        };
        if faces().next().is_none() || faces().any(|face| face.name == offer.name) {
            return vec![&offer.name];
        }
        let names = faces().map(|face| face.name);
        names
            .filter(|name| is_offered_as(self.generation, name))
            .collect()
    }

    /// Whether the generation has a tool with that name for one of becket's operations.
    pub(super) fn has_tool(&self, name: &str) -> bool {
        self.profile.face_named(name).is_some()
    }

    /// The kind of a tool.
    pub(super) fn type_of(&self, name: &str, source: &str) -> &'static str {
        tool_type(self.generation, name, source)
    }

    /// The tool as which a call is shown: the one that the model called, if plugins know it, since a guard looks for
    /// that name. Otherwise the one that expresses the call best.
    fn face(
        &self,
        called_as: &str,
        operation: Option<OperationKind>,
        arguments: &Map<String, Value>,
    ) -> Option<&Face> {
        let operation = operation?;
        let called = self.profile.face_named(called_as);
        called
            .filter(|face| face.operation == operation)
            .or_else(|| self.profile.face_for(operation, arguments))
    }
}
