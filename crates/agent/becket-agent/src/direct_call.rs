//! A tool that the person calls, without a model: through the same hooks and the same gate as any other call.

use std::sync::Arc;

use becket_events::ToolCall;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::batch::{Batch, FinishedBatch, FinishedCall};
use crate::fuel::Fuel;
use crate::message::new_id;
use crate::session::Session;
use crate::subagent::Parent;

/// How a direct call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectCall {
    /// Everything that the tool gave back, after hooks; why it did not run, if it did not.
    pub output: String,
    /// Whether it ran.
    pub ran: bool,
    /// Whether it failed, or did not run.
    pub is_error: bool,
    /// Whether the person wants everything to stop.
    pub cancelled: bool,
}

impl DirectCall {
    pub(crate) fn new(finished: Option<&FinishedCall>, cancelled: bool) -> Self {
        Self {
            output: finished.map(|call| call.output().to_owned()).unwrap_or_default(),
            ran: finished.is_some_and(FinishedCall::ran),
            is_error: finished.is_none_or(|call| call.record.is_error),
            cancelled,
        }
    }
}

impl Session {
    /// Calls a tool by the name that the model knows, or by becket's own. Nothing of it becomes part of the
    /// conversation.
    pub async fn call_tool(
        &mut self,
        name: &str,
        arguments: &Map<String, Value>,
        cancel: CancellationToken,
    ) -> DirectCall {
        self.hooks.set_cancel(cancel);
        self.seat_guests();
        self.given.guests.iter().for_each(|guests| guests.catch_up());
        self.heed().await;
        let agent = Arc::clone(&self.agent);
        let specs = || agent.tools.iter().map(|tool| tool.spec());
        let meant = specs()
            .find(|spec| spec.face.name == name)
            .or_else(|| specs().find(|spec| spec.own_name == name));
        let call = ToolCall {
            id: new_id(),
            name: meant.map_or(name, |spec| &spec.face.name).into(),
            arguments: Value::Object(arguments.clone()).to_string(),
        };
        let parent = Parent::new(self, &agent.tools, Fuel::full(agent.settings.fuel));
        let batch = Batch::of(&parent);
        let FinishedBatch { calls, cancelled } = batch.run(std::slice::from_ref(&call), None).await;
        batch.after(&calls).await;
        self.usage = self.usage.plus(parent.spent());
        DirectCall::new(calls.first(), cancelled)
    }
}
