//! What tools of extensions want the model to know beyond their descriptions: lines and advice in the system prompt.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Weak};

use becket_events::{Append, PostSystemPrompt, PostSystemPromptReply};
use becket_hooks::Engine;
use becket_js::HostError;

use super::board::{Board, Guest};
use super::host::active_tools;
use crate::Skill;
use crate::host_call::PromptOptions;

/// Adds them to every system prompt of the person's own session, as far as the tools are offered.
pub fn register(engine: &Engine, board: &Arc<Board>) {
    let board: Weak<Board> = Arc::downgrade(board);
    engine.on::<PostSystemPrompt>("tools of extensions", move |occasion| {
        let is_own = occasion.scope.parent_session_id.is_none();
        let text = board
            .upgrade()
            .filter(|_| is_own)
            .and_then(|board| board.advice());
        Ok(PostSystemPromptReply {
            inject: Append(text.into_iter().collect()),
            ..PostSystemPromptReply::default()
        })
    });
}

impl Board {
    /// What active tools want to be said about them.
    fn advice(&self) -> Option<String> {
        let tools = self.desk.tools().unwrap_or_default();
        let is_active = |extension: &str, name: &str| {
            let mut active = tools.iter().filter(|tool| tool.is_active);
            active.any(|tool| {
                tool.spec.source == extension
                    && (tool.spec.face.name == name || tool.spec.operation.is_some())
            })
        };
        let (mut lines, mut advice) = (String::new(), String::new());
        self.each(|guest| {
            let owner = &guest.candidate.name;
            for tool in guest.tools.iter().filter(|tool| is_active(owner, &tool.name)) {
                if let Some(snippet) = &tool.prompt_snippet {
                    let _ = writeln!(lines, "- {}: {}", tool.name, snippet.trim());
                }
                for guideline in &tool.prompt_guidelines {
                    let _ = writeln!(advice, "- {}", guideline.trim());
                }
            }
        });
        let mut text = String::new();
        if !lines.is_empty() {
            let _ = write!(text, "Further tools:\n{lines}");
        }
        if !advice.is_empty() {
            let _ = write!(
                text,
                "{}Guidelines:\n{advice}",
                if text.is_empty() { "" } else { "\n" }
            );
        }
        (!text.is_empty()).then_some(text)
    }

    /// What the system prompt is made of, as extensions see and change it.
    pub fn prompt_options(&self) -> Result<PromptOptions, HostError> {
        let mut options = PromptOptions {
            cwd: self.facts.surroundings.cwd.display().to_string(),
            selected_tools: active_tools(self)?,
            hidden_tools: Vec::new(),
            tool_snippets: BTreeMap::new(),
            tool_guidelines: BTreeMap::new(),
            prompt_guidelines: Vec::new(),
            append_system_prompt: String::new(),
            sections: BTreeMap::new(),
            context_files: self.facts.prompt_files.clone(),
            skills: Vec::new(),
        };
        self.each(|guest| {
            for tool in &guest.tools {
                let snippet = tool.prompt_snippet.clone();
                options
                    .tool_snippets
                    .extend(snippet.map(|snippet| (tool.name.clone(), snippet)));
                if !tool.prompt_guidelines.is_empty() {
                    let guidelines = tool.prompt_guidelines.clone();
                    options.tool_guidelines.insert(tool.name.clone(), guidelines);
                }
            }
        });
        if let Some(stage) = self.stage() {
            options.skills = stage
                .shelf
                .look(|resources| resources.skills.iter().map(Skill::shown).collect());
        }
        Ok(options)
    }

    /// What a tool of an extension's wants to be said about how it is used.
    pub fn guidelines(&self, extension: &str, tool: &str) -> Vec<String> {
        let look = |guest: &mut Guest| {
            let definition = guest.tools.iter().find(|definition| definition.name == tool);
            definition.map(|definition| definition.prompt_guidelines.clone())
        };
        self.with(extension, look).flatten().unwrap_or_default()
    }
}
