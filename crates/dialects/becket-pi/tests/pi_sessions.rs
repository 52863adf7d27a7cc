//! Tests of pi's session files: all versions are read, errors are reported, and a file that was read is written
//! unchanged.

use becket_events::MessageBody;
use becket_pi::session_file::{self, FileContent, SessionFile, as_it_was};
use proptest::prelude::*;
use serde_json::{Value, json};

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn header(version: Option<u64>) -> Value {
    match version {
        Some(version) => {
            json!({"type": "session", "version": version, "id": "s", "timestamp": "2026-01-31T15:45:00.000Z", "cwd": "/"})
        }
        None => json!({"type": "session", "id": "s", "timestamp": "2026-01-31T15:45:00.000Z", "cwd": "/"}),
    }
}

fn read(lines: &[Value]) -> SessionFile {
    session_file::read(&text(lines)).expect("a session")
}

fn ids(file: &SessionFile) -> Vec<(&str, Option<&str>)> {
    let entries = file.entries.iter();
    entries
        .map(|entry| (entry.id.as_str(), entry.parent_id.as_deref()))
        .collect()
}

#[test]
fn version_1_follows_one_another_and_counts_its_lines() {
    let file = read(&[
        header(None),
        json!({"type": "message", "timestamp": "2026-01-31T15:45:01.000Z",
               "message": {"role": "user", "content": "old", "timestamp": 1}}),
        json!({"type": "message", "timestamp": "2026-01-31T15:45:02.000Z",
               "message": {"role": "hookMessage", "customType": "x", "content": "kept", "display": true, "timestamp": 2}}),
        json!({"type": "compaction", "timestamp": "2026-01-31T15:45:03.000Z", "summary": "S", "tokensBefore": 9,
               "firstKeptEntryIndex": 2}),
    ]);
    assert_eq!(
        ids(&file),
        [
            ("00000001", None),
            ("00000002", Some("00000001")),
            ("00000003", Some("00000002"))
        ]
    );
    assert_eq!(file.leaf_id.as_deref(), Some("00000003"));
    let FileContent::Compaction { first_kept_id, .. } = &file.entries[2].content else {
        panic!("{:?}", file.entries[2]);
    };
    assert_eq!(first_kept_id.as_deref(), Some("00000002"));
    let FileContent::Message(note) = &file.entries[1].content else {
        panic!("{:?}", file.entries[1]);
    };
    assert!(matches!(note.body(), MessageBody::Note { kind, .. } if kind == "x"));
    assert!(file.problems.is_empty(), "{:?}", file.problems);
}

#[test]
fn version_2_has_a_tree_and_another_name_for_hooks() {
    let message = |id: &str, parent: Value| {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-31T15:45:01.000Z",
               "message": {"role": "hookMessage", "customType": "x", "content": id, "display": false, "timestamp": 1}})
    };
    let file = read(&[
        header(Some(2)),
        message("a", json!(null)),
        message("b", json!("a")),
        message("c", json!("a")),
    ]);
    assert_eq!(ids(&file), [("a", None), ("b", Some("a")), ("c", Some("a"))]);
    let lines = file
        .entries
        .iter()
        .map(|entry| entry.source.clone().expect("more than becket says"));
    assert!(lines.into_iter().all(|line| line["message"]["role"] == "custom"));
}

#[test]
fn what_is_broken_is_told_with_its_line_and_left_out() {
    let entry = |id: &str, parent: Value| {
        json!({"type": "custom", "id": id, "parentId": parent, "timestamp": "2026-01-31T15:45:01.000Z",
               "customType": "t"})
    };
    let mut lines = text(&[
        header(Some(3)),
        entry("a", json!(null)),
        entry("a", json!(null)),
        entry("lost", json!("nowhere")),
        json!({"type": "custom", "parentId": null}),
        json!({"id": "x", "parentId": null}),
        entry("round", json!("trip")),
        entry("trip", json!("round")),
        entry("child", json!("late")),
        entry("late", json!("a")),
    ]);
    lines.push_str("{\"type\": \n\n7\n");
    let file = session_file::read(&lines).expect("a session");
    let told = file.problems.join("\n");
    for words in [
        "line 3 was left out: line 2 has the id \"a\" already",
        "line 5 was left out: it has no `id`",
        "line 6 was left out: it has no `type`",
        "line 11 is not JSON",
        "line 13 is no entry",
        "the entry of line 4 begins a conversation",
        "the entry of line 8 begins a conversation",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(
        ids(&file),
        [
            ("a", None),
            ("lost", None),
            ("trip", None),
            ("round", Some("trip")),
            ("late", Some("a")),
            ("child", Some("late")),
        ]
    );
    assert_eq!(file.leaf_id.as_deref(), Some("late"), "the last one in the file");
    for no_session in ["", "\n", "{}\n", "{\"type\":\"session\"}\n", "no JSON", "[1]\n"] {
        assert!(session_file::read(no_session).is_err(), "{no_session:?}");
    }
}

#[test]
fn every_kind_of_entry_is_read_without_loss() {
    let kinds = [
        json!({"type": "message", "message": {"role": "user", "content": "plain", "timestamp": 5}}),
        json!({"type": "message", "message": {"role": "user", "content": [
            {"type": "image", "data": "AA", "mimeType": "image/png"}], "timestamp": 5}}),
        json!({"type": "message", "message": {"role": "system", "content": "be brief"}}),
        json!({"type": "message", "message": {"role": "assistant", "content": [], "stopReason": "error",
               "errorMessage": "no", "api": "x", "provider": "p", "model": "m", "usage": {}, "timestamp": 1}}),
        json!({"type": "message", "message": {"role": "bashExecution", "command": "c", "output": "o", "exitCode": 1,
               "cancelled": false, "truncated": true, "fullOutputPath": "/o", "timestamp": 1}}),
        json!({"type": "custom_message", "customType": "t", "content": "w", "display": true}),
        json!({"type": "label", "targetId": "a"}),
        json!({"type": "session_info"}),
        json!({"type": "session_info", "name": "n"}),
        json!({"type": "branch_summary", "fromId": "root", "summary": "s", "details": {"x": 1}}),
        json!({"type": "compaction", "summary": "s", "firstKeptEntryId": "a", "tokensBefore": 1}),
        json!({"type": "thinking_level_change", "thinkingLevel": "max"}),
        json!({"type": "something_new", "more": [1]}),
    ];
    for kind in kinds {
        let mut line = kind.clone();
        line["id"] = "a".into();
        line["parentId"] = Value::Null;
        line["timestamp"] = "2026-01-31T15:45:01.000Z".into();
        let file = read(&[header(Some(3)), line.clone()]);
        assert!(file.problems.is_empty(), "{kind}: {:?}", file.problems);
        let entry = &file.entries[0];
        let back = entry.source.as_ref().map(|source| as_it_was(source, "a", None));
        // An entry without a source is fully represented by becket's form.
        assert!(back.is_none_or(|back| back == line), "{kind}");
    }
}

proptest! {
    #[test]
    fn a_file_that_was_written_stands_where_it_stood(
        parents in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        leaf in any::<prop::sample::Index>(),
    ) {
        let mut entries: Vec<Value> = Vec::new();
        for parent in &parents {
            let place = parent.index(entries.len() + 1);
            let parent = entries.get(place).map(|entry| entry["id"].clone());
            let id = format!("{:08x}", entries.len());
            entries.push(json!({
                "type": "custom", "id": id, "parentId": parent, "timestamp": "2026-01-31T15:45:01.000Z",
                "customType": "t", "data": place,
            }));
        }
        let place = leaf.index(entries.len() + 1);
        let leaf = entries.get(place).and_then(|entry| entry["id"].as_str()).map(ToOwned::to_owned);
        let written = session_file::write(&header(Some(1)), &entries, leaf.as_deref());
        let file = session_file::read(&written).unwrap();
        prop_assert!(file.problems.is_empty());
        prop_assert_eq!(&file.leaf_id, &leaf);
        prop_assert_eq!(&file.header["version"], 3);
        let found: Vec<String> = file.entries.iter().map(|entry| entry.id.clone()).collect();
        let sent: Vec<String> =
            entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
        prop_assert_eq!(found, sent);
    }

    #[test]
    fn no_text_breaks_the_reader(lines in prop::collection::vec("[\\[{\":,}\\] a-z0-9\\\\]{0,30}", 0..6)) {
        let text = format!("{}\n{}", header(Some(3)), lines.join("\n"));
        prop_assert!(session_file::read(&text).is_ok());
    }
}
