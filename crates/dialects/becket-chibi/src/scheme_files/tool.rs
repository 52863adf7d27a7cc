//! A file's tool as one of becket's tools: behind the gate like all others.

use std::sync::Arc;

use becket_agent::gate::Permit;
use becket_agent::provider::ToolFace;
use becket_agent::tool::{NetworkUse, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_events::Schema;
use becket_scheme::Root;
use becket_tools::named_address;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::calls::{Callers, Calls, NoCalls, SessionCalls};
use super::file::{Described, SchemeFile, shown};
use super::marks::Trust;
use crate::scheme;

/// A tool that a file defines.
pub struct SchemeTool {
    spec: ToolSpec,
    file: Arc<SchemeFile>,
    execute: Root,
    summary: Vec<String>,
    uses_network: bool,
    callers: Arc<Callers>,
    trust: Trust,
}

impl SchemeTool {
    pub fn new(file: &Arc<SchemeFile>, tool: Described, trust: Trust, callers: &Arc<Callers>) -> Self {
        let Described {
            name,
            description,
            parameters,
            summary,
            uses_network,
            execute,
        } = tool;
        Self {
            spec: spec(name, description, parameters, file.name()),
            file: Arc::clone(file),
            execute,
            summary,
            uses_network,
            callers: Arc::clone(callers),
            trust,
        }
    }

    async fn perform(&self, permit: &Permit, run: ToolRun) -> ToolOutput {
        let context = run
            .parent
            .as_ref()
            .map_or("", |parent| parent.context_name())
            .to_owned();
        let calls = calls_of(run, &self.callers, permit.tool_call_id());
        let arguments = Value::Object(permit.arguments().clone());
        let called = self
            .file
            .call(&self.execute, &arguments, &context, &*calls, &shown)
            .await;
        let (stdout, stderr) = self.file.take_output();
        match called {
            Ok(result) => ToolOutput::text(scheme::tool_result(&result, &stdout, &stderr)),
            Err(trouble) => ToolOutput::error(scheme::tool_result(
                &format!("error: {trouble}"),
                &stdout,
                &stderr,
            )),
        }
    }
}

/// The caller of tools for a running tool.
pub fn calls_of(run: ToolRun, callers: &Arc<Callers>, within: &str) -> Box<dyn Calls> {
    match run.parent {
        Some(parent) => Box::new(SessionCalls::new(callers, parent, within)),
        None => Box::new(NoCalls),
    }
}

/// The description of a tool of this lane.
pub fn spec(name: String, description: String, parameters: impl Into<Schema>, source: &str) -> ToolSpec {
    ToolSpec {
        own_name: name.clone(),
        face: ToolFace {
            name,
            description,
            parameters: parameters.into(),
            operation: None,
        },
        operation: None,
        source: source.to_owned(),
        read_only: false,
        parallel: false,
        handoff: None,
        extra_arguments: Vec::new(),
    }
}

impl Tool for SchemeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Takes what the model gave. chibi lets a tool run without arguments that it calls required, and its files count
    /// on that.
    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(arguments)
    }

    fn summary(&self, arguments: &Map<String, Value>) -> Option<String> {
        let values = self.summary.iter().filter_map(|name| arguments.get(name));
        let words = values.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    fn network(&self, arguments: &Map<String, Value>) -> NetworkUse {
        match self.uses_network {
            true => named_address(arguments),
            false => NetworkUse::None,
        }
    }

    fn makes_calls(&self) -> bool {
        true
    }

    fn is_installed(&self) -> bool {
        self.trust == Trust::Persons
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.perform(&permit, run).await })
    }
}
