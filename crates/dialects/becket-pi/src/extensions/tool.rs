//! An extension's tool as one of becket's tools: behind the gate like all others, and with the same life cycle.
//!
//! A tool with one of pi's names for an operation of becket is offered under the name by which the model knows that
//! operation. With both names, the model could get around the replacement.

use std::sync::Arc;
use std::time::Duration;

use becket_agent::gate::Permit;
use becket_agent::provider::ToolFace;
use becket_agent::tool::{Progress, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_events::{PartialResult, Profile};
use becket_hooks::Failure;
use becket_js::Extension;
use becket_tools::{StandIn, own_tool_names};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::calling::calls_tools;
use super::registry::ExtensionRegistry;
use crate::host_call::{ExecutionMode, ToolDefinition, ToolResult};
use crate::services::{AbortTool, ExecuteTool, PrepareArguments, Prepared};

/// How long a tool may take. Tools ask other agents and build programs; the user can cancel.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// How long a tool may take to end after a cancel.
const LAST_MOMENT: Duration = Duration::from_secs(5);

/// A tool that an extension brings.
pub struct Offer {
    /// The tool's extension.
    pub extension: Extension,
    /// The tool's definition.
    pub definition: ToolDefinition,
}

/// A tool of an extension.
pub struct ExtensionTool {
    registry: Arc<ExtensionRegistry>,
    /// The extension's name, not its handle, because it may be loaded again.
    owner: String,
    /// The extension's name for the tool.
    name: String,
    prepares_arguments: bool,
    makes_calls: bool,
    spec: ToolSpec,
    stand_in: Option<StandIn>,
    parameters: Value,
}

impl ExtensionTool {
    /// A tool from its definition; the error says why it cannot be one. A tool with the name of one of becket's own
    /// replaces it, behind the same gate.
    pub fn new(offer: Offer, registry: &Arc<ExtensionRegistry>, profile: &Profile) -> Result<Self, String> {
        let Offer {
            extension,
            definition,
        } = offer;
        let owner = extension.name().to_owned();
        let refused = |why: &str| {
            format!(
                "the tool {:?} of the extension {owner} is not offered: {why}",
                definition.name
            )
        };
        if !is_speakable(&definition.name) {
            return Err(refused("a name has up to 64 letters, digits, `_` and `-`"));
        }
        // These belong to the agent itself and have no gate that a replacement would pass.
        if own_tool_names().any(|own| own == definition.name) {
            return Err(refused(
                "becket has a tool of that name, which nothing can replace",
            ));
        }
        let mut spec = spec_of(&definition, &owner);
        let pi_face = crate::profile().face_named(&definition.name).cloned();
        let face = pi_face
            .or_else(|| profile.face_named(&definition.name).cloned())
            .or_else(|| Profile::own().face_named(&definition.name).cloned());
        let stand_in = face.map(|face| {
            // The model must not have both tools, or it could get around this one.
            if let Some(known) = profile.face_for(face.operation, &Map::new()) {
                known.name.clone_into(&mut spec.face.name);
            }
            StandIn::take_place(face, &mut spec)
        });
        Ok(Self {
            makes_calls: calls_tools(registry, &owner),
            registry: Arc::clone(registry),
            owner,
            name: definition.name,
            prepares_arguments: definition.prepares_arguments,
            spec,
            stand_in,
            parameters: definition.parameters,
        })
    }

    /// Arguments in the shape that the extension expects now.
    fn prepared(&self, arguments: Map<String, Value>) -> Result<Value, String> {
        let arguments = Value::Object(arguments);
        if !self.prepares_arguments {
            return Ok(arguments);
        }
        let service = PrepareArguments {
            tool: self.name.clone(),
            arguments,
        };
        let (extension, timeout) = (self.extension()?, self.registry.facts.timeout);
        match self.registry.ask(&extension, &service, timeout).now_or_never() {
            Some(Ok(Prepared::Arguments(arguments))) => Ok(arguments),
            Some(Ok(Prepared::Failed(why))) => Err(why),
            Some(Err(failure)) => Err(failure.to_string()),
            None => Err(format!("{} does not say how it reads its arguments", self.name)),
        }
    }

    /// The extension as it is loaded now.
    fn extension(&self) -> Result<Extension, String> {
        let extension = self.registry.extensions.get(&self.owner);
        extension.ok_or_else(|| format!("the extension {} is not loaded any more", self.owner))
    }

    fn as_object(&self, arguments: Value) -> Result<Map<String, Value>, String> {
        match arguments {
            Value::Object(arguments) => Ok(arguments),
            other => Err(format!(
                "the arguments of {} are an object, not {other}",
                self.name
            )),
        }
    }

    /// The arguments in the one of two forms that the tool's schema has.
    fn declared(&self, mut told: Map<String, Value>) -> Map<String, Value> {
        let properties = self.spec.face.parameters["properties"].as_object();
        if let Some(properties) = properties.filter(|known| told.keys().any(|name| known.contains_key(name)))
        {
            told.retain(|name, _| properties.contains_key(name));
        }
        told
    }

    async fn perform(&self, permit: Permit, run: ToolRun) -> ToolOutput {
        let judged = match &self.stand_in {
            Some(stand_in) => stand_in
                .judged_as_said(&self.spec, &permit)
                .map(|told| self.declared(told)),
            None => Ok(permit.arguments().clone()),
        };
        let arguments = match judged {
            Ok(arguments) => arguments,
            Err(reason) => return ToolOutput::error(reason),
        };
        let extension = match self.extension() {
            Ok(extension) => extension,
            Err(why) => return ToolOutput::error(why),
        };
        let call_id = permit.tool_call_id().to_owned();
        // A call that was not expected would wait for this one to end.
        let caller = run.parent.clone().filter(|_| self.makes_calls);
        self.registry
            .calls
            .begin_tool(&call_id, (run.progress.clone(), caller));
        let service = ExecuteTool {
            tool: self.name.clone(),
            call_id: call_id.clone(),
            arguments,
        };
        let mut call = std::pin::pin!(self.registry.ask(&extension, &service, LONGEST));
        let result = tokio::select! {
            biased;
            result = &mut call => Some(result),
            () = run.cancel.cancelled() => {
                let abort = AbortTool { call_id: call_id.clone() };
                let _ = self.registry.ask(&extension, &abort, LAST_MOMENT).await;
                tokio::time::timeout(LAST_MOMENT, call).await.ok()
            }
        };
        self.registry.calls.end_tool(&call_id);
        match result {
            Some(result) => output(result),
            None => ToolOutput::error("[ended: the call was cancelled]"),
        }
    }
}

impl Tool for ExtensionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn makes_calls(&self) -> bool {
        self.makes_calls
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let prepared = self.prepared(arguments)?;
        let valid = crate::arguments::validate(&self.name, &self.parameters, &prepared)?;
        let valid = self.as_object(valid)?;
        match &self.stand_in {
            Some(stand_in) => stand_in.normalise(&self.spec, without_mark(valid)),
            None => Ok(valid),
        }
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(self.perform(permit, run))
    }
}

/// Arguments without the `@` that models write before a path: pi's tools leave it out, so it must not be judged.
fn without_mark(mut arguments: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::String(path)) = arguments.get_mut("path")
        && path.len() > 1
        && path.starts_with('@')
    {
        path.remove(0);
    }
    arguments
}

fn spec_of(definition: &ToolDefinition, owner: &str) -> ToolSpec {
    let parameters = match &definition.parameters {
        // Providers require a schema, even for a tool without arguments.
        Value::Object(schema) if !schema.is_empty() => definition.parameters.clone(),
        _ => json!({"type": "object", "properties": {}}),
    };
    ToolSpec {
        own_name: definition.name.clone(),
        face: ToolFace {
            name: definition.name.clone(),
            description: definition.description.clone(),
            parameters: parameters.into(),
            operation: None,
        },
        operation: None,
        source: owner.to_owned(),
        read_only: false,
        parallel: definition.execution_mode != Some(ExecutionMode::Sequential),
        handoff: None,
        extra_arguments: Vec::new(),
    }
}

/// The partial result of a tool, for observers.
pub fn progress(result: &ToolResult) -> Option<Progress> {
    let content = crate::messages::written_parts(&Value::Array(result.content.clone()), "content").ok()?;
    Some(Progress::Partial(PartialResult {
        content,
        details: result.details.clone(),
    }))
}

fn output(result: Result<ToolResult, Failure>) -> ToolOutput {
    let result = match result {
        Ok(result) => result,
        Err(failure) => return ToolOutput::error(failure.detail),
    };
    match crate::messages::written_parts(&Value::Array(result.content), "content") {
        Ok(content) => ToolOutput {
            content,
            is_error: result.is_error,
            details: result.details,
            ends_run: result.terminate,
        },
        Err(failure) => ToolOutput::error(format!("the tool's result cannot be read: {failure}")),
    }
}

/// Whether providers accept a tool with that name.
fn is_speakable(name: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}
