//! Folders in, around and with git repositories of the user, which stay as they are to the last byte.

use becket_snapshot::{Conflicts, Problem, Snapshots, Which};

use crate::room::{Room, turn, turn_with};

#[test]
fn a_repository_with_a_dirty_index_is_not_touched() {
    let room = Room::with_repository();
    room.write("tracked", "one");
    room.write("deleted", "one");
    room.git(".", &["add", "."]);
    room.git(".", &["commit", "-qm", "first"]);
    room.write("tracked", "staged");
    room.write("added", "staged");
    room.git(".", &["add", "."]);
    room.write("tracked", "dirty");
    room.remove("deleted");
    room.write("untracked", "new");
    std::fs::write(room.at(".git/hooks/post-checkout"), "#!/bin/sh\ntouch ran\n").unwrap();
    room.mode(".git/hooks/post-checkout", 0o755);
    let repository = room.all_of(".git");
    let before = room.listing();

    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.write("tracked", "by the agent");
    room.remove("untracked");
    room.write("deleted", "again");
    turn(&snapshots);
    snapshots.restore(first.id).unwrap();
    snapshots.undo(Which::default(), Conflicts::Refuse).unwrap();
    snapshots.redo(Conflicts::Refuse).unwrap();
    snapshots.clean().unwrap();

    assert_eq!(room.listing(), before);
    assert!(room.all_of(".git") == repository, "the user's .git changed");
}

#[test]
fn tracked_files_are_kept_although_they_are_ignored_or_large() {
    let mut room = Room::with_repository();
    room.settings.largest_untracked = 100;
    room.write(".gitignore", "*.bin\n");
    std::fs::write(room.at(".git/info/exclude"), "private\n").unwrap();
    room.write("ignored.bin", "one");
    room.write("large", "1".repeat(200));
    room.git(".", &["add", "-f", "."]);
    room.write("private", "by info/exclude");
    room.write("large untracked", "1".repeat(200));
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    assert_eq!(first.left_out.len(), 1);
    room.write("ignored.bin", "two");
    room.write("large", "2".repeat(300));
    room.write("private", "changed");
    snapshots.restore(first.id).unwrap();
    assert_eq!(
        (room.read("ignored.bin"), room.read("large")),
        ("one".into(), "1".repeat(200))
    );
    assert_eq!(room.read("private"), "changed");
    // An index that is lost is made anew with them.
    std::fs::remove_file(room.shadow().join("index")).unwrap();
    assert_eq!(turn(&snapshots).tree, first.tree);
    // A file that is tracked later counts from then on.
    room.write("later.bin", "one");
    room.git(".", &["add", "-f", "later.bin"]);
    let second = turn(&snapshots);
    room.remove("later.bin");
    snapshots.restore(second.id).unwrap();
    assert_eq!(room.read("later.bin"), "one");
}

#[test]
fn a_folder_of_a_repository_sees_only_itself_with_the_rules_of_all() {
    let mut room = Room::with_repository();
    let top = room.folder.clone();
    room.write(".gitignore", "*.log\n/sub/out\n");
    room.write("sub/file", "one");
    room.write("sub/a.log", "one");
    room.write("sub/out", "one");
    room.write("beside", "one");
    std::os::unix::fs::symlink(&top, room.path().join("link")).unwrap();
    room.folder = room.path().join("link/sub");
    let snapshots = room.snapshots();
    let step = turn_with(&snapshots, || {
        room.write("file", "two");
        room.write("new/x", "two");
        room.write("a.log", "two");
        room.write("out", "two");
        std::fs::write(top.join("beside"), "two").unwrap();
    });
    assert_eq!(step.changed, 2);
    snapshots.undo(Which::default(), Conflicts::Refuse).unwrap();
    assert_eq!(
        (room.read("file"), room.read("a.log"), room.read("out")),
        ("one".into(), "two".into(), "two".into())
    );
    assert!(!room.at("new").exists());
    assert_eq!(std::fs::read_to_string(top.join("beside")).unwrap(), "two");
    // All files gone, and back.
    let before = room.listing();
    turn_with(&snapshots, || room.remove("file"));
    snapshots.undo(Which::default(), Conflicts::Refuse).unwrap();
    assert_eq!(room.listing(), before);
}

#[test]
fn a_folder_that_the_repository_around_ignores_has_snapshots_of_its_own() {
    let mut room = Room::with_repository();
    room.write(".gitignore", "*\n");
    room.write("project/file", "one");
    room.folder = room.at("project");
    let snapshots = room.snapshots();
    turn_with(&snapshots, || room.write("file", "two"));
    snapshots.undo(Which::default(), Conflicts::Refuse).unwrap();
    assert_eq!(room.read("file"), "one");
}

#[test]
fn a_repository_that_appears_around_the_folder_loses_nothing() {
    let mut room = Room::new();
    room.write("sub/file", "one");
    let top = room.folder.clone();
    room.folder = room.at("sub");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.write("file", "two");
    room.folder = top;
    room.git(".", &["init", "-q"]);
    room.folder = room.at("sub");
    let second = turn(&snapshots);
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.read("file"), "one");
    snapshots.restore(second.id).unwrap();
    assert_eq!(room.read("file"), "two");
}

#[test]
fn files_of_nested_repositories_come_back_and_their_git_folders_stay() {
    let room = Room::with_repository();
    room.write("file", "one");
    for nested in ["nested", "nested/deeper", "unborn"] {
        std::fs::create_dir_all(room.at(nested)).unwrap();
        room.git(nested, &["init", "-q"]);
        room.write(format!("{nested}/.gitignore"), "ignored\nforced\n");
        room.write(format!("{nested}/file"), "one");
        room.write(format!("{nested}/forced"), "one");
        room.write(format!("{nested}/ignored"), "one");
        room.git(nested, &["add", "-f", "forced"]);
    }
    room.git("nested", &["add", "file"]);
    room.git("nested", &["commit", "-qm", "first"]);
    let repositories = ["nested/.git", "nested/deeper/.git", "unborn/.git"];
    let git = repositories.map(|git| room.all_of(git));
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    let before = room.listing();
    for nested in ["nested", "nested/deeper", "unborn"] {
        room.write(format!("{nested}/file"), "two");
        room.remove(format!("{nested}/forced"));
        room.write(format!("{nested}/new/file"), "two");
    }
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.listing(), before);
    // A whole repository that was made in a turn: its files go, its history stays.
    turn_with(&snapshots, || {
        room.write("cloned/file", "theirs");
        room.git("cloned", &["init", "-q"]);
    });
    snapshots.undo(Which::default(), Conflicts::Refuse).unwrap();
    assert!(!room.at("cloned/file").exists() && room.at("cloned/.git/HEAD").exists());
    assert!(
        repositories.map(|git| room.all_of(git)) == git,
        "a nested .git changed"
    );
}

#[test]
fn a_git_folder_is_never_deleted_to_make_room_for_a_file() {
    let room = Room::new();
    room.write("place", "a file");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.remove("place");
    room.write("place/x", "new");
    room.git("place", &["init", "-q"]);
    let second = turn(&snapshots);
    let problem = snapshots.restore(first.id).unwrap_err();
    assert!(matches!(problem, Problem::InTheWay(_)), "{problem}");
    assert!(room.at("place/.git/HEAD").exists() && room.at("place/x").exists());
    assert_eq!(
        snapshots.changes(second.id, becket_snapshot::Point::Now).unwrap(),
        []
    );
}

#[test]
fn submodules_are_kept_as_plain_files() {
    let room = Room::with_repository();
    let library = room.path().join("library");
    std::fs::create_dir(&library).unwrap();
    std::fs::write(library.join("code"), "one").unwrap();
    room.git("../library", &["init", "-q"]);
    room.git("../library", &["add", "."]);
    room.git("../library", &["commit", "-qm", "first"]);
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../library",
        "library",
    ];
    let source = library.to_str().unwrap().to_owned();
    let add = add.map(|word| {
        if word == "../library" {
            source.as_str()
        } else {
            word
        }
    });
    room.git(".", &add);
    let repository = room.all_of(".git");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    let before = room.listing();
    room.write("library/code", "two");
    room.write("library/more", "two");
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.listing(), before);
    assert!(room.at("library/.git").is_file());
    assert!(room.all_of(".git") == repository, "the user's .git changed");
}

#[test]
fn names_that_git_cannot_keep_and_broken_repositories_are_named() {
    let room = Room::with_repository();
    room.write("file", "one");
    room.git(".", &["add", "."]);
    room.write(".GIT/config", "x");
    std::fs::write(room.at(".git/index"), "broken").unwrap();
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    let named: Vec<_> = first
        .left_out
        .iter()
        .map(|left| left.path.to_str().unwrap())
        .collect();
    assert_eq!(named, [".GIT/config", ".git"]);
    room.write("file", "two");
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.read("file"), "one");
}

#[test]
fn a_damaged_index_is_made_anew() {
    let room = Room::new();
    room.write("file", "one");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    std::fs::write(room.shadow().join("index"), "broken").unwrap();
    room.write("file", "two");
    let second = turn(&snapshots);
    assert_ne!(first.tree, second.tree);
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.read("file"), "one");
}

#[test]
fn one_folder_by_two_names_has_one_history() {
    let room = Room::new();
    room.write("file", "one");
    turn(&room.snapshots());
    let link = room.path().join("link");
    std::os::unix::fs::symlink(&room.folder, &link).unwrap();
    let other = Snapshots::open(&room.data(), &link, room.settings.clone()).unwrap();
    assert_eq!(other.list().unwrap().len(), 1);
    assert_eq!(other.folder(), room.folder.canonicalize().unwrap());
}

#[test]
fn nobody_waits_for_what_only_looks_like_a_file_of_a_repository() {
    let room = Room::with_repository();
    room.write("file", "one");
    std::fs::create_dir_all(room.at(".git/info")).unwrap();
    let _ = std::fs::remove_file(room.at(".git/info/exclude"));
    let made = std::process::Command::new("mkfifo")
        .arg(room.at(".git/info/exclude"))
        .status();
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(turn(&room.snapshots()).left_out, []);
    }
}
