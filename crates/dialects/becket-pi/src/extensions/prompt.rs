//! The additions of extensions' tools to the system prompt: lines and guidelines beyond their descriptions.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Weak};

use becket_events::{Append, PostSystemPrompt, PostSystemPromptReply};
use becket_hooks::Engine;
use becket_js::HostError;

use super::extension_list::Guest;
use super::registry::ExtensionRegistry;
use super::tools::active_tools;
use crate::Skill;
use crate::host_call::PromptOptions;

/// One line about each tool of pi, as extensions read it.
const SNIPPETS: &[(&str, &str)] = &[
    ("read", "Read file contents"),
    ("bash", "Execute bash commands (ls, grep, find, etc.)"),
    (
        "edit",
        "Make precise file edits with exact text replacement, including multiple disjoint edits in one call",
    ),
    ("write", "Create or overwrite files"),
    ("grep", "Search file contents for patterns (respects .gitignore)"),
    ("find", "Find files by glob pattern (respects .gitignore)"),
    ("ls", "List directory contents"),
];

/// Adds the lines and guidelines of the offered tools to every system prompt of the user's own session.
pub fn register(engine: &Engine, registry: &Arc<ExtensionRegistry>) {
    let registry: Weak<ExtensionRegistry> = Arc::downgrade(registry);
    engine.on::<PostSystemPrompt>("tools of extensions", move |occasion| {
        let is_own = occasion.scope.parent_session_id.is_none();
        let text = registry
            .upgrade()
            .filter(|_| is_own)
            .and_then(|registry| advice(&registry));
        Ok(PostSystemPromptReply {
            inject: Append(text.into_iter().collect()),
            ..PostSystemPromptReply::default()
        })
    });
}

/// The additions of the active tools.
fn advice(registry: &ExtensionRegistry) -> Option<String> {
    let tools = registry.session.config().tools().unwrap_or_default();
    let is_active = |extension: &str, name: &str| {
        let mut active = tools.iter().filter(|tool| tool.is_active);
        active.any(|tool| {
            tool.spec.source == extension && (tool.spec.face.name == name || tool.spec.operation.is_some())
        })
    };
    let (mut lines, mut advice) = (String::new(), String::new());
    registry.extensions.each(|guest| {
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

/// The parts of the system prompt, as extensions see and change them.
pub fn options(registry: &ExtensionRegistry) -> Result<PromptOptions, HostError> {
    let mut options = PromptOptions {
        cwd: registry.facts.surroundings.cwd.display().to_string(),
        selected_tools: active_tools(registry)?,
        hidden_tools: Vec::new(),
        tool_snippets: BTreeMap::new(),
        tool_guidelines: BTreeMap::new(),
        prompt_guidelines: Vec::new(),
        append_system_prompt: String::new(),
        sections: BTreeMap::new(),
        context_files: registry.facts.prompt_files.clone(),
        skills: Vec::new(),
    };
    for (tool, snippet) in SNIPPETS {
        options.tool_snippets.insert((*tool).into(), (*snippet).into());
    }
    registry.extensions.each(|guest| {
        for tool in &guest.tools {
            // The tool may replace one that pi has.
            options.tool_snippets.remove(&tool.name);
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
    let selected = &options.selected_tools;
    options.tool_snippets.retain(|tool, _| selected.contains(tool));
    for (_, guidelines) in options
        .tool_guidelines
        .iter()
        .filter(|(tool, _)| selected.contains(tool))
    {
        options.prompt_guidelines.extend(guidelines.iter().cloned());
    }
    if let Some(stage) = registry.stage() {
        options.skills = stage
            .resources
            .look(|resources| resources.skills.iter().map(Skill::shown).collect());
    }
    Ok(options)
}

/// The guidelines about an extension's tool.
pub fn guidelines(registry: &ExtensionRegistry, extension: &str, tool: &str) -> Vec<String> {
    let look = |guest: &mut Guest| {
        let definition = guest.tools.iter().find(|definition| definition.name == tool);
        definition.map(|definition| definition.prompt_guidelines.clone())
    };
    registry
        .extensions
        .with(extension, look)
        .flatten()
        .unwrap_or_default()
}
