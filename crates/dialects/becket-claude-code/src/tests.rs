//! Rows, answers and files of Claude Code.

use std::path::Path;
use std::sync::Arc;

use becket_events::Class;
use becket_hook_files::{Action, Owner, Plain, Reading, Source};
use becket_hooks::Finished;
use serde_json::json;

use crate::hear::hear;
use crate::read::read;
use crate::rows::{ABSENT_EVENTS, rows};
use crate::sources::is_file;

#[test]
fn all_33_events_are_known() {
    let rows = rows();
    let mut names: Vec<&str> = rows.iter().map(|row| row.contract().name).collect();
    names.extend(ABSENT_EVENTS.iter().map(|(name, _)| *name));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 33, "{names:?}");
}

#[test]
fn a_row_is_at_most_as_strong_as_its_event() {
    for row in rows() {
        let contract = row.contract();
        assert!(contract.class <= contract.event.info().class, "{}", contract.name);
        let guards = [
            "PreToolUse",
            "PermissionRequest",
            "UserPromptSubmit",
            "UserPromptExpansion",
            "PreCompact",
            "PreModelSwitch",
        ];
        assert_eq!(
            contract.class == Class::Guard,
            guards.contains(&contract.name),
            "{}",
            contract.name
        );
    }
}

#[test]
fn headers_use_only_variables_that_every_list_allows() {
    let hook = json!({
        "type": "http", "url": "https://example.com", "headers": {"X": "$A $B"}, "allowedEnvVars": ["A", "B"],
    });
    let file = json!({
        "httpHookAllowedEnvVars": ["B", "C"],
        "hooks": {"PostToolUse": [{"hooks": [hook]}]},
    });
    let source = |owner| {
        Arc::new(Source {
            file: "settings.json".into(),
            owner,
            plugin: None,
        })
    };
    for (owner, allowed) in [(Owner::User, &["B"][..]), (Owner::Project, &["A", "B"])] {
        let mut reading = Reading::default();
        read(&file, &source(owner), &mut reading);
        let (entries, _) = reading.counting();
        let Action::Http { variables, .. } = &entries[0].action else {
            panic!("it posts");
        };
        assert_eq!(variables, allowed, "{owner:?}");
    }
}

#[test]
fn files_of_plugins_are_known_by_name_unless_a_hidden_folder_holds_them() {
    for (file, is_ours) in [
        ("/p/.claude/settings.json", true),
        ("/p/.claude/settings.local.json", true),
        ("/p/plugins/one/hooks/hooks.json", true),
        ("hooks/hooks.json", true),
        ("/p/.other/hooks/hooks.json", false),
        (".other/hooks/hooks.json", false),
        ("/p/hooks.json", false),
        ("/p/settings.json", false),
    ] {
        assert_eq!(is_file(Path::new(file)), is_ours, "{file}");
    }
}

fn printed(text: &str) -> Finished {
    Finished {
        stdout: text.into(),
        stderr: String::new(),
        code: 0,
        complete: true,
    }
}

#[test]
fn an_array_of_a_guard_is_no_text_unless_text_is_for_the_model() {
    let deep = "[".repeat(200_000);
    for row in rows() {
        let contract = row.contract();
        let refuses = contract.class == Class::Guard && contract.plain != Plain::Context;
        for array in [&deep, "[", "[{\"ok\": true}]", "[1, 2"] {
            let heard = hear(&contract, &printed(array));
            assert_eq!(heard.is_err(), refuses, "{} hears {heard:?}", contract.name);
        }
        for text in ["[guard] fine", "[1/2] checked"] {
            let heard = hear(&contract, &printed(text));
            assert!(heard.is_ok(), "{} hears {heard:?}", contract.name);
        }
    }
}

/// What a guard whose text is for the model prints before it breaks off is no text, wherever that is.
#[test]
fn an_answer_that_breaks_off_anywhere_is_never_taken_for_text() {
    let whole = r#"{"hookSpecificOutput":{"additionalContext":"a"},"decision":"block"}"#;
    for row in rows() {
        let contract = row.contract();
        if contract.class != Class::Guard {
            continue;
        }
        let hear_said = |said: &str| hear(&contract, &printed(said));
        for end in 1..whole.len() {
            let cut = &whole[..end];
            assert!(hear_said(cut).is_err(), "{} hears {cut}", contract.name);
        }
        if contract.plain == Plain::Context {
            let text = "{name} has notes";
            let heard = hear_said(text).expect("it is text");
            assert_eq!(heard.context, [text], "{}", contract.name);
        }
    }
}
