//! The life of contexts: chosen, renamed, cleared, destroyed in time, and claimed by one process at a time.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use becket_agent::store::{EntryContent, NewEntry, NewSession, Store, StoredEntry};
use becket_store::{ChosenContexts, ContextName, Due, Lifetime, MemoryStore, Project, SqliteStore};
use serde_json::json;

fn store() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("data").join("becket.db")).unwrap();
    (folder, store)
}

fn name(text: &str) -> ContextName {
    ContextName::parse(text).unwrap()
}

fn session(id: &str, context: &str) -> NewSession {
    NewSession {
        session_id: id.into(),
        parent_session_id: None,
        context_name: context.into(),
        model: "scripted/model".into(),
        cwd: "/".into(),
    }
}

fn note(id: &str) -> NewEntry {
    NewEntry {
        id: id.into(),
        time_ms: 1_700_000_000_000,
        content: EntryContent::Custom {
            kind: "note".into(),
            data: json!(id),
        },
    }
}

fn ids(entries: &[StoredEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

fn chosen(current: &str, previous: Option<&str>) -> ChosenContexts {
    ChosenContexts {
        current: current.into(),
        previous: previous.map(Into::into),
    }
}

/// A context with some entries, written by a session of its own name.
async fn fill(store: &dyn Store, context: &str, entries: &[&str]) {
    store.begin_session(session(context, context)).await.unwrap();
    let entries = entries.iter().map(|id| note(id)).collect();
    store.append(context, entries).await.unwrap();
}

fn assert_intact(store: &SqliteStore) {
    assert_eq!(store.integrity_check().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn the_choice_of_a_context_lasts_and_the_one_before_is_remembered() {
    let (folder, store) = store();
    assert_eq!(store.chosen().unwrap(), chosen("default", None));
    store.make_current("work").await.unwrap();
    store.make_current("work").await.unwrap();
    assert_eq!(store.chosen().unwrap(), chosen("work", Some("default")));
    store.make_current("play").await.unwrap();
    assert!(store.make_current("a/b").await.is_err());
    store.close().await.unwrap();
    let again = SqliteStore::open(folder.path().join("data").join("becket.db")).unwrap();
    assert_eq!(again.chosen().unwrap(), chosen("play", Some("work")));
    let memory = MemoryStore::new();
    memory.make_current("work").await.unwrap();
    assert_eq!(memory.current().as_deref(), Some("work"));
}

#[tokio::test]
async fn eight_handles_that_switch_at_once_leave_one_current_context() {
    let (folder, store) = store();
    let file = folder.path().join("data").join("becket.db");
    let switches = (0..8).map(|number| {
        let other = SqliteStore::open(&file).unwrap();
        async move { other.make_current(&format!("c{number}")).await.unwrap() }
    });
    futures_util::future::join_all(switches).await;
    let ChosenContexts { current, previous } = store.chosen().unwrap();
    let previous = previous.expect("one was current before the last");
    assert!(
        current.starts_with('c') && previous.starts_with('c'),
        "{current} {previous}"
    );
    assert_ne!(current, previous);
    assert_intact(&store);
}

#[tokio::test]
async fn each_project_has_its_own_current_context_and_names_are_shared() {
    let (folder, everywhere) = store();
    let of = |root: &str| {
        let store = SqliteStore::open(everywhere.path()).unwrap();
        store.in_project(Project::at(&folder.path().join(root)))
    };
    let (one, two) = (of("one"), of("two"));
    let first = |store: &SqliteStore| store.chosen().unwrap().current;
    let (of_one, of_two) = (first(&one), first(&two));
    assert!(
        of_one.starts_with("one-") && of_two.starts_with("two-"),
        "{of_one} {of_two}"
    );
    one.make_current("work").await.unwrap();
    assert_eq!(one.chosen().unwrap(), chosen("work", Some(&of_one)));
    assert_eq!(two.chosen().unwrap(), chosen(&of_two, None));
    assert_eq!(everywhere.chosen().unwrap(), chosen("default", None));
    // A change of a context concerns every project in which it is current, whoever makes it.
    fill(&one, "work", &["x"]).await;
    two.make_current("work").await.unwrap();
    everywhere
        .rename_context(&name("work"), &name("play"))
        .await
        .unwrap();
    assert_eq!((first(&one), first(&two)), ("play".into(), "play".into()));
    everywhere.delete_context(&name("play")).await.unwrap();
    assert_eq!(one.chosen().unwrap(), chosen(&of_one, None));
    assert_eq!(two.chosen().unwrap(), chosen(&of_two, None));
    // Also for a project's first one, which was never chosen: a rename does not lose it, here or from elsewhere.
    let (three, four) = (of("three"), of("four"));
    let (of_three, of_four) = (first(&three), first(&four));
    fill(&three, &of_three, &["kept"]).await;
    everywhere
        .rename_context(&name(&of_three), &name("mine"))
        .await
        .unwrap();
    assert_eq!(first(&three), "mine");
    four.create_context(&name(&of_four)).await.unwrap();
    four.rename_context(&name(&of_four), &name("yours"))
        .await
        .unwrap();
    assert_eq!(first(&four), "yours");
    assert_eq!(everywhere.chosen().unwrap(), chosen("default", None));
    assert_intact(&everywhere);
}

fn named(id: &str, name: &str) -> NewEntry {
    NewEntry {
        content: EntryContent::Name { name: name.into() },
        ..note(id)
    }
}

#[tokio::test]
async fn sessions_bear_the_name_of_their_conversation() {
    let (_folder, store) = store();
    let names = || {
        let sessions = store.sessions(None).unwrap().into_iter();
        let mut names: Vec<_> = sessions.map(|session| (session.id, session.name)).collect();
        names.sort();
        names
    };
    let expected = |names: &[(&str, Option<&str>)]| -> Vec<(String, Option<String>)> {
        let names = names.iter();
        names
            .map(|(id, name)| ((*id).into(), name.map(Into::into)))
            .collect()
    };
    store.begin_session(session("a", "work")).await.unwrap();
    store
        .append("a", vec![note("1"), named("2", "first"), named("3", "second")])
        .await
        .unwrap();
    store.append("a", vec![note("4")]).await.unwrap();
    // The next session continues with it; a sub-agent and another context do not.
    store.begin_session(session("b", "work")).await.unwrap();
    let below = NewSession {
        parent_session_id: Some("b".into()),
        ..session("c", "work")
    };
    store.begin_session(below).await.unwrap();
    store.begin_session(session("d", "other")).await.unwrap();
    let all = [
        ("a", Some("second")),
        ("b", Some("second")),
        ("c", None),
        ("d", None),
    ];
    assert_eq!(names(), expected(&all));
    store.append("b", vec![named("5", "third")]).await.unwrap();
    // The cleared conversation took its name along.
    store.clear("b").await.unwrap();
    store.begin_session(session("e", "work")).await.unwrap();
    let all = [
        ("a", Some("second")),
        ("b", None),
        ("c", None),
        ("d", None),
        ("e", None),
    ];
    assert_eq!(names(), expected(&all));
    assert_intact(&store);
}

async fn clears(store: &dyn Store) {
    fill(store, "work", &["one", "two"]).await;
    store.clear("work").await.unwrap();
    // The session itself goes on at the beginning, and so does the next one.
    store.append("work", vec![note("three")]).await.unwrap();
    let opened = store.begin_session(session("later", "work")).await.unwrap();
    assert!(opened.resumed);
    assert_eq!(ids(&opened.entries), ["three"]);
    assert_eq!(opened.entries[0].parent_id, None);
    store.clear("later").await.unwrap();
    // Nothing to archive.
    store.clear("later").await.unwrap();
    assert!(store.clear("nobody").await.is_err());
    let opened = store.begin_session(session("last", "work")).await.unwrap();
    assert!(opened.entries.is_empty());
}

#[tokio::test]
async fn what_was_cleared_stays_readable_in_both_stores() {
    let (_folder, store) = store();
    clears(&store).await;
    let archives = store.archived("work").unwrap();
    let archived: Vec<Vec<&str>> = archives.iter().map(|archive| ids(&archive.entries)).collect();
    assert_eq!(archived, [vec!["one", "two"], vec!["three"]]);
    assert!(archives[0].time_ms >= archives[0].entries[1].time_ms);
    let context = store.context("work").unwrap().unwrap();
    assert_eq!((context.message_count, context.archive_count), (0, 2));
    assert!(store.archived("nowhere").is_err());
    assert_intact(&store);
    let memory = MemoryStore::new();
    clears(&memory).await;
    let archives = memory.archived("work");
    let archived: Vec<Vec<&str>> = archives.iter().map(|entries| ids(entries)).collect();
    assert_eq!(archived, [vec!["one", "two"], vec!["three"]]);
}

#[tokio::test]
async fn a_renamed_context_keeps_everything_and_stays_chosen() {
    let (_folder, store) = store();
    fill(&store, "old", &["gone"]).await;
    store.clear("old").await.unwrap();
    store.append("old", vec![note("kept")]).await.unwrap();
    store.make_current("old").await.unwrap();
    store
        .inboxes()
        .push(&name("old"), "me", json!("hello").into())
        .await
        .unwrap();
    let lifetime = Lifetime {
        destroy_at_ms: Some(u64::MAX),
        destroy_after_ms: Some(5_000),
    };
    store.set_lifetime(&name("old"), lifetime).await.unwrap();
    store.rename_context(&name("old"), &name("new")).await.unwrap();
    assert_eq!(ids(&store.entries("new").unwrap()), ["kept"]);
    assert_eq!(ids(&store.archived("new").unwrap()[0].entries), ["gone"]);
    assert_eq!(store.inboxes().waiting_for("new").unwrap().len(), 1);
    assert_eq!(store.chosen().unwrap(), chosen("new", Some("default")));
    assert!(store.context("old").unwrap().is_none());
    let found = store.context("new").unwrap().unwrap();
    assert_eq!(found.lifetime.destroy_after_ms, Some(5_000));
    // A session that runs meanwhile goes on.
    store.append("old", vec![note("after")]).await.unwrap();
    assert_eq!(ids(&store.entries("new").unwrap()), ["kept", "after"]);
    // Neither a name that is taken nor one that does not exist.
    fill(&store, "other", &[]).await;
    let taken = store
        .rename_context(&name("new"), &name("other"))
        .await
        .unwrap_err();
    assert!(taken.message.contains("already"), "{taken}");
    let absent = store.rename_context(&name("old"), &name("x")).await.unwrap_err();
    assert!(absent.message.contains("no context"), "{absent}");
    assert_intact(&store);
}

#[tokio::test]
async fn a_destroyed_context_is_not_chosen_any_more() {
    let (_folder, store) = store();
    for context in ["a", "b"] {
        fill(&store, context, &["x"]).await;
        store.clear(context).await.unwrap();
        store.make_current(context).await.unwrap();
    }
    assert!(store.delete_context(&name("b")).await.unwrap());
    assert_eq!(store.chosen().unwrap(), chosen("a", None));
    assert!(store.delete_context(&name("a")).await.unwrap());
    assert_eq!(store.chosen().unwrap(), chosen("default", None));
    store.make_current("c").await.unwrap();
    store.delete_context(&name("default")).await.unwrap();
    assert_eq!(
        store.chosen().unwrap(),
        chosen("c", None),
        "a previous one is forgotten, too"
    );
    assert_intact(&store);
}

#[tokio::test]
async fn contexts_are_due_at_their_time_or_when_nothing_happens() {
    let (_folder, store) = store();
    const NEVER: Option<u64> = Some(u64::MAX);
    let table = [
        ("no-limit", None, None, None),
        ("past", Some(1), None, Some(Due::Time)),
        ("future", NEVER, None, None),
        ("idle", None, Some(0), Some(Due::Inactive)),
        ("busy", None, NEVER, None),
        ("both", Some(1), NEVER, Some(Due::Time)),
        ("later", NEVER, Some(0), Some(Due::Inactive)),
    ];
    for (context, destroy_at_ms, destroy_after_ms, _) in table {
        let lifetime = Lifetime {
            destroy_at_ms,
            destroy_after_ms,
        };
        fill(&store, context, &["x"]).await;
        store.set_lifetime(&name(context), lifetime).await.unwrap();
    }
    assert!(
        store
            .set_lifetime(&name("nowhere"), Lifetime::default())
            .await
            .is_err()
    );
    let due = store.due().unwrap();
    for (context, _, _, expected) in table {
        let found = due.iter().find(|(name, _)| name == context).map(|(_, why)| *why);
        assert_eq!(found, expected, "{context}");
        assert_eq!(
            store.delete_if_due(&name(context)).await.unwrap(),
            expected.is_some()
        );
        assert_eq!(store.context(context).unwrap().is_none(), expected.is_some());
    }
    assert_intact(&store);
}

#[test]
fn a_claim_keeps_others_out_until_it_is_dropped() {
    let (_folder, store) = store();
    let claim = store.claim(&name("work")).unwrap().expect("nobody has it");
    assert!(store.claim(&name("work")).unwrap().is_none());
    assert_eq!(store.claimed_by(&name("work")), Some(std::process::id()));
    assert!(store.claim(&name("play")).unwrap().is_some());
    drop(claim);
    assert_eq!(store.claimed_by(&name("work")), None, "nothing is left behind");
    assert!(store.claim(&name("work")).unwrap().is_some());
}

#[test]
fn many_who_want_a_claim_at_once_have_it_one_after_another() {
    let (_folder, store) = store();
    let held = std::sync::atomic::AtomicU32::new(0);
    let order = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    if let Some(claim) = store.claim(&name("work")).unwrap() {
                        assert_eq!(held.fetch_add(1, order), 0, "two had it");
                        std::thread::yield_now();
                        held.fetch_sub(1, order);
                        drop(claim);
                    }
                }
            });
        }
    });
}

#[test]
fn a_claim_of_a_killed_process_blocks_nobody() {
    let (folder, store) = store();
    let test = std::env::current_exe().unwrap();
    let mut child = Command::new(test)
        .args(["--exact", "child_claims_and_waits", "--nocapture"])
        .env("CLAIM_IN", folder.path().join("data").join("becket.db"))
        .stdout(Stdio::piped())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("claimed")));
    assert!(store.claim(&name("work")).unwrap().is_none());
    assert_eq!(store.claimed_by(&name("work")), Some(child.id()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(store.claim(&name("work")).unwrap().is_some());
}

/// The other process of the test above; by itself it does nothing.
#[test]
#[allow(clippy::print_stdout, reason = "its parent waits for a word")]
fn child_claims_and_waits() {
    let Some(file) = std::env::var_os("CLAIM_IN") else {
        return;
    };
    let store = SqliteStore::open(file).unwrap();
    let _claim = store.claim(&name("work")).unwrap().expect("nobody has it");
    println!("claimed");
    // Until the parent kills it or is gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}
