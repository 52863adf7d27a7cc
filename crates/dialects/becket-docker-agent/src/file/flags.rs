//! The flags of an agent that are short forms of hooks.

use std::collections::BTreeMap;
use std::path::Path;

use becket_dialect_kit::yaml::{Spanned, line_of};

use super::super::{Builtin, HookEntry, HookKind, USUAL_TIMEOUT};
use super::Toolset;
use super::written::WrittenAgent;

/// The hooks that the flags of an agent add to those that it has already. Secrets are redacted unless the file says
/// otherwise.
pub(super) fn hooks_of_flags(
    agent: &WrittenAgent,
    toolsets: &[Toolset],
    hooks: &[HookEntry],
    file: &Path,
) -> Vec<HookEntry> {
    let stands = |line: usize, flag: &str| format!("{}:{line} ({flag})", file.display());
    let mut wanted: Vec<(&'static str, Builtin, String)> = Vec::new();
    if let Some(flag) = set(&agent.add_date) {
        wanted.push(("turn_start", Builtin::AddDate, stands(flag, "add_date")));
    }
    if let Some(flag) = set(&agent.add_environment_info) {
        let source = stands(flag, "add_environment_info");
        wanted.push(("session_start", Builtin::AddEnvironmentInfo, source));
    }
    if let Some(names) = agent
        .add_prompt_files
        .as_ref()
        .filter(|names| !names.value.is_empty())
    {
        let source = stands(line_of(names), "add_prompt_files");
        wanted.push(("turn_start", Builtin::AddPromptFiles(names.value.clone()), source));
    }
    let redacts = match &agent.redact_secrets {
        None => Some(format!("{} (redact_secrets, the usual)", file.display())),
        flag => set(flag).map(|line| stands(line, "redact_secrets")),
    };
    if let Some(source) = redacts {
        for event in ["pre_tool_use", "before_llm_call", "tool_response_transform"] {
            wanted.push((event, Builtin::RedactSecrets, source.clone()));
        }
    }
    let safer = toolsets.iter().find(|set| set.safer).map(|set| HookEntry {
        matcher: Some("shell".to_owned()),
        preempt_yolo: true,
        ..entry("pre_tool_use", Builtin::SaferShell, stands(set.line, "safer"))
    });
    let entries = wanted
        .into_iter()
        .map(|(event, builtin, source)| entry(event, builtin, source))
        .chain(safer);
    let is_new = |entry: &HookEntry| {
        let same = |other: &HookEntry| {
            other.event == entry.event && other.kind == entry.kind && other.matcher == entry.matcher
        };
        !hooks.iter().any(same)
    };
    entries.filter(is_new).collect()
}

/// The line of a flag that is set.
fn set(flag: &Option<Spanned<bool>>) -> Option<usize> {
    flag.as_ref().filter(|flag| flag.value).map(line_of)
}

fn entry(event: &'static str, builtin: Builtin, source: String) -> HookEntry {
    HookEntry {
        event,
        matcher: None,
        preempt_yolo: false,
        kind: HookKind::Builtin(builtin),
        name: None,
        timeout: USUAL_TIMEOUT,
        env: BTreeMap::new(),
        working_dir: None,
        on_error: None,
        strict_output: false,
        source,
    }
}
