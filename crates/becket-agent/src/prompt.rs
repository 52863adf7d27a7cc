//! Puts the system prompt together, with the hooks before and after.

use becket_events::{PostSystemPrompt, PostSystemPromptPayload, PreSystemPrompt, PreSystemPromptPayload};

use crate::hooks::Hooks;
use crate::settings::AgentSettings;

/// The system prompt of a run.
pub(crate) async fn system_prompt(hooks: &Hooks, settings: &AgentSettings, summary: Option<&str>) -> String {
    let before = hooks
        .ask::<PreSystemPrompt>(|| PreSystemPromptPayload {
            summary: summary.map(Into::into),
            flock_goals: Vec::new(),
            todos: None,
            goals: None,
        })
        .await;
    let mut blocks: Vec<String> = before.inject.0;
    blocks.push(settings.instructions.clone());
    blocks.push(format!("The working directory is {}.", settings.cwd.display()));
    for (origin, text) in &settings.prompt_files {
        blocks.push(format!("Instructions from {origin}:\n\n{text}"));
    }
    if let Some(summary) = summary {
        blocks.push(format!("Summary of the conversation so far:\n\n{summary}"));
    }
    let assembled = blocks.join("\n\n");
    let after = hooks
        .ask::<PostSystemPrompt>(|| PostSystemPromptPayload {
            system_prompt: assembled.clone(),
            summary: summary.map(Into::into),
            flock_goals: Vec::new(),
            todos: None,
            goals: None,
        })
        .await;
    let mut finished = after.system_prompt.get().unwrap_or(assembled);
    for inject in after.inject {
        finished.push_str("\n\n");
        finished.push_str(&inject);
    }
    finished
}
