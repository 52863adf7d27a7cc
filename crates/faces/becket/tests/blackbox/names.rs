//! Names of conversations and labels of entries: where the user sees what an extension has written.

use becket_agent::store::{EntryContent, NewEntry, NewSession, Store};
use serde_json::json;
use testkit::Room;

use crate::room;

/// Writes entries into a context, as a session does.
fn write(room: &Room, session_id: &str, contents: Vec<EntryContent>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let store = becket_store::SqliteStore::open(room.store_file()).expect("the store opens");
        let session = NewSession {
            session_id: session_id.into(),
            parent_session_id: None,
            context_name: room.context(),
            model: "scripted/m".into(),
            cwd: "/".into(),
        };
        store.begin_session(session).await.expect("a session");
        let entries = contents.into_iter().map(NewEntry::new).collect();
        store.append(session_id, entries).await.expect("stored");
        store.close().await.expect("closed");
    });
}

fn named(name: &str) -> EntryContent {
    EntryContent::Name { name: name.into() }
}

#[test]
fn sessions_are_listed_with_the_name_of_their_conversation() {
    let room = room();
    room.run(["hello"]).ended_with(0);
    write(
        &room,
        "named",
        vec![named("first"), named("Fix the \u{1b}[31mbuild\nnow")],
    );
    // The conversation goes on under its name.
    room.run(["and on"]).ended_with(0);
    let listed = room.run(["sessions", "--json"]).ended_with(0).events();
    let names: Vec<_> = listed.iter().map(|session| session["name"].clone()).collect();
    let name = "Fix the \u{1b}[31mbuild\nnow";
    assert_eq!(names, [json!(name), json!(name), json!(null)]);
    let shown = room.run(["sessions"]).ended_with(0).stdout;
    assert_eq!(shown.lines().count(), 3, "a name stays on its line: {shown}");
    assert!(
        shown.contains("Fix the") && !shown.contains('\u{1b}'),
        "{shown:?}"
    );
}

#[test]
fn names_and_labels_are_part_of_the_transcript() {
    let room = room();
    room.run(["hello"]).ended_with(0);
    let label = |label: Option<&str>| EntryContent::Label {
        target_id: "x".into(),
        label: label.map(Into::into),
    };
    write(
        &room,
        "named",
        vec![named("a name"), label(Some("here")), label(None)],
    );
    room.run(["context", "log"])
        .ended_with(0)
        .said("The name is a name.");
    let lines = room.run(["--json", "context", "log"]).ended_with(0).events();
    let found = |kind: &str| -> Vec<_> {
        let lines = lines.iter().filter(|line| line["entry_type"] == kind);
        lines.map(|line| line["metadata"].clone()).collect()
    };
    assert_eq!(found("name"), [json!({"name": "a name"})]);
    assert_eq!(
        found("label"),
        [
            json!({"target_id": "x", "label": "here"}),
            json!({"target_id": "x", "label": null})
        ]
    );
    room.run(["and on"]).ended_with(0);
}
