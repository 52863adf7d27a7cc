//! An index of a small project through its life: made, updated, cancelled, broken, queried.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use becket_index::{
    IndexFile, IndexProblem, Limits, MapOptions, Summary, SymbolQuery, Update, UpdateOptions,
};

struct Project {
    folder: tempfile::TempDir,
    index: IndexFile,
}

fn project(files: &[(&str, &str)]) -> Project {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    fs::create_dir(&root).unwrap();
    let index = IndexFile::of_project(&root, &folder.path().join("indexes"));
    let project = Project { folder, index };
    for (name, text) in files {
        project.write(name, text);
    }
    project
}

fn options() -> UpdateOptions<'static> {
    UpdateOptions {
        force: false,
        limits: Limits {
            file_bytes: 10_000,
            files: 100,
        },
        plugin_for: &|_| None,
        is_cancelled: &|| false,
    }
}

impl Project {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("project").join(name)
    }

    /// Writes a file that has not been touched for a while.
    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        self.touch(name, Duration::from_secs(60));
    }

    fn touch(&self, name: &str, age: Duration) {
        let file = fs::File::open(self.path(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    fn update(&self) -> Summary {
        self.update_with(false, &|| false).unwrap()
    }

    fn update_with(
        &self,
        force: bool,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Summary, IndexProblem> {
        let options = UpdateOptions {
            force,
            is_cancelled,
            ..options()
        };
        let mut update = Update::begin(&self.index, &options)?;
        update.read_own(is_cancelled, &mut || ())?;
        update.finish()
    }

    fn names(&self, query: SymbolQuery) -> Vec<String> {
        let found = self.index.reader().unwrap().symbols(&query).unwrap();
        found.into_iter().map(|symbol| symbol.name).collect()
    }

    fn named(&self, name: &str) -> Vec<String> {
        self.names(SymbolQuery {
            name: Some(name.into()),
            ..SymbolQuery::default()
        })
    }
}

/// The counts of an update: indexed, unchanged, removed.
fn counts(summary: &Summary) -> (usize, usize, usize) {
    (summary.indexed, summary.unchanged, summary.removed)
}

#[test]
fn only_what_has_changed_is_read_again() {
    let project = project(&[
        ("a.rs", "fn one() {}"),
        ("sub/b.py", "def two(): pass"),
        ("c.txt", "three"),
    ]);
    assert_eq!(counts(&project.update()), (2, 0, 0));
    assert_eq!(counts(&project.update()), (0, 2, 0));
    project.write("a.rs", "fn changed() { two() }");
    assert_eq!(counts(&project.update()), (1, 1, 0));
    assert_eq!(project.named("one"), [""; 0]);
    assert_eq!(project.named("changed"), ["changed"]);
    project.touch("a.rs", Duration::from_secs(30));
    assert_eq!(
        counts(&project.update()),
        (0, 2, 0),
        "the same content at another time"
    );
    fs::remove_file(project.path("sub/b.py")).unwrap();
    assert_eq!(counts(&project.update()), (0, 1, 1));
    assert_eq!(project.named("two"), [""; 0]);
    let forced = project.update_with(true, &|| false).unwrap();
    assert_eq!(counts(&forced), (1, 0, 0));
}

#[test]
fn a_change_within_the_same_moment_is_seen() {
    let project = project(&[]);
    let path = project.path("a.rs");
    let now = SystemTime::now();
    for name in ["one", "two"] {
        fs::write(&path, format!("fn {name}() {{}}")).unwrap();
        fs::File::open(&path).unwrap().set_modified(now).unwrap();
        assert_eq!(project.update().indexed, 1, "{name}");
    }
    assert_eq!(project.named("two"), ["two"]);
}

#[test]
fn what_is_ignored_hidden_linked_large_or_binary_stays_out() {
    let project = project(&[
        (".gitignore", "ignored.rs\n"),
        ("ignored.rs", "fn ignored() {}"),
        (".hidden/x.rs", "fn hidden() {}"),
        ("shown.rs", "fn shown() {}"),
    ]);
    let outside = project.folder.path().join("outside.rs");
    fs::write(&outside, "fn outside() {}").unwrap();
    std::os::unix::fs::symlink(&outside, project.path("link.rs")).unwrap();
    std::os::unix::fs::symlink(project.folder.path(), project.path("folder")).unwrap();
    project.write("large.rs", "// x\n".repeat(3000));
    project.write("binary.c", b"int a;\0int b;");
    let summary = project.update();
    assert_eq!(project.names(SymbolQuery::default()), ["shown"]);
    let skipped = summary.skipped.iter();
    let skipped: Vec<_> = skipped
        .map(|file| (file.path.as_str(), file.reason.as_str()))
        .collect();
    assert_eq!(
        skipped,
        [
            ("large.rs", "it is larger than 9 KiB"),
            ("binary.c", "it is binary")
        ]
    );
}

#[test]
fn ignore_files_above_the_project_and_ones_that_are_no_files_do_not_count() {
    let project = project(&[
        (".git/HEAD", ""),
        ("shown.rs", "fn shown() {}"),
        ("sub/too.rs", "fn too() {}"),
    ]);
    fs::write(project.folder.path().join(".gitignore"), "*\n").unwrap();
    for name in [".gitignore", "sub/.ignore"] {
        std::os::unix::fs::symlink("/dev/zero", project.path(name)).unwrap();
    }
    project.update();
    assert_eq!(project.names(SymbolQuery::default()), ["shown", "too"]);
}

#[test]
fn a_file_that_may_not_be_read_leaves_the_index() {
    let project = project(&[("a.rs", "fn first() {}"), ("b.rs", "fn second() {}")]);
    project.update();
    project.write("a.rs", "fn third() {}");
    let mut update = Update::begin(&project.index, &options()).unwrap();
    let changed = update.changed();
    assert_eq!(changed, [project.index.root.join("a.rs")]);
    update.leave_out(&changed);
    update.read_own(&|| false, &mut || ()).unwrap();
    let summary = update.finish().unwrap();
    assert_eq!(counts(&summary), (0, 1, 1));
    assert_eq!(summary.skipped[0].reason, "it may not be read");
    assert_eq!(project.names(SymbolQuery::default()), ["second"]);
}

#[test]
fn a_cancel_keeps_what_was_indexed_and_the_next_update_goes_on() {
    let project = project(&[]);
    for number in 0..60 {
        project.write(&format!("f{number}.rs"), format!("fn name{number}() {{}}"));
    }
    let asked = AtomicUsize::new(0);
    // The survey asks for each entry; some files later it is enough.
    let is_cancelled = || asked.fetch_add(1, Ordering::Relaxed) > 80;
    let ended = project.update_with(false, &is_cancelled);
    assert!(matches!(ended, Err(IndexProblem::Cancelled)), "{ended:?}");
    let kept = project.index.reader().unwrap().status().unwrap().files;
    assert!(0 < kept && kept < 60, "{kept}");
    let summary = project.update();
    assert_eq!(summary.indexed + summary.unchanged, 60);
    assert_eq!(summary.unchanged as u64, kept);
}

#[test]
fn there_is_one_writer_and_readers_do_not_wait_for_it() {
    let project = project(&[("a.rs", "fn one() {}")]);
    project.update();
    let first = Update::begin(&project.index, &options()).unwrap();
    assert_eq!(project.named("one"), ["one"]);
    let second = std::thread::scope(|scope| {
        let second = scope.spawn(|| Update::begin(&project.index, &options()).map(drop));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!second.is_finished(), "it waits for the first");
        drop(first);
        second.join().unwrap()
    });
    second.unwrap();
}

#[test]
fn a_broken_index_is_made_again_and_a_missing_one_says_so() {
    let project = project(&[("a.rs", "fn one() {}")]);
    let missing = project.index.reader().err().unwrap();
    assert!(missing.to_string().contains("index_update"), "{missing}");
    fs::create_dir_all(project.index.file.parent().unwrap()).unwrap();
    fs::write(&project.index.file, "no database at all ".repeat(100)).unwrap();
    assert!(project.index.reader().is_err());
    assert_eq!(project.update().indexed, 1);
    assert_eq!(project.named("one"), ["one"]);
}

#[test]
fn exact_names_come_first_then_beginnings_then_the_rest() {
    let many = "fn reparse() {} fn parse_all() {} fn Parse() {} struct Parser; \
                fn ab() {} fn a_b_100() {} fn été() {}";
    let project = project(&[
        ("b.rs", many),
        ("a.rs", "fn parse() {}\nmod x {\nfn unparsed() {} }"),
    ]);
    project.update();
    assert_eq!(
        project.named("parse"),
        ["parse", "Parse", "parse_all", "Parser", "unparsed", "reparse"]
    );
    assert_eq!(project.named("ab"), ["ab"], "a short part is found, too");
    assert_eq!(project.named("b_1"), ["a_b_100"], "no sign is special");
    assert_eq!(project.named("%"), [""; 0]);
    assert_eq!(project.named("\"parse\""), [""; 0]);
    assert_eq!(project.named("été"), ["été"]);
    let query = |name: Option<&str>, kind: Option<&str>, file: Option<&str>, limit| SymbolQuery {
        name: name.map(Into::into),
        kind: kind.map(Into::into),
        file: file.map(Into::into),
        language: None,
        limit,
    };
    assert_eq!(project.names(query(None, Some("struct"), None, None)), ["Parser"]);
    assert_eq!(
        project.names(query(None, None, Some("A.RS"), None)),
        ["parse", "x", "unparsed"]
    );
    let one = query(None, Some("function"), Some("a.rs"), Some(1));
    assert_eq!(project.names(one), ["parse"]);
    let three = query(Some("parse"), None, None, Some(3));
    assert_eq!(project.names(three), ["parse", "Parse", "parse_all"]);
    let some = query(Some("parse"), Some("function"), Some("b.rs"), None);
    assert_eq!(project.names(some), ["Parse", "parse_all", "reparse"]);
}

#[test]
fn references_tell_who_uses_a_name() {
    let project = project(&[
        ("a.rs", "fn one() { two();\n two() }"),
        ("b.rs", "fn two() { three() }"),
    ]);
    project.update();
    let reader = project.index.reader().unwrap();
    let found = reader.references("two", None).unwrap();
    let told: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["a.rs:1 -> two (call)", "a.rs:2 -> two (call)"]);
    assert_eq!(reader.references("two", Some(1)).unwrap().len(), 1);
    assert!(reader.references("nobody", None).unwrap().is_empty());
}

#[test]
fn the_map_shows_what_is_used_most_within_its_budget() {
    let project = project(&[
        (
            "core.rs",
            "pub fn central_function() {}\npub fn unused_function() {}",
        ),
        ("a.rs", "pub fn first_user() { central_function() }"),
        (
            "b.rs",
            "pub fn second_user() { central_function(); special_function() }",
        ),
        ("c.rs", "pub fn special_function() {}"),
    ]);
    project.update();
    let map = |tokens, focus: Option<&str>| {
        let options = MapOptions {
            tokens: Some(tokens),
            focus: focus.map(Into::into),
        };
        let mut draft = options.draft();
        for symbol in project.index.reader().unwrap().ranked(&options).unwrap() {
            if !draft.add(symbol) {
                break;
            }
        }
        draft.draw()
    };
    let whole = map(1000, None);
    assert!(
        whole.starts_with("core.rs\n  1: pub fn central_function()\n"),
        "{whole}"
    );
    assert_eq!(
        whole.lines().count(),
        4 + 5,
        "every file and every function\n{whole}"
    );
    for tokens in [0, 5, 12, 20, 40] {
        let small = map(tokens, None);
        assert!(small.len() <= tokens * 4, "{tokens}: {small}");
    }
    assert_eq!(map(12, None), "core.rs\n  1: pub fn central_function()\n");
    let focused = map(1000, Some("b.rs"));
    let place = |text: &str| focused.find(text).unwrap();
    assert!(place("special_function") < place("first_user"), "{focused}");
}

#[test]
fn whatever_is_in_a_file_it_is_read_in_time() {
    let nested = "(".repeat(9_000);
    let noise = |number: u32| (number.wrapping_mul(2_654_435_761) >> 24) as u8 | 1;
    let noise: Vec<u8> = (0..9_000).map(noise).collect();
    let project = project(&[]);
    for ending in ["rs", "py", "js", "ts", "tsx", "go", "c", "java"] {
        project.write(&format!("nested.{ending}"), &nested);
        project.write(&format!("noise.{ending}"), &noise);
        project.write(&format!("empty.{ending}"), "");
    }
    let summary = project.update();
    assert_eq!(summary.indexed + summary.skipped.len(), 24, "{summary:?}");
}
