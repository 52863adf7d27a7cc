//! Calls of tools that an extension's tool makes (`ctx.executeTool`): they pass the same hooks and the same gate as
//! calls of the model.

use std::sync::Arc;
use std::time::Instant;

use becket_agent::tool::Tool;
use serde_json::{Map, Value, json};

use super::registry::ExtensionRegistry;
use super::tool::ExtensionTool;
use super::tools;
use crate::words;

/// Calls a tool within a running call. What fails is an answer as well.
pub async fn call(registry: &Arc<ExtensionRegistry>, within: &str, name: &str, arguments: Value) -> Value {
    let Some(parent) = registry.calls.caller(within) else {
        return failed(
            "the call that wanted this is over, or becket did not see in its extension's files that it calls tools",
        );
    };
    let Value::Object(arguments) = arguments else {
        return failed(&format!("the arguments of {name} are an object"));
    };
    let offered = parent.tools().iter().find(|tool| is_named(tool, name)).cloned();
    let Some(tool) = offered.or_else(|| callable(registry, name)) else {
        return failed(&format!("Tool {name} not found"));
    };
    let arguments = match own_names(&tool, name, arguments) {
        Ok(arguments) => arguments,
        Err(why) => return failed(&why),
    };
    let begun = Instant::now();
    let called = parent.call(tool, &arguments, within).await;
    let duration = called.ran.then(|| begun.elapsed().as_millis() as u64);
    json!({"text": called.output, "isError": called.is_error, "durationMs": duration})
}

/// The answer of a call that does not run.
pub fn failed(why: &str) -> Value {
    json!({"text": why, "isError": true})
}

/// Whether a tool is meant by a name: the model's for it, or pi's.
fn is_named(tool: &Arc<dyn Tool>, name: &str) -> bool {
    let spec = tool.spec();
    spec.face.name == name || words::tool_name(spec.operation, &spec.own_name) == name
}

/// A tool of an extension that only other tools can call.
fn callable(registry: &Arc<ExtensionRegistry>, name: &str) -> Option<Arc<dyn Tool>> {
    let stage = registry.stage()?;
    let offer = tools::callable(registry, name)?;
    let tool = ExtensionTool::new(offer, registry, &stage.profile).ok()?;
    Some(Arc::new(tool))
}

/// Arguments in pi's words under becket's own names, if the tool is one of becket's own under another name.
fn own_names(
    tool: &Arc<dyn Tool>,
    name: &str,
    arguments: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    if tool.spec().face.name == name {
        return Ok(arguments);
    }
    match words::PROFILE.face_named(name) {
        Some(face) => face.read(arguments).map(|operation| operation.arguments()),
        None => Ok(arguments),
    }
}
