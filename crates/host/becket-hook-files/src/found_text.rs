//! Agents, skills and commands that were found in Markdown files.
//!
//! Such a file is used whole or not at all: with a hook that cannot be read, or that is not trusted, the agent or skill
//! is not there either. So its hooks never go missing while it works.

use std::sync::Arc;

use becket_events::{Append, Resources, ResourcesReply};
use becket_hooks::Engine;
use becket_system::CliError;
use serde_json::Value;

use crate::entry::{Reading, Source};
use crate::guest_text::{GuestText, TextKind};
use crate::system::System;
use crate::text::front_and_body;

/// A Markdown file that was found, and what it is.
#[derive(Debug, Clone)]
pub struct FoundText {
    pub source: Source,
    pub text: GuestText,
}

/// Reads a Markdown file: what it is, and its hooks. One that cannot be used is reported, and brings nothing.
pub fn found_text(
    system: &System,
    source: Source,
    (text, value): (&str, Result<Value, CliError>),
    reading: &mut Reading,
) -> Option<FoundText> {
    let read = system.read_text?;
    let shared = Arc::new(source.clone());
    let mut own = Reading::default();
    match value {
        Ok(value) => (system.read)(&value, &shared, &mut own),
        Err(error) => own.drop_entry(&shared, "", error.message, true),
    }
    let is_whole = !own.dropped.iter().any(|dropped| dropped.guards);
    for dropped in own.dropped {
        let reason = match dropped.guards {
            true => format!("{}; so nothing of this file is used", dropped.reason),
            false => dropped.reason,
        };
        reading.drop_entry(&shared, dropped.pointer, reason, false);
    }
    if !is_whole {
        return None;
    }
    let (fields, body) = front_and_body(text, &source.file);
    match read(&source, &fields, body) {
        Ok(None) => None,
        Ok(Some(text)) => {
            own.entries.into_iter().for_each(|entry| reading.add(entry));
            Some(FoundText { source, text })
        }
        Err(why) => {
            reading.drop_entry(&shared, "", why, false);
            None
        }
    }
}

/// Brings skills and commands to the session.
pub fn bring_texts(engine: &Engine, texts: &[FoundText]) {
    let files = |kind: TextKind| {
        let files = texts.iter().filter(move |found| found.text.kind == kind);
        let files = files.map(|found| found.source.file.display().to_string());
        Append(files.collect())
    };
    let brought = ResourcesReply {
        skills: files(TextKind::Skill),
        prompts: files(TextKind::Command),
        ..ResourcesReply::default()
    };
    if !brought.skills.0.is_empty() || !brought.prompts.0.is_empty() {
        engine.on::<Resources>("skills and commands", move |_| Ok(brought.clone()));
    }
}
