//! A foreign tool in place of one of becket's own operations.
//!
//! The face of that operation reads the arguments, the gate judges them as that operation, and the tool gets what was
//! judged. Arguments that the operation does not know and the tool says it has, it gets as they are.
//!
//! A name or an alias of the operation's own arguments is never one of those further arguments, or something could be
//! said past the gate.

use becket_agent::gate::{Permit, Target};
use becket_agent::tool::ToolSpec;
use becket_events::{Effect, Face, OperationKind};
use serde_json::{Map, Value};

/// The face of the operation that is replaced.
#[derive(Debug, Clone)]
pub struct StandIn(Face);

impl StandIn {
    /// Replaces an operation: from now on the tool is judged as that one is.
    pub fn take_place(face: Face, spec: &mut ToolSpec) -> Self {
        let operation = face.operation;
        let declared = spec.face.parameters["properties"].as_object();
        let names = declared.into_iter().flat_map(Map::keys);
        spec.extra_arguments = names.filter(|name| !face.knows(name)).cloned().collect();
        spec.own_name = operation.name().to_owned();
        spec.operation = Some(operation);
        spec.face.operation = Some(operation);
        spec.read_only = operation.effect() == Effect::Read;
        spec.parallel &= matches!(operation.effect(), Effect::Read | Effect::Network);
        Self(face)
    }

    /// Arguments under becket's own names.
    pub fn normalise(
        &self,
        spec: &ToolSpec,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let (known, extra) = spec.apart(arguments);
        let operation = self.0.read(known)?;
        Ok(operation.arguments().into_iter().chain(extra).collect())
    }

    /// Normalised arguments under the tool's own names.
    pub fn foreign(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        (self.0.to_foreign)(arguments)
    }

    /// The arguments that were judged, under the tool's own names. A path is replaced by the file or folder that was
    /// judged, whatever the path looked like: the tool might read more into it.
    pub fn judged(&self, spec: &ToolSpec, permit: &Permit) -> Result<Map<String, Value>, String> {
        self.told(spec, permit, |_| false)
    }

    /// The same, but a path in which nothing else can be read stays as it was said.
    pub fn judged_as_said(&self, spec: &ToolSpec, permit: &Permit) -> Result<Map<String, Value>, String> {
        self.told(spec, permit, is_plain)
    }

    fn told(
        &self,
        spec: &ToolSpec,
        permit: &Permit,
        stays: fn(&str) -> bool,
    ) -> Result<Map<String, Value>, String> {
        let (mut arguments, mut told) = spec.apart(permit.arguments().clone());
        let name = match self.0.operation {
            OperationKind::Shell => "cwd",
            _ => "path",
        };
        match (permit.target(), arguments.get_mut(name)) {
            (Target::Vfs(_) | Target::VfsPair(..), _) => {
                return Err(format!(
                    "Nothing was done: {} is a program of its own, and addresses of the virtual file system are for \
                     becket's own tools.",
                    spec.face.name
                ));
            }
            (Target::Path(_), Some(Value::String(path))) if stays(path) => {}
            (Target::Path(judged), Some(path)) => {
                let judged = judged.to_str();
                *path = judged.ok_or("Nothing was done: the path is not UTF-8.")?.into();
            }
            _ => {}
        }
        // The judged arguments are added last, so that nothing can replace them.
        told.extend(self.foreign(&arguments));
        Ok(told)
    }
}

/// Whether every program finds the same file by a path: it begins with no mark or home folder, is no address, and has
/// no characters that some leave out.
fn is_plain(path: &str) -> bool {
    let is_odd = |character: char| character.is_control() || (character.is_whitespace() && character != ' ');
    let is_marked = path.starts_with(['~', '@', ' ']) || path.ends_with(' ') || path.contains(':');
    !path.is_empty() && !is_marked && !path.contains(is_odd)
}
