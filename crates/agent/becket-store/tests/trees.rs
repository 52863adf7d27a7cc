//! Conversations as trees: whatever is done to them in whatever order, both stores agree, nothing is lost, and the
//! current entry is where it was put.

use std::collections::HashMap;

use becket_agent::store::{
    EntryContent, NewEntry, NewSession, Noted, Origin, Seed, SeedEntry, Store, StoredEntry, Tree,
};
use becket_store::{ContextName, MemoryStore, SqliteStore};
use serde_json::json;

fn session(id: &str, context: &str) -> NewSession {
    NewSession {
        session_id: id.into(),
        parent_session_id: None,
        context_name: context.into(),
        model: "scripted/model".into(),
        cwd: "/".into(),
    }
}

fn entry(id: &str) -> NewEntry {
    NewEntry {
        id: id.into(),
        time_ms: 1,
        content: EntryContent::Custom {
            kind: "note".into(),
            data: json!(id),
        },
    }
}

/// Pseudo-random numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// The expected conversation: each entry with its parent, in order, and the current one.
#[derive(Default)]
struct Expected {
    parents: Vec<(String, Option<String>)>,
    leaf: Option<String>,
}

impl Expected {
    fn append(&mut self, id: &str) {
        self.parents.push((id.into(), self.leaf.replace(id.into())));
    }

    fn path(&self) -> Vec<String> {
        let parents: HashMap<&str, Option<&str>> = self
            .parents
            .iter()
            .map(|(id, parent)| (id.as_str(), parent.as_deref()))
            .collect();
        let mut path = Vec::new();
        let mut next = self.leaf.as_deref();
        while let Some(id) = next {
            path.push(id.to_owned());
            next = parents[id];
        }
        path.reverse();
        path
    }
}

fn ids<'a>(entries: impl IntoIterator<Item = &'a StoredEntry>) -> Vec<String> {
    entries.into_iter().map(|entry| entry.id.clone()).collect()
}

fn check(tree: &Tree, expected: &Expected) {
    let found: Vec<(String, Option<String>)> = tree
        .entries()
        .iter()
        .map(|entry| (entry.id.clone(), entry.parent_id.clone()))
        .collect();
    assert_eq!(found, expected.parents);
    assert_eq!(tree.leaf_id(), expected.leaf.as_deref());
    assert_eq!(ids(tree.path().iter().map(AsRef::as_ref)), expected.path());
    for (id, parent) in &expected.parents {
        let children = tree.children(parent.as_deref());
        assert!(children.iter().any(|child| child.id == *id));
        let (common, left) = tree.left_for(id);
        let target = ids(tree.path_to(Some(id)).iter().map(AsRef::as_ref));
        let shared = common.map_or(0, |common| {
            target.iter().position(|id| *id == common.id).unwrap() + 1
        });
        assert_eq!(target[..shared], expected.path()[..shared]);
        assert_eq!(
            shared + left.len(),
            expected.path().len(),
            "what is left is the rest of the way"
        );
    }
}

/// A copy of the path to the current entry.
fn seed(tree: &Tree) -> Seed {
    let copied = |entry: &StoredEntry| SeedEntry {
        parent_id: entry.parent_id.clone(),
        entry: self::entry(&entry.id),
        source: None,
    };
    Seed {
        entries: tree.path().iter().map(|entry| copied(entry)).collect(),
        leaf_id: tree.leaf_id().map(Into::into),
        origin: Origin::Import { header: json!({}) },
    }
}

async fn grow(store: &dyn Store, chance: &mut Chance, name: &str) {
    let mut expected = Expected::default();
    store.begin_session(session(name, name)).await.unwrap();
    for step in 0..chance.below(12) {
        let id = format!("e{step}");
        if chance.below(2) == 0 || expected.parents.is_empty() {
            store.append(name, vec![entry(&id)]).await.unwrap();
            expected.append(&id);
            continue;
        }
        let place = chance.below(expected.parents.len() + 1);
        let target = expected.parents.get(place).map(|(id, _)| id.clone());
        let told = (chance.below(2) == 0).then(|| entry(&id));
        store
            .move_to(name, target.clone(), told.iter().cloned().collect())
            .await
            .unwrap();
        expected.leaf = target;
        told.iter().for_each(|entry| expected.append(&entry.id));
    }
    let tree = store.tree(name).await.unwrap();
    check(&tree, &expected);
    // A session that opens the context next has the same current entry, and a copy of the path is the same path.
    let again = format!("{name}-again");
    let opened = store.begin_session(session(&again, name)).await.unwrap();
    assert_eq!(ids(&opened.entries), expected.path());
    let fork = format!("{name}-fork");
    let planted = store.plant(session(&fork, &fork), seed(&tree)).await.unwrap();
    assert_eq!(ids(&planted.entries), expected.path());
    assert!(!planted.resumed && planted.origin.is_some());
    store.append(&fork, vec![entry("new")]).await.unwrap();
    assert_eq!(
        store.tree(&fork).await.unwrap().entries().len(),
        expected.path().len() + 1
    );
    check(&store.tree(name).await.unwrap(), &expected);
}

#[tokio::test]
async fn a_thousand_trees_stand_where_they_were_put() {
    let folder = tempfile::tempdir().unwrap();
    let disk = SqliteStore::open(folder.path().join("becket.db")).unwrap();
    let memory = MemoryStore::new();
    for seed in 0..1000 {
        let name = format!("c{seed}");
        grow(&memory, &mut Chance(seed), &name).await;
        // The disk confirms each step, which takes its time.
        if seed % 20 == 0 {
            grow(&disk, &mut Chance(seed), &name).await;
        }
    }
    assert_eq!(disk.integrity_check().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn what_does_not_fit_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = SqliteStore::open(folder.path().join("becket.db")).unwrap();
    let memory = MemoryStore::new();
    for store in [&disk as &dyn Store, &memory] {
        store.begin_session(session("s", "c")).await.unwrap();
        store.append("s", vec![entry("a"), entry("b")]).await.unwrap();
        store
            .move_to("s", Some("nowhere".into()), Vec::new())
            .await
            .unwrap_err();
        store
            .move_to("s", Some("a".into()), vec![entry("b")])
            .await
            .unwrap_err();
        assert_eq!(store.tree("s").await.unwrap().leaf_id(), Some("b"));
        store
            .plant(session("t", "c"), seed(&Tree::default()))
            .await
            .unwrap_err();
        let orphan = SeedEntry {
            parent_id: Some("nowhere".into()),
            entry: entry("x"),
            source: None,
        };
        let odd = Seed {
            entries: vec![orphan],
            ..seed(&Tree::default())
        };
        store.plant(session("t", "d"), odd).await.unwrap_err();
        let fresh = store.begin_session(session("t", "d")).await.unwrap();
        assert!(!fresh.resumed, "nothing is left of what was refused");
        store.tree("nobody").await.unwrap_err();
        // Cleared entries are no part of the conversation, and neither are those of a sub-agent.
        store.clear("s").await.unwrap();
        let below = NewSession {
            parent_session_id: Some("s".into()),
            ..session("below", "c")
        };
        store.begin_session(below).await.unwrap();
        store.append("below", vec![entry("inner")]).await.unwrap();
        store.append("s", vec![entry("n")]).await.unwrap();
        let tree = store.tree("s").await.unwrap();
        assert_eq!(ids(tree.entries().iter().map(AsRef::as_ref)), ["n"]);
    }
    assert_eq!(disk.integrity_check().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_name_holds_for_all_branches_and_sources_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("becket.db")).unwrap();
    let name = |name: &str| NewEntry {
        content: EntryContent::Name { name: name.into() },
        ..entry(name)
    };
    let planted = |entry: NewEntry, parent: Option<&str>| SeedEntry {
        parent_id: parent.map(Into::into),
        source: Some(json!({"id": entry.id})),
        entry,
    };
    let seed = Seed {
        entries: vec![
            planted(entry("a"), None),
            planted(name("first"), Some("a")),
            planted(entry("b"), Some("a")),
        ],
        leaf_id: Some("b".into()),
        origin: Origin::Import {
            header: json!({"id": "x"}),
        },
    };
    let opened = store.plant(session("s", "c"), seed).await.unwrap();
    assert_eq!(opened.entries[1].source, Some(json!({"id": "b"})));
    store.begin_session(session("t", "c")).await.unwrap();
    let names = |store: &SqliteStore| store.sessions(Some("c")).unwrap()[0].name.clone();
    assert_eq!(names(&store).as_deref(), Some("first"));
    let (tree, origin) = store.conversation("c").unwrap();
    assert_eq!(tree.name(), Some("first"));
    assert_eq!(
        origin,
        Some(Origin::Import {
            header: json!({"id": "x"})
        })
    );
    store.clear("t").await.unwrap();
    store.begin_session(session("u", "c")).await.unwrap();
    let listed = store.sessions(Some("c")).unwrap();
    let cleared = listed.iter().find(|session| session.id == "u").unwrap();
    assert_eq!(cleared.name, None);
    assert_eq!(store.conversation("c").unwrap().1, None);
}

/// What the model reads of a conversation, and what is known of it besides: the id of the last compaction, those of the
/// entries since the first that it kept, and what all entries have noted.
fn conversation(mut noted: Noted, entries: &[StoredEntry]) -> (Option<String>, Vec<String>, Noted) {
    let is_compaction = |entry: &StoredEntry| matches!(entry.content, EntryContent::Compaction { .. });
    let last = entries.iter().rposition(is_compaction);
    let first = last.map_or(0, |last| {
        let EntryContent::Compaction { first_kept_id, .. } = &entries[last].content else {
            unreachable!()
        };
        let is_first = |entry: &StoredEntry| Some(&entry.id) == first_kept_id.as_ref();
        entries[..last].iter().position(is_first).unwrap_or(last)
    });
    entries.iter().for_each(|entry| noted.note(&entry.content));
    (
        last.map(|last| entries[last].id.clone()),
        ids(&entries[first..]),
        noted,
    )
}

/// An entry of a random kind that may name one of those before it.
fn random_entry(chance: &mut Chance, id: &str, before: &[String]) -> NewEntry {
    let content = match chance.below(6) {
        0 => EntryContent::Model { model: id.into() },
        1 => EntryContent::Speaker {
            agent_name: id.into(),
        },
        2 | 3 => EntryContent::Compaction {
            summary: String::new(),
            first_kept_id: before.get(chance.below(before.len() + 2)).cloned(),
            tokens_before: 0,
            by_hook: false,
            details: None,
        },
        _ => entry(id).content,
    };
    NewEntry { content, ..entry(id) }
}

#[tokio::test]
async fn what_a_compaction_replaces_is_not_read_and_nothing_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("becket.db")).unwrap();
    let mut read_less = 0;
    for seed in 0..60 {
        let (name, mut chance) = (format!("c{seed}"), Chance(seed));
        store.begin_session(session(&name, &name)).await.unwrap();
        let mut written: Vec<String> = Vec::new();
        for step in 0..3 + chance.below(12) {
            let id = format!("e{step}");
            let added = random_entry(&mut chance, &id, &written);
            match chance.below(4) {
                0 if !written.is_empty() => {
                    let target = written[chance.below(written.len())].clone();
                    store.move_to(&name, Some(target), vec![added]).await.unwrap();
                }
                _ => store.append(&name, vec![added]).await.unwrap(),
            }
            written.push(id);
        }
        let whole = Store::tree(&store, &name).await.unwrap().path();
        let whole: Vec<StoredEntry> = whole.iter().map(|entry| (**entry).clone()).collect();
        let opened = store
            .begin_session(session(&format!("{name}-again"), &name))
            .await
            .unwrap();
        read_less += usize::from(opened.entries.len() < whole.len());
        assert_eq!(
            conversation(opened.noted, &opened.entries),
            conversation(Noted::default(), &whole),
            "seed {seed}: {whole:#?}"
        );
    }
    assert!(read_less > 20, "only {read_less} were opened at a compaction");
    assert!(
        store
            .delete_context(&ContextName::parse("c1").unwrap())
            .await
            .unwrap()
    );
    assert_eq!(store.integrity_check().unwrap(), Vec::<String>::new());
}
