//! The promises of the stores, seen from outside: nothing confirmed is lost, nothing is doubled, nothing is mixed.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use becket_agent::store::{
    EntryContent, Letter, NewEntry, NewSession, Noted, OpenedSession, Span, SpanKind, Store, StoreError,
    StoredEntry,
};
use becket_events::{EventId, Json, Message, MessageBody, MessageRecord, Part, StopReason, ToolCall, Usage};
use becket_hooks::{Cause, Dialect, DispatchTrace, Effect, Failure, HandlerRun, LaneKind};
use becket_store::{Consumed, ContextName, MemoryStore, SqliteStore};
use serde_json::json;

// ---- given ----

/// A folder that goes away, and the store in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("data").join("becket.db")
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(self.file()).unwrap()
    }
}

fn session(id: &str, context: &str) -> NewSession {
    NewSession {
        session_id: id.into(),
        parent_session_id: None,
        context_name: context.into(),
        model: "scripted/model".into(),
        cwd: "/tmp/project".into(),
    }
}

fn name(text: &str) -> ContextName {
    ContextName::parse(text).unwrap()
}

fn message(id: &str, body: MessageBody) -> NewEntry {
    let record = MessageRecord {
        id: id.into(),
        time_ms: 1_700_000_000_000,
        body,
    };
    NewEntry {
        id: id.into(),
        time_ms: 1_700_000_000_000,
        content: EntryContent::Message {
            message: Message::new(record),
        },
    }
}

fn says(id: &str, text: &str) -> NewEntry {
    message(
        id,
        MessageBody::User {
            content: vec![Part::text(text)],
        },
    )
}

fn note(id: &str) -> NewEntry {
    NewEntry {
        id: id.into(),
        time_ms: 1_700_000_000_000,
        content: EntryContent::Custom {
            kind: "note".into(),
            data: json!({"of": id}),
        },
    }
}

/// One entry of every kind, with every kind of message and part.
// tidy: a table
fn every_kind() -> Vec<NewEntry> {
    let picture = Part::Image {
        media_type: "image/png".into(),
        data: "aGVsbG8=".into(),
    };
    let thought = Part::Thinking {
        text: "hm".into(),
        signature: Some("seal".into()),
    };
    let call = ToolCall {
        id: "c1".into(),
        name: "shell".into(),
        arguments: r#"{"command": "ls"}"#.into(),
    };
    let usage = Usage {
        input_tokens: 3,
        output_tokens: 4,
        cost: Some(0.25),
        ..Usage::default()
    };
    vec![
        message(
            "user",
            MessageBody::User {
                content: vec![Part::text("zero \0, quote \", ü, 🪝\n"), picture],
            },
        ),
        message(
            "assistant",
            MessageBody::Assistant {
                content: vec![thought, Part::text("yes")],
                tool_calls: vec![call],
                model: "m".into(),
                stop_reason: StopReason::ToolCalls,
                usage,
                error: None,
            },
        ),
        message(
            "tool",
            MessageBody::Tool {
                tool_call_id: "c1".into(),
                tool_name: "shell".into(),
                content: vec![Part::text("")],
                is_error: true,
                details: Some(json!({"exit_code": 1})),
            },
        ),
        message(
            "note",
            MessageBody::Note {
                kind: "hook".into(),
                content: vec![],
                display: true,
                details: Some(json!({"z": 1, "a": [null, 1.5, u64::MAX]})),
            },
        ),
        NewEntry {
            id: "compaction".into(),
            time_ms: 1_700_000_000_000,
            content: EntryContent::Compaction {
                summary: "they talked".into(),
                first_kept_id: Some("tool".into()),
                tokens_before: 9_000,
                by_hook: true,
                details: Some(json!({"files": ["a"]})),
            },
        },
        NewEntry {
            id: "compaction of everything".into(),
            time_ms: 1_700_000_000_000,
            content: EntryContent::Compaction {
                summary: String::new(),
                first_kept_id: None,
                tokens_before: 0,
                by_hook: false,
                details: None,
            },
        },
        NewEntry {
            id: "name".into(),
            time_ms: 1_700_000_000_001,
            content: EntryContent::Name {
                name: "a \"talk\"".into(),
            },
        },
        NewEntry {
            id: "label".into(),
            time_ms: 1_700_000_000_002,
            content: EntryContent::Label {
                target_id: "name".into(),
                label: None,
            },
        },
        NewEntry {
            id: "custom".into(),
            time_ms: 1_700_000_000_000,
            content: EntryContent::Custom {
                kind: "todo".into(),
                data: json!({"b": {"a": []}, "a": -7}),
            },
        },
    ]
}

fn dispatch(session_id: &str, turn: u32) -> DispatchTrace {
    let run = HandlerRun {
        input_hash: Some("00".into()),
        reply: Some(json!({"verdict": "deny"})),
        effect: Effect::Failed {
            failure: Failure::new(Cause::TimedOut, "after 5 s"),
            refused: true,
        },
        duration_us: 12,
        ..HandlerRun::noted(
            "guard".into(),
            "becket.toml:3".into(),
            Dialect::BECKET,
            LaneKind::Command,
        )
    };
    DispatchTrace {
        session_id: session_id.into(),
        turn,
        time_ms: 1_700_000_000_000 + u64::from(turn),
        time_us: 1_700_000_000_000_000 + u64::from(turn) * 1_000,
        duration_us: 20,
        original: Some(json!({"a": 1}).into()),
        ..DispatchTrace::noted(EventId::PreTool, run)
    }
}

fn ids(entries: &[StoredEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

fn failure<T>(result: Result<T, StoreError>) -> String {
    match result {
        Ok(_) => panic!("this should have failed"),
        Err(error) => error.message,
    }
}

fn assert_mentions(message: &str, words: &[&str]) {
    for word in words {
        assert!(message.contains(word), "{word:?} is missing in: {message}");
    }
}

/// The entries from the root to the current one.
async fn path_of(store: &dyn Store, session_id: &str) -> Vec<StoredEntry> {
    let path = store.tree(session_id).await.unwrap().path();
    path.iter().map(|entry| (**entry).clone()).collect()
}

fn noted_by(entries: &[StoredEntry]) -> Noted {
    let mut noted = Noted::default();
    entries.iter().for_each(|entry| noted.note(&entry.content));
    noted
}

/// Asserts that each entry is the child of the one before it.
fn assert_is_path(entries: &[StoredEntry]) {
    let mut parent = None;
    for entry in entries {
        assert_eq!(entry.parent_id.as_deref(), parent, "the parent of {}", entry.id);
        parent = Some(entry.id.as_str());
    }
}

// ---- what both stores promise ----

async fn keeps_the_promises_of_the_trait(store: &dyn Store) {
    let opened = store.begin_session(session("s1", "work")).await.unwrap();
    assert!(!opened.resumed);
    assert!(opened.entries.is_empty());

    let entries = every_kind();
    store.append("s1", entries[..3].to_vec()).await.unwrap();
    store.append("s1", entries[3..].to_vec()).await.unwrap();
    store.append("s1", Vec::new()).await.unwrap();
    store.end_session("s1", "done").await.unwrap();
    store.end_session("s1", "told twice").await.unwrap();

    let OpenedSession {
        resumed,
        entries: recent,
        noted,
        origin,
        lost_answer,
    } = store.begin_session(session("s2", "work")).await.unwrap();
    let found = path_of(store, "s2").await;
    assert!(ids(&found).ends_with(&ids(&recent)), "{recent:?}");
    let before = found.len() - recent.len();
    assert_eq!(noted, noted_by(&found[..before]));
    assert!(!lost_answer, "nobody was waited for");
    assert!(resumed);
    assert!(origin.is_none(), "it is no fork: {origin:?}");
    assert_is_path(&found);
    let unwrapped: Vec<NewEntry> = found
        .iter()
        .map(|entry| NewEntry {
            id: entry.id.clone(),
            time_ms: entry.time_ms,
            content: entry.content.clone(),
        })
        .collect();
    assert_eq!(unwrapped, entries);
    assert!(found.iter().all(|entry| entry.session_id == "s1"));

    // The same ids in another context are other entries.
    let other = store.begin_session(session("s3", "play")).await.unwrap();
    assert!(!other.resumed && other.entries.is_empty());
    store.append("s3", every_kind()).await.unwrap();

    // All or none: the second of these is there already.
    let error = failure(store.append("s2", vec![note("new"), note("tool")]).await);
    assert_mentions(&error, &["work", "\"tool\""]);
    let error = failure(store.append("s2", vec![note("twin"), note("twin")]).await);
    assert_mentions(&error, &["work", "\"twin\""]);
    assert_mentions(
        &failure(store.append("nobody", vec![note("x")]).await),
        &["no session", "\"nobody\""],
    );
    assert_mentions(
        &failure(store.end_session("nobody", "").await),
        &["no session", "\"nobody\""],
    );
    assert_mentions(
        &failure(store.begin_session(session("s1", "work")).await),
        &["already", "\"s1\""],
    );
    let error = failure(store.begin_session(session("s4", "a/b")).await);
    assert_mentions(&error, &["\"a/b\"", "'/'", "`a-b`"]);
    store.begin_session(session("s5", "work")).await.unwrap();
    assert_eq!(path_of(store, "s5").await.len(), entries.len());
}

async fn branches_where_two_sessions_write(store: &dyn Store) {
    store.begin_session(session("first", "shared")).await.unwrap();
    store.append("first", vec![note("root")]).await.unwrap();
    let second = store.begin_session(session("second", "shared")).await.unwrap();
    assert_eq!(ids(&second.entries), ["root"]);

    store.append("first", vec![note("f1")]).await.unwrap();
    store.append("second", vec![note("s1")]).await.unwrap();
    store.append("first", vec![note("f2")]).await.unwrap();
    let third = store.begin_session(session("third", "shared")).await.unwrap();
    assert_eq!(ids(&third.entries), ["root", "f1", "f2"]);

    store
        .append("second", vec![note("s2"), note("s3")])
        .await
        .unwrap();
    let fourth = store.begin_session(session("fourth", "shared")).await.unwrap();
    assert_eq!(ids(&fourth.entries), ["root", "s1", "s2", "s3"]);
    assert_is_path(&fourth.entries);
}

/// A sub-agent begins with nothing, and the conversation of its context goes on as if the sub-agent had never been.
async fn keeps_sub_agents_apart(store: &dyn Store) {
    let below = |id: &str, parent: &str| NewSession {
        parent_session_id: Some(parent.into()),
        ..session(id, "family")
    };
    store.begin_session(session("top", "family")).await.unwrap();
    store.append("top", vec![says("t1", "one")]).await.unwrap();
    let child = store.begin_session(below("child", "top")).await.unwrap();
    assert!(child.entries.is_empty(), "{child:?}");
    store.append("child", vec![says("c1", "below")]).await.unwrap();
    let grandchild = store.begin_session(below("grandchild", "child")).await.unwrap();
    assert!(grandchild.entries.is_empty(), "{grandchild:?}");
    store
        .append("grandchild", vec![says("g1", "deep below")])
        .await
        .unwrap();
    store
        .append("child", vec![says("c2", "below again")])
        .await
        .unwrap();
    store.append("top", vec![says("t2", "two")]).await.unwrap();
    for id in ["grandchild", "child", "top"] {
        store.end_session(id, "done").await.unwrap();
    }
    let next = store.begin_session(session("next", "family")).await.unwrap();
    assert_eq!(ids(&next.entries), ["t1", "t2"]);
    assert_is_path(&next.entries);
}

async fn keeps_blobs_by_their_content(store: &dyn Store) {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let hash = store.put_blob(bytes.clone()).await.unwrap();
    assert_eq!(hash, blake3::hash(&bytes).to_hex().as_str());
    assert_eq!(store.put_blob(bytes.clone()).await.unwrap(), hash);
    assert_eq!(store.blob(&hash).await.unwrap(), Some(bytes));
    let empty = store.put_blob(Vec::new()).await.unwrap();
    assert_eq!(store.blob(&empty).await.unwrap(), Some(Vec::new()));
    assert_eq!(store.blob("unknown").await.unwrap(), None);
}

#[tokio::test]
async fn both_stores_keep_every_kind_of_entry() {
    let home = Home::new();
    let store = home.open();
    keeps_the_promises_of_the_trait(&store).await;
    assert_eq!(store.integrity_check().unwrap(), Vec::<String>::new());
    keeps_the_promises_of_the_trait(&MemoryStore::new()).await;
}

#[tokio::test]
async fn in_both_stores_two_sessions_in_one_context_branch() {
    let home = Home::new();
    let store = home.open();
    branches_where_two_sessions_write(&store).await;
    let tree = store.tree("shared").unwrap();
    assert_eq!(ids(&tree), ["root", "f1", "s1", "f2", "s2", "s3"]);
    assert_eq!(tree[3].parent_id.as_deref(), Some("f1"));
    assert_eq!(tree[4].parent_id.as_deref(), Some("s1"));
    branches_where_two_sessions_write(&MemoryStore::new()).await;
}

#[tokio::test]
async fn both_stores_keep_sub_agents_out_of_the_conversation() {
    keeps_sub_agents_apart(&MemoryStore::new()).await;
    let home = Home::new();
    let store = home.open();
    keeps_sub_agents_apart(&store).await;
    let count = store.contexts().unwrap()[0].message_count;
    assert_eq!(
        (count, store.integrity_check().unwrap()),
        (2, Vec::<String>::new())
    );
}

#[tokio::test]
async fn both_stores_keep_a_blob_once() {
    let home = Home::new();
    let store = home.open();
    keeps_blobs_by_their_content(&store).await;
    store.close().await.unwrap();
    let connection = rusqlite::Connection::open(home.file()).unwrap();
    let rows: i64 = connection
        .query_row("SELECT count(*) FROM blobs", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 2);
    keeps_blobs_by_their_content(&MemoryStore::new()).await;
}

// ---- the file ----

#[test]
fn links_a_sqlite_without_the_known_wal_bug() {
    assert!(
        rusqlite::version_number() >= 3_051_003,
        "SQLite is only {}",
        rusqlite::version()
    );
}

#[tokio::test]
async fn the_file_and_its_log_are_for_the_owner_only() {
    let home = Home::new();
    let store = home.open();
    store.begin_session(session("s", "c")).await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.file().parent().unwrap()), 0o700);
    let names: Vec<PathBuf> = std::fs::read_dir(home.file().parent().unwrap())
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    assert_eq!(names.len(), 3, "the file, its log and the log's index: {names:?}");
    for name in names {
        assert_eq!(mode(&name), 0o600, "{name:?}");
    }
}

#[tokio::test]
async fn an_empty_database_of_version_0_is_migrated() {
    let home = Home::new();
    std::fs::create_dir_all(home.file().parent().unwrap()).unwrap();
    let old = rusqlite::Connection::open(home.file()).unwrap();
    old.execute_batch("CREATE TABLE x (y); DROP TABLE x;").unwrap();
    drop(old);
    let store = home.open();
    store.begin_session(session("s", "c")).await.unwrap();
    store.close().await.unwrap();
    let now = rusqlite::Connection::open(home.file()).unwrap();
    let version: i64 = now
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    let journal: String = now
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .unwrap();
    assert_eq!((version, journal.as_str()), (10, "wal"));
}

#[tokio::test]
async fn a_store_of_a_newer_becket_is_left_alone() {
    let home = Home::new();
    home.open().close().await.unwrap();
    let newer = rusqlite::Connection::open(home.file()).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let before = std::fs::read(home.file()).unwrap();
    let error = failure(SqliteStore::open(home.file()));
    assert_mentions(
        &error,
        &["becket.db", "newer becket", "99", "Update becket", "another home"],
    );
    assert_eq!(std::fs::read(home.file()).unwrap(), before);
}

#[test]
fn what_is_no_store_gives_a_clear_error_and_stays_as_it_is() {
    let foreign = Home::new();
    std::fs::create_dir_all(foreign.file().parent().unwrap()).unwrap();
    rusqlite::Connection::open(foreign.file())
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x)")
        .unwrap();
    let foreign = std::fs::read(foreign.file()).unwrap();
    let mut torn = b"SQLite format 3\0".to_vec();
    torn.resize(5000, 0xee);
    let cases: [(&str, &[u8], &str); 4] = [
        ("a short text", b"hello", "damaged"),
        ("a long text", &[b'x'; 10_000], "damaged"),
        ("a torn header", &torn, "damaged"),
        ("another program's database", &foreign, "another program"),
    ];
    for (what, bytes, words) in cases {
        let home = Home::new();
        std::fs::create_dir_all(home.file().parent().unwrap()).unwrap();
        std::fs::write(home.file(), bytes).unwrap();
        let error = failure(SqliteStore::open(home.file()));
        assert_mentions(&error, &["becket.db", words, "ove it away"]);
        assert_eq!(std::fs::read(home.file()).unwrap(), bytes, "{what} was changed");
    }
}

#[tokio::test]
async fn damage_inside_the_file_is_found_and_told() {
    let home = Home::new();
    let store = home.open();
    store.begin_session(session("s", "c")).await.unwrap();
    for number in 0..50 {
        store
            .append("s", vec![says(&format!("e{number}"), &"x".repeat(500))])
            .await
            .unwrap();
    }
    store.close().await.unwrap();
    assert_eq!(home.open().integrity_check().unwrap(), Vec::<String>::new());
    let mut bytes = std::fs::read(home.file()).unwrap();
    // Everything but the schema, which the opening reads.
    let roots: Vec<u32> = {
        let file = rusqlite::Connection::open(home.file()).unwrap();
        let mut roots = file
            .prepare("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")
            .unwrap();
        let roots = roots.query_map([], |row| row.get(0)).unwrap();
        roots.map(Result::unwrap).collect()
    };
    const PAGE: usize = 4096;
    assert!(!roots.is_empty());
    for root in roots.into_iter().map(|root| root as usize) {
        bytes[(root - 1) * PAGE..root * PAGE].fill(0xa5);
    }
    std::fs::write(home.file(), &bytes).unwrap();

    let store = home.open();
    assert_mentions(
        &failure(store.contexts()),
        &["becket.db", "damaged", "Nothing was overwritten"],
    );
    assert_mentions(
        &failure(store.begin_session(session("t", "c")).await),
        &["becket.db", "damaged"],
    );
    drop(store);
    assert_eq!(std::fs::read(home.file()).unwrap(), bytes);
}

#[test]
fn a_home_that_cannot_be_made_is_named() {
    let home = Home::new();
    std::fs::write(home.0.path().join("data"), "a file where the folder should be").unwrap();
    let error = failure(SqliteStore::open(home.file()));
    assert_mentions(&error, &["cannot make", "becket.db", "another home"]);
    let home = Home::new();
    std::fs::create_dir_all(home.file()).unwrap();
    assert_mentions(
        &failure(SqliteStore::open(home.file())),
        &["cannot open it", "becket.db"],
    );
}

// ---- listings, settings, deleting ----

#[tokio::test]
async fn lists_contexts_and_sessions() {
    let home = Home::new();
    let store = home.open();
    assert!(store.contexts().unwrap().is_empty());
    store.begin_session(session("one", "old")).await.unwrap();
    store.append("one", every_kind()).await.unwrap();
    store.end_session("one", "done").await.unwrap();
    let child = NewSession {
        parent_session_id: Some("one".into()),
        ..session("two", "old")
    };
    store.begin_session(child).await.unwrap();
    tokio::time::sleep(Duration::from_millis(3)).await;
    store.begin_session(session("three", "new")).await.unwrap();

    let contexts = store.contexts().unwrap();
    let counts: Vec<_> = contexts
        .iter()
        .map(|context| {
            (
                context.name.as_str(),
                context.message_count,
                context.session_count,
            )
        })
        .collect();
    assert_eq!(counts, [("new", 0, 1), ("old", 4, 2)]);
    assert!(
        contexts
            .iter()
            .all(|context| context.created_ms <= context.last_used_ms && context.created_ms > 0)
    );

    let sessions = store.sessions(Some("old")).unwrap();
    assert_eq!(sessions.len(), 2);
    let one = sessions.iter().find(|session| session.id == "one").unwrap();
    let two = sessions.iter().find(|session| session.id == "two").unwrap();
    assert_eq!(
        (one.reason.as_deref(), one.entry_count, one.cwd.as_str()),
        (Some("done"), 9, "/tmp/project")
    );
    assert!(one.ended_ms.unwrap() >= one.started_ms);
    assert_eq!(
        (two.ended_ms, two.parent_id.as_deref(), two.model.as_str()),
        (None, Some("one"), "scripted/model")
    );
    assert_eq!(store.sessions(None).unwrap().len(), 3);
    assert!(store.sessions(Some("none")).unwrap().is_empty());
    assert_mentions(
        &failure(store.entries("none")),
        &["no context \"none\"", "becket.db"],
    );
    assert_eq!(ids(&store.entries("old").unwrap()).len(), 9);
}

#[tokio::test]
async fn deletes_a_context_with_all_that_belongs_to_it() {
    let home = Home::new();
    let store = home.open();
    for context in ["keep", "drop"] {
        store.begin_session(session(context, context)).await.unwrap();
        store.trace(context, dispatch(context, 1));
        store.append(context, every_kind()).await.unwrap();
        store
            .inboxes()
            .push(&name(context), "me", json!("hello").into())
            .await
            .unwrap();
    }
    assert!(store.delete_context(&name("drop")).await.unwrap());
    assert!(!store.delete_context(&name("drop")).await.unwrap());
    assert_eq!(store.contexts().unwrap().len(), 1);
    assert_eq!(store.sessions(None).unwrap().len(), 1);
    assert!(
        store.record().dispatches_of("drop").unwrap().is_empty()
            && store.inboxes().waiting_for("drop").unwrap().is_empty()
    );
    assert_eq!(store.record().dispatches_of("keep").unwrap().len(), 1);
    assert_eq!(store.inboxes().waiting_for("keep").unwrap().len(), 1);
    assert_eq!(store.entries("keep").unwrap().len(), 9);
    assert_mentions(
        &failure(store.append("drop", vec![note("late")]).await),
        &["\"drop\"", "deleted"],
    );
    assert!(
        !store
            .begin_session(session("again", "drop"))
            .await
            .unwrap()
            .resumed
    );
    assert_eq!(store.integrity_check().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn keeps_the_settings_of_a_context() {
    let home = Home::new();
    let store = home.open();
    store.begin_session(session("s", "c")).await.unwrap();
    assert_eq!(store.settings("c").unwrap().text(), "{}");
    store
        .set_settings(&name("c"), json!({"model": "x"}).into())
        .await
        .unwrap();
    store.append("s", vec![note("a")]).await.unwrap();
    assert_eq!(store.settings("c").unwrap().text(), r#"{"model":"x"}"#);
    assert_eq!(store.contexts().unwrap().len(), 1);
}

#[tokio::test]
async fn reads_a_long_conversation_and_a_large_message() {
    let home = Home::new();
    let store = home.open();
    store.begin_session(session("s", "long")).await.unwrap();
    for hundred in 0..100 {
        let entries = (0..100)
            .map(|one| says(&format!("{hundred}-{one}"), "some words of a message"))
            .collect();
        store.append("s", entries).await.unwrap();
    }
    let large = "ü\"".repeat(8 << 20);
    store.append("s", vec![says("large", &large)]).await.unwrap();
    let begin = Instant::now();
    let opened = store.begin_session(session("t", "long")).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(120));
    assert_eq!(opened.entries.len(), 10_001);
    assert_is_path(&opened.entries);
    let EntryContent::Message { message } = &opened.entries[10_000].content else {
        panic!("a message")
    };
    assert!(message.text() == large);
}

// ---- traces ----

#[tokio::test]
async fn traces_are_written_with_the_next_append_at_the_end_and_on_closing() {
    let home = Home::new();
    let store = home.open();
    store.begin_session(session("s", "c")).await.unwrap();
    let begin = Instant::now();
    store.trace("s", dispatch("s", 1));
    store.trace("s", dispatch("s", 2));
    // After half a second they are written by themselves; a machine that was busy for so long shows nothing here.
    let nothing = store.record().dispatches_of("s").unwrap().is_empty();
    assert!(
        nothing || begin.elapsed() > Duration::from_millis(400),
        "a trace alone does not touch the disk"
    );
    store.append("s", vec![note("a")]).await.unwrap();
    let written = store.record().dispatches_of("s").unwrap();
    assert_eq!(written.len(), 2);
    assert_eq!(
        (written[1].event.as_str(), written[1].time_ms),
        ("pre_tool", 1_700_000_000_002)
    );
    assert_eq!(
        written[0].dispatch.to_value(),
        serde_json::to_value(dispatch("s", 1)).unwrap()
    );
    store.trace("s", dispatch("s", 3));
    store.end_session("s", "done").await.unwrap();
    assert_eq!(store.record().dispatches_of("s").unwrap().len(), 3);
    store.trace("s", dispatch("s", 4));
    store.close().await.unwrap();
    store.close().await.unwrap();
    assert_mentions(
        &failure(store.append("s", vec![note("b")]).await),
        &["closed", "becket.db"],
    );

    // Without any other write, neither `close` nor dropping the store forgets them.
    let store = home.open();
    assert_eq!(store.record().dispatches_of("s").unwrap().len(), 4);
    store.trace("s", dispatch("s", 5));
    store.close().await.unwrap();
    let store = home.open();
    store.trace("s", dispatch("s", 6));
    drop(store);
    assert_eq!(home.open().record().dispatches_of("s").unwrap().len(), 6);
}

#[tokio::test]
async fn spans_stand_beside_dispatches_and_are_written_soon_without_any_other_write() {
    let home = Home::new();
    let store = home.open();
    store.begin_session(session("s", "c")).await.unwrap();
    let child = NewSession {
        parent_session_id: Some("s".into()),
        ..session("child", "c")
    };
    store.begin_session(child).await.unwrap();
    store.trace("s", dispatch("s", 1));
    let span = Span {
        kind: SpanKind::ToolCall,
        name: "shell".into(),
        turn: 1,
        time_us: 7,
        duration_us: 3,
        tool_call_id: Some("call-1".into()),
        parent_tool_call_id: None,
        facts: json!({"allowed_by": "yes"}),
    };
    store.span("child", span.clone());
    let deadline = Instant::now() + Duration::from_secs(20);
    while store.record().of_session("s", 0).unwrap().len() < 2 {
        assert!(Instant::now() < deadline, "the span never arrived");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let record = store.record().of_session("s", 0).unwrap();
    let kinds: Vec<_> = record
        .iter()
        .map(|item| (item.session_id.as_str(), item.name.as_str(), item.is_span))
        .collect();
    assert_eq!(kinds, [("s", "pre_tool", false), ("child", "tool_call", true)]);
    assert_eq!(record[1].json.to_value(), serde_json::to_value(&span).unwrap());
    assert!(store.record().of_session("s", record[1].seq).unwrap().is_empty());
    assert_eq!(
        store.record().dispatches_of("child").unwrap().len(),
        0,
        "a span is no dispatch"
    );
    assert_eq!(
        store.record().newest_spans(SpanKind::ToolCall, 9).unwrap().len(),
        1
    );
    assert_eq!(store.record().newest_spans(SpanKind::Turn, 9).unwrap().len(), 0);
    assert_eq!(store.record().newest_dispatches(9).unwrap().len(), 1);
}

#[tokio::test]
async fn many_traces_are_written_without_any_other_write() {
    let home = Home::new();
    let store = home.open();
    for turn in 0..600 {
        store.trace("s", dispatch("s", turn));
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while store.record().dispatches_of("s").unwrap().len() < 256 {
        assert!(Instant::now() < deadline, "the traces never arrived");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    drop(store);
    let turns: Vec<u64> = home
        .open()
        .record()
        .dispatches_of("s")
        .unwrap()
        .iter()
        .map(|trace| trace.time_ms)
        .collect();
    let expected: Vec<u64> = (0..600).map(|turn| 1_700_000_000_000 + turn).collect();
    assert_eq!(turns, expected);
}

// ---- several at once ----

#[tokio::test]
async fn requests_that_wait_together_fail_alone() {
    let home = Home::new();
    let store = Arc::new(home.open());
    store.begin_session(session("s", "c")).await.unwrap();
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let store = Arc::clone(&store);
            // Every tenth repeats the id of the one before it.
            let id = if number % 10 == 9 { number - 1 } else { number };
            tokio::spawn(async move { store.append("s", vec![note(&format!("e{id}"))]).await })
        })
        .collect();
    let mut failed = 0;
    for task in tasks {
        if let Err(error) = task.await.unwrap() {
            assert_mentions(&error.message, &["already has an entry"]);
            failed += 1;
        }
    }
    assert_eq!(failed, 20);
    let entries = store.entries("c").unwrap();
    assert_eq!(entries.len(), 180);
    assert_is_path(&entries);
}

#[tokio::test]
async fn several_handles_open_and_write_one_file_at_once() {
    let home = Home::new();
    let file = home.file();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let file = file.clone();
            std::thread::spawn(move || block_on(append_many(&file, &format!("w{writer}"), 50)))
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    let store = home.open();
    let tree = store.tree("shared").unwrap();
    assert_eq!(tree.len(), 200);
    for writer in 0..4 {
        let own: Vec<&StoredEntry> = tree
            .iter()
            .filter(|entry| entry.session_id == format!("w{writer}"))
            .collect();
        assert_eq!(own.len(), 50);
        for pair in own.windows(2) {
            assert_eq!(
                pair[1].parent_id.as_ref(),
                Some(&pair[0].id),
                "a session's entries follow each other"
            );
        }
    }
    assert_eq!(store.integrity_check().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_lock_that_is_never_given_back_ends_in_a_clear_error() {
    let home = Home::new();
    let store = SqliteStore::open_with_timeout(home.file(), Duration::from_millis(300)).unwrap();
    store.begin_session(session("s", "c")).await.unwrap();
    let other = rusqlite::Connection::open(home.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = failure(store.append("s", vec![note("a")]).await);
    assert_mentions(&error, &["another process", "becket.db", "locked", "try again"]);
    assert!(
        store.entries("c").unwrap().is_empty(),
        "readers do not wait for writers"
    );
    other.execute_batch("COMMIT").unwrap();
    store.append("s", vec![note("a")]).await.unwrap();
    assert_eq!(store.entries("c").unwrap().len(), 1);
}

#[tokio::test]
async fn each_message_is_consumed_once_by_sessions_that_drain_at_the_same_time() {
    let home = Home::new();
    let sender = home.open();
    let inbox = name("inbox");
    let drainers: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|id| {
            let file = home.file();
            std::thread::spawn(move || block_on(drain_until_stopped(&file, id)))
        })
        .collect();
    let sent: Vec<i64> = {
        let mut sent = Vec::new();
        for number in 0..150 {
            sent.push(
                sender
                    .inboxes()
                    .push(&inbox, "sender", json!({"number": number}).into())
                    .await
                    .unwrap(),
            );
        }
        for _ in &drainers {
            sent.push(
                sender
                    .inboxes()
                    .push(&inbox, "sender", json!("stop").into())
                    .await
                    .unwrap(),
            );
        }
        sent
    };
    // A drainer that takes both stops leaves none for the other.
    let deadline = Instant::now() + Duration::from_secs(30);
    while !drainers.iter().all(std::thread::JoinHandle::is_finished) {
        assert!(Instant::now() < deadline, "the drainers never saw the end");
        if drainers.iter().any(std::thread::JoinHandle::is_finished) {
            sender
                .inboxes()
                .push(&inbox, "sender", json!("stop").into())
                .await
                .unwrap();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let drained: Vec<i64> = drainers
        .into_iter()
        .flat_map(|drainer| drainer.join().unwrap())
        .collect();
    let distinct: HashSet<i64> = drained.iter().copied().collect();
    assert_eq!(distinct.len(), drained.len(), "a message was consumed twice");
    assert!(sent.iter().all(|id| distinct.contains(id)), "a message was lost");
    let entries: HashSet<String> = sender
        .tree("inbox")
        .unwrap()
        .into_iter()
        .map(|entry| entry.id)
        .collect();
    let expected: HashSet<String> = drained.iter().map(|id| format!("message-{id}")).collect();
    assert_eq!(entries, expected, "what was consumed is what was appended");
}

async fn drain_until_stopped(file: &Path, id: &str) -> Vec<i64> {
    let store = SqliteStore::open(file).unwrap();
    store.begin_session(session(id, "inbox")).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut drained = Vec::new();
    loop {
        let messages = store
            .inboxes()
            .drain(id, |messages| {
                messages
                    .iter()
                    .map(|message| note(&format!("message-{}", message.id)))
                    .collect()
            })
            .await
            .unwrap();
        assert!(messages.is_sorted_by_key(|message| message.id));
        drained.extend(messages.iter().map(|message| message.id));
        if messages
            .iter()
            .any(|message| message.content == Json::from(json!("stop")))
            || Instant::now() > deadline
        {
            return drained;
        }
    }
}

#[tokio::test]
async fn consuming_and_appending_happen_together_or_not_at_all() {
    let home = Home::new();
    let store = home.open();
    let context = name("c");
    let one = store
        .inboxes()
        .push(&context, "x", json!(1).into())
        .await
        .unwrap();
    let two = store
        .inboxes()
        .push(&context, "x", json!(2).into())
        .await
        .unwrap();
    let elsewhere = store
        .inboxes()
        .push(&name("d"), "x", json!(3).into())
        .await
        .unwrap();
    assert!(
        !store.begin_session(session("s", "c")).await.unwrap().resumed,
        "a message makes no context"
    );

    assert_eq!(
        store
            .append_consuming("s", vec![note("a")], vec![one])
            .await
            .unwrap(),
        Consumed::All
    );
    let again = store
        .append_consuming("s", vec![note("b")], vec![two, one])
        .await
        .unwrap();
    assert_eq!(again, Consumed::TakenByAnother);
    let foreign = store
        .append_consuming("s", vec![note("b")], vec![elsewhere])
        .await
        .unwrap();
    assert_eq!(foreign, Consumed::TakenByAnother);
    failure(store.append_consuming("s", vec![note("a")], vec![two]).await);
    assert_eq!(ids(&store.entries("c").unwrap()), ["a"]);
    let waiting = store.inboxes().waiting_for("c").unwrap();
    assert_eq!(
        waiting.iter().map(|message| message.id).collect::<Vec<_>>(),
        [two]
    );
    assert_eq!(
        (waiting[0].sender.as_str(), waiting[0].content.text()),
        ("x", "2")
    );
}

// ---- other processes ----

/// An environment variable of the child processes: the file to work on.
const CHILD_FILE: &str = "BECKET_STORE_TEST_FILE";
/// An environment variable of the child processes: the name of the run.
const CHILD_RUN: &str = "BECKET_STORE_TEST_RUN";

#[tokio::test]
async fn two_processes_write_one_context_without_mixing() {
    let home = Home::new();
    let children = ["p1", "p2"].map(|run| start_child("child_appends_many", &home.file(), run));
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = home.open();
    let tree = store.tree("shared").unwrap();
    assert_eq!(tree.len(), 200);
    for run in ["p1", "p2"] {
        let own: Vec<_> = tree
            .iter()
            .filter(|entry| entry.session_id == run)
            .map(|entry| entry.id.clone())
            .collect();
        let expected: Vec<_> = (0..100).map(|number| format!("{run}-{number}")).collect();
        assert_eq!(own, expected);
    }
    assert_is_path(&store.entries("shared").unwrap());
    assert_eq!(store.integrity_check().unwrap(), Vec::<String>::new());
}

/// Not a test of its own: the body of the processes above.
#[test]
fn child_appends_many() {
    if let Some((file, run)) = child_task() {
        block_on(append_many(&file, &run, 100));
    }
}

async fn append_many(file: &Path, run: &str, count: usize) {
    let store = SqliteStore::open_with_timeout(file, Duration::from_secs(60)).unwrap();
    store.begin_session(session(run, "shared")).await.unwrap();
    for number in 0..count {
        store
            .append(run, vec![note(&format!("{run}-{number}"))])
            .await
            .unwrap();
    }
    store.close().await.unwrap();
}

#[test]
fn sigkill_at_any_moment_loses_and_doubles_nothing_that_was_confirmed() {
    const KILLS: u64 = 200;
    let home = Home::new();
    let seed = uuid::Uuid::now_v7().as_u128() as u64;
    let mut random = Random(seed | 1);
    let mut confirmed: Vec<String> = Vec::new();
    let mut runs_with_entries = 0;
    for run in 0..KILLS {
        let report = run_and_kill(&home.file(), &format!("r{run}"), &mut random);
        runs_with_entries += u64::from(!report.confirmed.is_empty());
        if let Some(resumed_at) = &report.resumed_at {
            assert_resumes_after(confirmed.last(), resumed_at, seed);
        }
        confirmed.extend(report.confirmed);
        let store = home.open();
        assert_eq!(
            store.integrity_check().unwrap(),
            Vec::<String>::new(),
            "run {run}, seed {seed}"
        );
        if run % 20 == 19 || run == KILLS - 1 {
            assert_holds_exactly(&store, &confirmed, seed);
        }
    }
    assert!(
        runs_with_entries > KILLS / 4,
        "only {runs_with_entries} runs got as far as writing; seed {seed}"
    );

    // And the next run goes on where the last one was killed.
    block_on(async {
        let store = home.open();
        let opened = store.begin_session(session("last", "killed")).await.unwrap();
        assert!(opened.resumed);
        store.append("last", vec![note("the end")]).await.unwrap();
        let entries = store.entries("killed").unwrap();
        assert_eq!(entries.len(), opened.entries.len() + 1);
        assert_eq!(entries.last().unwrap().id, "the end");
    });
}

#[test]
fn a_store_whose_maker_was_killed_opens_all_the_same() {
    let seed = uuid::Uuid::now_v7().as_u128() as u64;
    let mut random = Random(seed | 1);
    for _ in 0..25 {
        let home = Home::new();
        let mut child = start_child("child_appends_until_killed", &home.file(), "r0");
        let deadline = Instant::now() + Duration::from_secs(20);
        while !home.file().exists() {
            assert!(Instant::now() < deadline, "the store was never made");
        }
        std::thread::sleep(Duration::from_micros(random.below(4_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let store = home.open();
        assert_eq!(
            store.integrity_check().unwrap(),
            Vec::<String>::new(),
            "seed {seed}"
        );
        block_on(async {
            store.begin_session(session("next", "killed")).await.unwrap();
            store.append("next", vec![note("next")]).await.unwrap();
        });
    }
}

/// The output of a killed process.
struct Report {
    /// The entry at which the process found the context, `-` for none; `None` if it was killed before it could say so.
    resumed_at: Option<String>,
    confirmed: Vec<String>,
}

/// Starts a process that appends without end, and kills it at a random moment: sometimes while it starts, mostly
/// while it writes.
fn run_and_kill(file: &Path, run: &str, random: &mut Random) -> Report {
    let mut child = start_child("child_appends_until_killed", file, run);
    let output = BufReader::new(child.stdout.take().unwrap());
    let (said, hear) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut report = Report {
            resumed_at: None,
            confirmed: Vec::new(),
        };
        for line in output.split(b'\n') {
            let line = String::from_utf8(line.unwrap()).unwrap();
            // The frame of the test binary writes to the same place; a torn last line has no end mark.
            let Some(line) = line.strip_suffix(" .") else {
                continue;
            };
            if let Some(entry) = line.strip_prefix("resumed at ") {
                report.resumed_at = Some(entry.to_owned());
            } else if let Some(ids) = line.strip_prefix("confirmed ") {
                report.confirmed.extend(ids.split(' ').map(str::to_owned));
            }
            let _ = said.send(());
        }
        report
    });
    // The process first prints where it resumes, and then a line after every append.
    for _ in 0..random.below(4) {
        let _ = hear.recv_timeout(Duration::from_secs(20));
    }
    std::thread::sleep(Duration::from_micros(random.below(12_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// Not a test of its own: the body of the processes that are killed.
#[test]
fn child_appends_until_killed() {
    let Some((file, run)) = child_task() else { return };
    let say = |line: String| {
        let mut output = std::io::stdout().lock();
        writeln!(output, "\n{line} .")
            .and_then(|()| output.flush())
            .unwrap();
    };
    block_on(async {
        let store = SqliteStore::open(file).unwrap();
        let opened = store.begin_session(session(&run, "killed")).await.unwrap();
        say(format!(
            "resumed at {}",
            opened.entries.last().map_or("-", |entry| &entry.id)
        ));
        for round in 0..100_000 {
            // Up to three entries at once, of different sizes; each id says how many belong together.
            let size = round % 3 + 1;
            let ids: Vec<String> = (1..=size)
                .map(|part| format!("{run}-{round}-{part}/{size}"))
                .collect();
            let entries = ids
                .iter()
                .map(|id| says(id, &id.repeat(round % 7 * 10)))
                .collect();
            store.trace(&run, dispatch(&run, 1));
            store.append(&run, entries).await.unwrap();
            say(format!("confirmed {}", ids.join(" ")));
        }
    });
}

/// Asserts that the context is at the last confirmed entry, or at one that was written and not confirmed any more.
fn assert_resumes_after(last_confirmed: Option<&String>, resumed_at: &str, seed: u64) {
    let Some(last) = last_confirmed else { return };
    let place = |id: &str| -> (u64, u64) {
        let mut numbers = id
            .trim_start_matches('r')
            .split('-')
            .map(|part| part.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    };
    assert!(
        place(resumed_at) >= place(last),
        "{last} was confirmed, but {resumed_at} came next; seed {seed}"
    );
}

/// Asserts that the path to the context's current entry holds everything that was confirmed, once and in order, that
/// whatever else it holds are whole appends, and that there are no other branches.
fn assert_holds_exactly(store: &SqliteStore, confirmed: &[String], seed: u64) {
    let entries = store.entries("killed").unwrap();
    assert_is_path(&entries);
    assert_eq!(
        ids(&store.tree("killed").unwrap()),
        ids(&entries),
        "one branch; seed {seed}"
    );
    let distinct: HashSet<&str> = ids(&entries).into_iter().collect();
    assert_eq!(distinct.len(), entries.len(), "nothing is doubled; seed {seed}");
    let known: HashSet<&str> = confirmed.iter().map(String::as_str).collect();
    let found: Vec<&str> = ids(&entries)
        .into_iter()
        .filter(|id| known.contains(id))
        .collect();
    assert_eq!(
        found, confirmed,
        "everything confirmed is there, in order; seed {seed}"
    );
    for id in ids(&entries) {
        let (append, part) = id.rsplit_once('-').unwrap();
        let size: usize = part.split_once('/').unwrap().1.parse().unwrap();
        let all = (1..=size).all(|part| distinct.contains(format!("{append}-{part}/{size}").as_str()));
        assert!(all, "{append} was stored in part; seed {seed}");
    }
}

/// Starts this test binary again, with only the named function to run.
fn start_child(function: &str, file: &Path, run: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", function, "--nocapture", "--test-threads=1"])
        .env(CHILD_FILE, file)
        .env(CHILD_RUN, run)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The file and the run for this process, if it is a child of a test.
fn child_task() -> Option<(PathBuf, String)> {
    Some((
        std::env::var_os(CHILD_FILE)?.into(),
        std::env::var(CHILD_RUN).ok()?,
    ))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// A small generator of numbers (xorshift); a failing test names its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn letter(to: &str, content: &str, origin: Option<&str>) -> Letter {
    Letter {
        to: to.into(),
        from: "sender".into(),
        content: content.into(),
        origin: origin.map(Into::into),
    }
}

/// The promises of both stores about letters.
async fn assert_letters_are_shown_once(store: &dyn Store) {
    store.begin_session(session("s", "c")).await.unwrap();
    store.begin_session(session("other", "d")).await.unwrap();
    let letters = vec![
        letter("c", "one", None),
        letter("c", "two", Some("file 1")),
        letter("d", "three", None),
    ];
    store.deliver(letters).await.unwrap();
    store
        .deliver(vec![letter("c", "two", Some("file 1"))])
        .await
        .unwrap();
    let refused = store
        .deliver(vec![letter("c", "x", None), letter("no/name", "x", None)])
        .await;
    assert_mentions(&failure(refused), &["cannot be the name of a context"]);
    let waiting = store.inbox("c").await.unwrap();
    let words: Vec<&str> = waiting.iter().map(|letter| letter.content.as_str()).collect();
    assert_eq!(words, ["one", "two"], "all or none, and one of each origin");
    let ids: Vec<i64> = waiting.iter().map(|letter| letter.id).collect();
    let foreign = store
        .append_consuming("other", vec![note("foreign")], ids.clone())
        .await
        .unwrap();
    assert_eq!(foreign, Consumed::TakenByAnother);
    let consumed = store
        .append_consuming("s", vec![note("shown")], ids.clone())
        .await
        .unwrap();
    assert_eq!(consumed, Consumed::All);
    let again = store
        .append_consuming("s", vec![note("again")], ids[1..].to_vec())
        .await
        .unwrap();
    assert_eq!(again, Consumed::TakenByAnother);
    store
        .deliver(vec![letter("c", "two", Some("file 1"))])
        .await
        .unwrap();
    assert!(
        store.inbox("c").await.unwrap().is_empty(),
        "a letter that was shown is not delivered again"
    );
    assert_eq!(store.inbox("d").await.unwrap().len(), 1);
    let mut names = store.context_names().await.unwrap();
    names.sort();
    assert_eq!(names, ["c", "d"]);
    assert_eq!(
        store
            .append_consuming("s", vec![note("more")], Vec::new())
            .await
            .unwrap(),
        Consumed::All
    );
    let refused = store
        .append_consuming("s", vec![note("more")], Vec::new())
        .await
        .map(drop);
    assert_mentions(&failure(refused), &["already has an entry"]);
}

#[tokio::test]
async fn letters_are_shown_once_and_delivered_once() {
    let home = Home::new();
    let store = home.open();
    assert_letters_are_shown_once(&store).await;
    assert_eq!(store.inboxes().contexts().unwrap(), ["d"]);
    assert_eq!(store.tree("c").unwrap().len(), 2, "what was refused left nothing");
    let memory = MemoryStore::new();
    assert_letters_are_shown_once(&memory).await;
    assert_eq!(memory.entries("c").len(), 2);
}
