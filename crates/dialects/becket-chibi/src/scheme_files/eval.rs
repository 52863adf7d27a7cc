//! The tool that evaluates Scheme: one sandboxed machine for each context, whose definitions last as long as the
//! program runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use becket_agent::gate::Permit;
use becket_agent::tool::{BUILTIN, Tool, ToolOutput, ToolRun, ToolSpec};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::calls::Callers;
use super::file::SchemeFile;
use super::tool::{calls_of, spec};
use super::world::World;
use crate::scheme;

const DESCRIPTION: &str = "Evaluate R7RS Scheme and see the value of the last form. Definitions stay until the end of \
the run. There are no files and no network, but (call-tool \"name\" '((\"argument\" . \"value\"))) calls another tool \
and returns its output.";

/// Evaluates Scheme.
pub struct EvalTool {
    spec: ToolSpec,
    world: World,
    callers: Arc<Callers>,
    machines: Mutex<HashMap<String, Arc<SchemeFile>>>,
}

impl EvalTool {
    /// The tool with these rights, which must be sandboxed.
    pub fn new(world: World, callers: &Arc<Callers>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"code": {"type": "string", "description": "One form or several."}},
            "required": ["code"],
        });
        let mut spec = spec(scheme::EVAL_TOOL.into(), DESCRIPTION.into(), parameters, BUILTIN);
        // The tool itself changes nothing; each call that it makes passes the gate.
        spec.read_only = true;
        Self {
            spec,
            world,
            callers: Arc::clone(callers),
            machines: Mutex::default(),
        }
    }

    fn machine(&self, context: &str) -> Result<Arc<SchemeFile>, String> {
        let mut machines = self
            .machines
            .lock()
            .expect("no panic happens while machines are held");
        if let Some(machine) = machines.get(context) {
            return Ok(Arc::clone(machine));
        }
        let machine = SchemeFile::empty(scheme::EVAL_TOOL, &self.world).map_err(|trouble| trouble.words)?;
        machines.insert(context.to_owned(), Arc::clone(&machine));
        Ok(machine)
    }

    async fn perform(&self, permit: &Permit, run: ToolRun) -> Result<ToolOutput, String> {
        let context = run
            .parent
            .as_ref()
            .map_or("", |parent| parent.context_name())
            .to_owned();
        let code = permit
            .arguments()
            .get("code")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let machine = self.machine(&context)?;
        let calls = calls_of(run, &self.callers, permit.tool_call_id());
        let (result, stdout, stderr) = machine.evaluate(code, scheme::EVAL_TOOL, &context, &*calls).await;
        Ok(match result {
            Ok(value) => {
                let value = value.as_deref().unwrap_or("(nothing)");
                ToolOutput::text(scheme::tool_result(value, &stdout, &stderr))
            }
            Err(trouble) => ToolOutput::error(scheme::tool_result(
                &format!("error: {trouble}"),
                &stdout,
                &stderr,
            )),
        })
    }
}

impl Tool for EvalTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        match arguments.get("code") {
            Some(Value::String(_)) => Ok(arguments),
            _ => Err(format!(
                "{} needs the argument `code`, a text",
                self.spec.face.name
            )),
        }
    }

    fn makes_calls(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.perform(&permit, run).await.unwrap_or_else(ToolOutput::error) })
    }
}
