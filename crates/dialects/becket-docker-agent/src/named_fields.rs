//! The fields of an answer that a command's text names.

use becket_check::has_key;
use becket_events::Class;

use super::contract::Contract;
use super::output::{INNER, OUTER, Output};

/// The fields that a command seems to answer with although they have no effect at its event. Only keys are found, in
/// either spelling; a key that could as well be part of a log is ignored.
pub fn meaningless_fields(command: &str, contract: &Contract) -> Vec<&'static str> {
    let fields = OUTER.iter().chain(INNER).copied();
    let meaningless = fields.filter(|field| !contract.means(field));
    meaningless.filter(|field| is_answered(command, field)).collect()
}

/// The errors in a text that is the whole answer of a hook: unknown words, and keys without effect. At events that are
/// no guards, an unknown key is reported only if a known one was probably meant.
pub fn troubles_of_answer(text: &str, contract: &Contract) -> Vec<String> {
    let printed = match Output::read(text) {
        Ok(printed) => printed,
        Err(failure) => return vec![failure.detail],
    };
    let is_guard = contract.class == Class::Guard;
    let told = printed.unknown.into_iter();
    let told = told.filter(|key| is_guard || !key.hint.is_empty());
    told.map(|key| format!("`{}` means nothing where it stands{}", key.name, key.hint))
        .collect()
}

/// The fields by which a command seems to rewrite a part of its input.
pub fn rewriting_fields(command: &str, contract: &Contract) -> Vec<&'static str> {
    const REWRITING: &[&str] = &["updated_input", "updated_messages", "updated_tool_response"];
    let rewriting = REWRITING.iter().copied();
    let rewriting = rewriting.filter(|field| contract.means(field));
    rewriting.filter(|field| is_answered(command, field)).collect()
}

fn is_answered(command: &str, field: &str) -> bool {
    let is_key = |value: &str| {
        let spelt = [field.to_owned(), camel_case(field)];
        spelt.iter().any(|key| has_key(command, key, value))
    };
    match field {
        "hook_specific_output" | "hook_event_name" => false,
        // Reasons accompany a field that decides.
        "reason" | "stop_reason" | "permission_decision_reason" => false,
        "decision" => is_key("block"),
        "continue" => is_key("false"),
        // These words also occur in logs.
        "summary" | "metadata" => {
            let inner = ["hook_specific_output", "hookSpecificOutput"];
            inner.iter().any(|key| command.contains(key)) && is_key("")
        }
        _ => is_key(""),
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(word.len().min(1));
        name + &head.to_uppercase() + tail
    })
}

#[cfg(test)]
mod tests {
    use super::super::rows::contracts;
    use super::meaningless_fields;

    #[test]
    fn keys_that_mean_nothing_are_seen_in_either_spelling() {
        let table: &[(&str, &str, &[&str])] = &[
            (
                "turn_end",
                r#"echo '{"decision":"block","reason":"x"}'"#,
                &["decision"],
            ),
            ("stop", r#"echo '{"decision":"block","reason":"x"}'"#, &[]),
            ("turn_end", r#"echo "{\"continue\": false}""#, &["continue"]),
            ("turn_end", r#"echo '{"continue": true}'"#, &[]),
            (
                "turn_end",
                "for x in a; do continue; done; echo 'to continue: wait'",
                &[],
            ),
            (
                "session_start",
                r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny","additionalContext":"x"}}'"#,
                &["permission_decision"],
            ),
            (
                "post_tool_use",
                "jq '{hook_specific_output: {updated_input: {cmd: 1}, additional_context: .x}}'",
                &["updated_input"],
            ),
            (
                "pre_tool_use",
                "jq '{hook_specific_output: {updated_input: {cmd: 1}}}'",
                &[],
            ),
            ("after_compaction", "jq '{summary: .summary}' >> log", &[]),
            (
                "pre_compact",
                r#"echo '{"hook_specific_output":{"summary":"x"}}'"#,
                &["summary"],
            ),
            ("turn_end", "jq '{reason: .reason}' >> log", &[]),
            ("turn_end", "jq .updated_input; echo updated_input", &[]),
            (
                "after_llm_call",
                "jq '{a: 1, updatedMessages : []}'",
                &["updated_messages"],
            ),
        ];
        for (event, command, expected) in table {
            let contracts = contracts();
            let contract = contracts.iter().find(|contract| contract.name == *event).unwrap();
            assert_eq!(
                &meaningless_fields(command, contract),
                expected,
                "{event}: {command}"
            );
        }
    }
}
