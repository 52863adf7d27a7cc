//! A tool without an operation: its arguments are one type, and its work is one function.

use std::sync::Arc;

use becket_agent::gate::Permit;
use becket_agent::provider::ToolFace;
use becket_agent::tool::{BUILTIN, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_events::Schema;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A tool's output, or why it has failed.
type Words = Result<String, String>;

type Act<A> = Box<dyn Fn(A, &Permit) -> BoxFuture<'static, Words> + Send + Sync>;

/// A tool whose arguments are an `A`.
pub struct PlainTool<A> {
    spec: ToolSpec,
    act: Act<A>,
}

/// The description of a plain tool: it touches nothing but the agent's own data, so it needs no yes, and its calls do
/// not run beside each other.
pub fn spec(name: &str, description: &str, parameters: impl Into<Schema>) -> ToolSpec {
    ToolSpec {
        face: ToolFace {
            name: name.into(),
            description: description.into(),
            parameters: parameters.into(),
            operation: None,
        },
        own_name: name.into(),
        operation: None,
        source: BUILTIN.into(),
        read_only: true,
        parallel: false,
        handoff: None,
        extra_arguments: Vec::new(),
    }
}

impl<A: DeserializeOwned + Send + 'static> PlainTool<A> {
    /// A tool whose function returns at once.
    pub fn arc(spec: ToolSpec, act: impl Fn(A, &Permit) -> Words + Send + Sync + 'static) -> Arc<dyn Tool> {
        Self::waiting(spec, move |arguments, permit| {
            Box::pin(std::future::ready(act(arguments, permit)))
        })
    }

    /// A tool whose function is asynchronous.
    pub fn waiting(
        spec: ToolSpec,
        act: impl Fn(A, &Permit) -> BoxFuture<'static, Words> + Send + Sync + 'static,
    ) -> Arc<dyn Tool> {
        Arc::new(Self {
            spec,
            act: Box::new(act),
        })
    }

    fn read(&self, arguments: &Map<String, Value>) -> Result<A, String> {
        serde_json::from_value(Value::Object(arguments.clone()))
            .map_err(|error| format!("the arguments of {} are wrong: {error}", self.spec.face.name))
    }
}

impl<A: DeserializeOwned + Send + 'static> Tool for PlainTool<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        self.read(&arguments)?;
        Ok(arguments)
    }

    fn run<'a>(&'a self, permit: Permit, _: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let words = match self.read(permit.arguments()) {
                Ok(arguments) => (self.act)(arguments, &permit).await,
                Err(words) => Err(words),
            };
            words.map_or_else(ToolOutput::error, ToolOutput::text)
        })
    }
}
