//! Asks a model on behalf of a hook.

use std::time::Duration;

use becket_hook_files::ask_model;
use becket_tools::Models;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::hook::Judge;

/// Asks the models that hooks name.
pub struct ModelJudge {
    /// Finds models by their names.
    pub models: Models,
}

impl Judge for ModelJudge {
    fn ask<'a>(
        &'a self,
        model: &'a str,
        system_prompt: &'a str,
        prompt: &'a str,
        schema: Option<Value>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(ask_model(
            &self.models,
            model,
            (system_prompt, prompt),
            schema,
            timeout,
        ))
    }
}
