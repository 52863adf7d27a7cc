//! The fields of an answer that `read.rs` uses, hook by hook, for checking a plugin without running it.

use becket_events::Class;

use super::hooks::hook_named;

/// The fields of a refusal: `read.rs` accepts each of them at every guard.
const REFUSAL: &[&str] = &["block", "message", "denied", "reason", "approved"];

/// Other fields of answers. A hook that is not in this list takes no answer.
const FIELDS: &[(&str, &[&str])] = &[
    ("pre_message", &["prompt"]),
    ("pre_system_prompt", &["inject"]),
    ("post_system_prompt", &["inject"]),
    ("pre_tool", &["arguments"]),
    ("pre_tool_output", &["block", "message", "output"]),
    ("pre_api_tools", &["include", "exclude"]),
    ("pre_api_request", &["request_body"]),
    ("pre_agentic_loop", &["fallback", "fuel", "fuel_delta"]),
    ("post_tool_batch", &["fallback", "fuel", "fuel_delta"]),
    ("pre_file_read", &[]),
    ("pre_file_write", &[]),
    ("pre_shell_exec", &[]),
    ("pre_fetch_url", &[]),
    ("pre_spawn_agent", &["response"]),
    ("pre_cache_output", &["summary", "block"]),
    ("pre_send_message", &["delivered", "via"]),
];

/// The fields that have a meaning in an answer to a hook; `None` if there is no such hook.
pub fn answer_fields(hook: &str) -> Option<Vec<&'static str>> {
    let is_guard = hook_named(hook)?.class() == Class::Guard;
    let refusal = if is_guard { REFUSAL } else { &[] };
    let own = FIELDS.iter().find(|(name, _)| *name == hook);
    let own = own.map_or(&[][..], |(_, fields)| *fields);
    Some(own.iter().chain(refusal).copied().collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::hooks::hooks;
    use super::*;

    #[test]
    fn every_hook_that_reads_an_answer_is_here_and_no_other() {
        let hooks = hooks();
        let reading = hooks.iter().filter(|hook| hook.class() != Class::Observe);
        let reading: BTreeSet<&str> = reading.map(|hook| hook.name()).collect();
        let here: BTreeSet<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
        assert_eq!(here, reading);
    }

    #[test]
    fn every_field_is_read_somewhere() {
        let reader = include_str!("read.rs");
        for field in FIELDS.iter().flat_map(|(_, fields)| *fields).chain(REFUSAL) {
            assert!(reader.contains(&format!("\"{field}\"")), "{field}");
        }
        assert_eq!(answer_fields("post_tool"), Some(Vec::new()));
    }
}
