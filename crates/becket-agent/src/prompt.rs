//! Puts the system prompt together, with the hooks before and after.

use becket_events::{
    FlockGoals, PostSystemPrompt, PostSystemPromptPayload, PreSystemPrompt, PreSystemPromptPayload,
};

use crate::context_files::{ContextFile, ContextFiles, read_notes};
use crate::flocks::FlockTexts;
use crate::fuel::Fuel;
use crate::hooks::Hooks;
use crate::settings::AgentSettings;

/// The system prompt of a run.
pub(crate) async fn system_prompt(
    hooks: &Hooks,
    settings: &AgentSettings,
    summary: Option<&str>,
    flocks: FlockTexts,
    fuel: Fuel,
) -> String {
    let files = ContextFiles::new(&settings.contexts, &hooks.scope().context_name);
    let (todos, goals) = (files.read(ContextFile::Todos), files.read(ContextFile::Goals));
    let before = hooks
        .ask::<PreSystemPrompt>(|| PreSystemPromptPayload {
            summary: summary.map(Into::into),
            flock_goals: flocks.goals.clone(),
            todos: todos.clone(),
            goals: goals.clone(),
        })
        .await;
    let mut blocks: Vec<String> = before.inject.0;
    let own = files.read(ContextFile::SystemPrompt);
    blocks.push(own.unwrap_or_else(|| settings.instructions.clone()));
    blocks.push(format!("The working directory is {}.", settings.cwd.display()));
    for (origin, text) in &settings.prompt_files {
        blocks.push(format!("Instructions from {origin}:\n\n{text}"));
    }
    let reflection = settings.reflection.as_deref().and_then(read_notes);
    let mut notes = vec![("Summary of the conversation so far".to_owned(), summary)];
    for (flock, prompt) in &flocks.prompts {
        notes.push((format!("Instructions of the flock {flock}"), Some(prompt)));
    }
    for FlockGoals { flock, goals } in &flocks.goals {
        notes.push((format!("The goals of the flock {flock}"), Some(goals)));
    }
    let own = [
        ("The goals of this context", goals.as_deref()),
        ("What is to be done in this context", todos.as_deref()),
        ("What you have noted about yourself", reflection.as_deref()),
    ];
    notes.extend(own.map(|(title, text)| (title.to_owned(), text)));
    for (title, text) in notes {
        blocks.extend(text.map(|text| format!("{title}:\n\n{}", text.trim_end())));
    }
    blocks.extend(fuel.notice());
    let assembled = blocks.join("\n\n");
    let after = hooks
        .ask::<PostSystemPrompt>(|| PostSystemPromptPayload {
            system_prompt: assembled.clone(),
            summary: summary.map(Into::into),
            flock_goals: flocks.goals,
            todos,
            goals,
        })
        .await;
    let mut finished = after.system_prompt.get().unwrap_or(assembled);
    for inject in after.inject {
        finished.push_str("\n\n");
        finished.push_str(&inject);
    }
    finished
}
