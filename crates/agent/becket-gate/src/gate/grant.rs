//! What the user has said yes to until the session ends.

use std::fmt;
use std::net::SocketAddr;

use serde_json::{Map, Value};

use super::call::FinalCall;
use crate::called_tool::{BUILTIN, ToolSpec};
use crate::question::Again;

/// A call that the user has said yes to until the session ends. A tool is known by its source and its name there, since
/// one that replaces another is not that other one.
#[derive(Debug, PartialEq)]
pub(super) struct Grant {
    source: String,
    called_as: String,
    /// What the call touches: the file, the directory in which it runs, the address.
    target: Option<String>,
    /// The arguments, if the yes covers only calls with the same ones.
    arguments: Option<Map<String, Value>>,
    /// The network addresses behind a place that is not on the open internet: a name may lead elsewhere later.
    addresses: Vec<SocketAddr>,
}

impl fmt::Display for Grant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            source,
            called_as,
            target,
            arguments,
            ..
        } = self;
        write!(formatter, "{called_as}")?;
        if source != BUILTIN {
            write!(formatter, " from {source}")?;
        }
        if let Some(target) = target {
            write!(formatter, " {target}")?;
        }
        match arguments {
            Some(arguments) => write!(formatter, " {}", Value::Object(arguments.clone())),
            None => Ok(()),
        }
    }
}

impl Grant {
    pub(super) fn of(spec: &ToolSpec, call: &FinalCall) -> Self {
        let sensitive = call.web().filter(|web| web.class().is_some());
        Self {
            source: spec.source.clone(),
            called_as: spec.face.name.clone(),
            target: call.touched(),
            arguments: (call.again() == Again::Call).then(|| call.arguments.clone()),
            addresses: sensitive.map_or_else(Vec::new, |web| web.addresses().to_vec()),
        }
    }
}
