//! Puts the system prompt together, with the hooks before and after.

use becket_events::{
    FlockGoals, PostSystemPrompt, PostSystemPromptPayload, PreSystemPrompt, PreSystemPromptPayload,
};
use becket_gate::Hooks;
use becket_gate::flocks::FlockTexts;

use crate::agent::Agent;
use crate::context_files::{ContextFile, ContextFiles, read_notes};
use crate::fuel::Fuel;
use crate::settings::AgentSettings;

/// The parts of a system prompt.
#[derive(Default)]
pub(crate) struct Notes {
    /// How and where the agent works.
    blocks: Vec<String>,
    todos: Option<String>,
    goals: Option<String>,
    flocks: FlockTexts,
    reflection: Option<String>,
    /// Whether the model is told about fuel.
    tells_fuel: bool,
}

impl Notes {
    /// The parts for a context's own agent.
    pub(crate) fn of_context(
        agent: &Agent,
        context_name: &str,
        flocks: FlockTexts,
        skills: Option<String>,
    ) -> Self {
        let settings = &agent.settings;
        let files = ContextFiles::new(&settings.contexts, context_name);
        // With a context's own prompt, all members of a team would be the same.
        let own = match agent.team {
            Some(_) => None,
            None => files.read(ContextFile::SystemPrompt),
        };
        let instructions = own.unwrap_or_else(|| settings.instructions.clone());
        let prompt_files = settings.prompt_files.iter();
        let prompt_files =
            prompt_files.map(|(origin, text)| format!("Instructions from {origin}:\n\n{text}"));
        let user_name = settings.user_name.as_ref();
        let user_name = user_name.map(|name| format!("The user speaking to you is called: {name}"));
        Self {
            blocks: std::iter::once(instructions)
                .chain(user_name)
                .chain([place(settings)])
                .chain(prompt_files)
                .chain(skills)
                .collect(),
            todos: files.read(ContextFile::Todos),
            goals: files.read(ContextFile::Goals),
            flocks,
            reflection: settings.reflection.as_deref().and_then(read_notes),
            tells_fuel: true,
        }
    }

    /// The parts for a sub-agent, which knows what it was told and nothing of its parent's context.
    pub(crate) fn of_subagent(settings: &AgentSettings, has_tools: bool) -> Self {
        let place = has_tools.then(|| place(settings));
        Self {
            blocks: std::iter::once(settings.instructions.clone())
                .chain(place)
                .collect(),
            tells_fuel: has_tools,
            ..Self::default()
        }
    }
}

fn place(settings: &AgentSettings) -> String {
    format!("The working directory is {}.", settings.cwd.display())
}

/// The system prompt of a run.
pub(crate) async fn system_prompt(hooks: &Hooks, notes: Notes, summary: Option<&str>, fuel: &Fuel) -> String {
    let Notes {
        blocks: own,
        todos,
        goals,
        flocks,
        reflection,
        tells_fuel,
    } = notes;
    let before = hooks
        .ask::<PreSystemPrompt>(|| PreSystemPromptPayload {
            summary: summary.map(Into::into),
            flock_goals: flocks.goals.clone(),
            todos: todos.clone(),
            goals: goals.clone(),
        })
        .await;
    let mut blocks: Vec<String> = before.inject.0;
    blocks.extend(own);
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
    blocks.extend(fuel.notice().filter(|_| tells_fuel));
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
