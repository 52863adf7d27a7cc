//! A tool that stands for several calls: it makes them one after another, each a call within the call. So every path
//! and every address is resolved, judged and answered as if the model had named it alone.
//!
//! One operation with a list of paths would not do, because guards of other systems look at one path. The tool itself
//! needs no yes; each of its calls needs what such a call needs.
//!
//! Calls that must all be made or none (`AfterFailure::StopBefore`) are all judged before the first is made.

use std::sync::{Arc, Mutex, PoisonError};

use becket_agent::gate::Permit;
use becket_agent::provider::ToolFace;
use becket_agent::tool::{BUILTIN, Parent, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_events::{AfterFailure, Answered, Effect, Manner, OperationKind, Plural, SingleCall};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::edit;
use crate::judged_path::{read_whole, reason};

/// The most calls that one call may stand for.
const MOST_CALLS: usize = 100;

/// Several calls of one tool.
pub(crate) struct PluralTool {
    spec: ToolSpec,
    plural: Plural,
    /// The tools that make the calls.
    each: Vec<(OperationKind, Arc<dyn Tool>)>,
    manner: Manner,
}

impl PluralTool {
    pub(crate) fn new(plural: Plural, each: Vec<(OperationKind, Arc<dyn Tool>)>, manner: Manner) -> Self {
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
        Self {
            spec,
            plural,
            each,
            manner,
        }
    }

    /// Whether arguments, as a model wrote them, stand for several calls, or for one of another operation.
    pub(crate) fn is_meant_by(&self, arguments: &str) -> bool {
        let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else {
            return false;
        };
        let calls = (self.plural.apart)(&arguments).unwrap_or_default();
        calls.len() > 1 || calls.iter().any(|call| call.operation != self.plural.operation)
    }

    fn calls(&self, arguments: &Map<String, Value>) -> Result<Vec<SingleCall>, String> {
        let name = self.plural.name;
        let calls = (self.plural.apart)(arguments).map_err(|words| format!("{name}: {words}"))?;
        match calls.len() {
            0 => Err(format!("{name}: nothing is named; name at least one")),
            count if count > MOST_CALLS => Err(format!("{name}: at most {MOST_CALLS} at once, not {count}")),
            _ => Ok(calls),
        }
    }

    fn tool(&self, operation: OperationKind) -> Result<Arc<dyn Tool>, String> {
        let mut each = self.each.iter();
        let tool = each
            .find(|(kind, _)| *kind == operation)
            .map(|(_, tool)| Arc::clone(tool));
        tool.ok_or_else(|| format!("there is no tool for `{}`", operation.name()))
    }

    async fn perform(&self, permit: &Permit, run: &ToolRun) -> Result<ToolOutput, String> {
        let parent = run
            .parent
            .as_ref()
            .ok_or("Nothing was done: no session makes this call.")?;
        let calls = self.calls(permit.arguments())?;
        let answered = match self.plural.after_failure {
            AfterFailure::StopBefore => self.make_all(calls, parent, permit).await?,
            _ => self.make_each(calls, parent, permit).await?,
        };
        let failed = answered.iter().filter(|answer| answer.is_error).count();
        let is_error = match self.plural.after_failure {
            AfterFailure::Stop | AfterFailure::StopBefore => failed > 0,
            AfterFailure::GoOn => failed == answered.len(),
        };
        Ok(ToolOutput {
            is_error,
            ..ToolOutput::text((self.plural.together)(permit.arguments(), &answered))
        })
    }

    /// Makes the calls one after another.
    async fn make_each(
        &self,
        calls: Vec<SingleCall>,
        parent: &Parent,
        permit: &Permit,
    ) -> Result<Vec<Answered>, String> {
        let mut answered: Vec<Answered> = Vec::new();
        for SingleCall {
            operation, arguments, ..
        } in calls
        {
            let tool = self.tool(operation)?;
            let call = parent.call(tool, &arguments, permit.tool_call_id()).await;
            if call.cancelled {
                return Err("cancelled".to_owned());
            }
            answered.push(Answered {
                operation,
                arguments,
                output: call.output,
                is_error: call.is_error,
            });
            if call.is_error && self.plural.after_failure == AfterFailure::Stop {
                break;
            }
        }
        Ok(answered)
    }

    /// Makes the calls once all of them are judged.
    async fn make_all(
        &self,
        mut calls: Vec<SingleCall>,
        parent: &Parent,
        permit: &Permit,
    ) -> Result<Vec<Answered>, String> {
        for call in &mut calls {
            if let Some((path, edits)) = call.content_of.take() {
                let bytes = self.content(&path, parent, permit).await?;
                let content = edit::edited(bytes, edits, self.manner);
                let content =
                    content.map_err(|why| format!("Nothing was done. Cannot edit {path}: {why}"))?;
                call.arguments.insert("content".into(), content.into());
            }
        }
        let made: Result<Vec<_>, String> = calls
            .iter()
            .map(|call| Ok((self.tool(call.operation)?, call.arguments.clone())))
            .collect();
        let ended = parent.call_all(&made?, permit.tool_call_id()).await;
        if ended.iter().any(|call| call.cancelled) {
            return Err("cancelled".to_owned());
        }
        let answered = calls.into_iter().zip(ended).map(|(call, ended)| Answered {
            operation: call.operation,
            arguments: call.arguments,
            output: ended.output,
            is_error: ended.is_error,
        });
        Ok(answered.collect())
    }

    /// The content of a file. Reading it is a call like any other.
    async fn content(&self, path: &str, parent: &Parent, permit: &Permit) -> Result<Vec<u8>, String> {
        let read = Arc::new(WholeFile {
            spec: self.tool(OperationKind::Read)?.spec().clone(),
            content: Mutex::default(),
        });
        let arguments = Map::from_iter([("path".to_owned(), json!(path))]);
        let tool = Arc::clone(&read) as Arc<dyn Tool>;
        let call = parent.call(tool, &arguments, permit.tool_call_id()).await;
        if call.cancelled {
            return Err("cancelled".to_owned());
        }
        let content = read.content.lock().unwrap_or_else(PoisonError::into_inner).take();
        content.ok_or_else(|| format!("Nothing was done. {path}: {}", call.output))
    }
}

/// Reads a whole file for a call that writes it elsewhere.
struct WholeFile {
    spec: ToolSpec,
    content: Mutex<Option<Vec<u8>>>,
}

impl Tool for WholeFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(arguments)
    }

    fn run<'a>(&'a self, permit: Permit, _: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(path) = permit.target().file() else {
                return ToolOutput::error("it is no file");
            };
            match read_whole(path, edit::MOST_MOVED_BYTES) {
                Ok(bytes) => {
                    let output = ToolOutput::text(format!("Read {} bytes.", bytes.len()));
                    *self.content.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
                    output
                }
                Err(error) => ToolOutput::error(format!("cannot be read: {}.", reason(&error))),
            }
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
