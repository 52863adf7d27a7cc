//! A tool that stands for several calls: it makes them one after another, each a call within the call. So every path
//! and every address is resolved, judged and answered as if the model had named it alone.
//!
//! One operation with a list of paths would not do, because guards of other systems look at one path. The tool itself
//! needs no yes; each of its calls needs what such a call needs.

use std::sync::Arc;

use becket_agent::gate::Permit;
use becket_agent::provider::ToolFace;
use becket_agent::tool::{BUILTIN, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_events::{AfterFailure, Answered, Effect, Plural};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// The most calls that one call may stand for.
const MOST_CALLS: usize = 100;

/// Several calls of one tool.
pub(crate) struct PluralTool {
    spec: ToolSpec,
    plural: Plural,
    /// The tool that makes each of the calls.
    each: Arc<dyn Tool>,
}

impl PluralTool {
    pub(crate) fn new(plural: Plural, each: Arc<dyn Tool>) -> Self {
        let spec = ToolSpec {
            face: ToolFace {
                name: plural.name.into(),
                description: plural.description.into(),
                parameters: plural.parameters.clone(),
                operation: None,
            },
            own_name: plural.name.into(),
            operation: None,
            source: BUILTIN.into(),
            // By itself the tool does nothing; each of its calls needs its own yes.
            read_only: true,
            parallel: plural.operation.effect() == Effect::Read,
            handoff: None,
            extra_arguments: Vec::new(),
        };
        Self { spec, plural, each }
    }

    /// Whether arguments, as a model wrote them, stand for several calls.
    pub(crate) fn is_meant_by(&self, arguments: &str) -> bool {
        let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else {
            return false;
        };
        (self.plural.apart)(&arguments).is_ok_and(|calls| calls.len() > 1)
    }

    fn calls(&self, arguments: &Map<String, Value>) -> Result<Vec<Map<String, Value>>, String> {
        let name = self.plural.name;
        let calls = (self.plural.apart)(arguments).map_err(|words| format!("{name}: {words}"))?;
        match calls.len() {
            0 => Err(format!("{name}: nothing is named; name at least one")),
            count if count > MOST_CALLS => Err(format!("{name}: at most {MOST_CALLS} at once, not {count}")),
            _ => Ok(calls),
        }
    }

    async fn perform(&self, permit: &Permit, run: &ToolRun) -> Result<ToolOutput, String> {
        let parent = run
            .parent
            .as_ref()
            .ok_or("Nothing was done: no session makes this call.")?;
        let mut answered: Vec<Answered> = Vec::new();
        for arguments in self.calls(permit.arguments())? {
            let each = Arc::clone(&self.each);
            let call = parent.call(each, &arguments, permit.tool_call_id()).await;
            if call.cancelled {
                return Err("cancelled".to_owned());
            }
            answered.push(Answered {
                arguments,
                output: call.output,
                is_error: call.is_error,
            });
            if call.is_error && self.plural.after_failure == AfterFailure::Stop {
                break;
            }
        }
        let failed = answered.iter().filter(|answer| answer.is_error).count();
        let is_error = match self.plural.after_failure {
            AfterFailure::Stop => failed > 0,
            AfterFailure::GoOn => failed == answered.len(),
        };
        Ok(ToolOutput {
            is_error,
            ..ToolOutput::text((self.plural.together)(permit.arguments(), &answered))
        })
    }
}

impl Tool for PluralTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        self.calls(&arguments)?;
        Ok(arguments)
    }

    fn makes_calls(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let output = self.perform(&permit, &run).await;
            output.unwrap_or_else(ToolOutput::error)
        })
    }
}
