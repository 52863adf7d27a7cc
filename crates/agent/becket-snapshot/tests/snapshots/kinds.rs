//! Files and names of all kinds come back, byte for byte.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;

use becket_snapshot::{Conflicts, Problem, Reason, Snapshots, Which};

use crate::room::{Room, bytes, turn, turn_with};

const ODD_NAMES: &[&[u8]] = &[
    b"-rf",
    b"--",
    b":(glob)x",
    b":!y",
    b"*",
    b"a b ",
    b" ",
    b"new\nline",
    b"tab\tquote\"back\\slash",
    "grüße-\u{65e5}\u{672c}".as_bytes(),
    "e\u{301}".as_bytes(),
    "\u{e9}".as_bytes(),
    b"\xff\xfe",
    b"git~1",
    b"#comment",
    b"!not",
    b"case",
    b"CASE",
    b"CON",
    b".gitmodules",
    b"\x01\x7f",
];

#[test]
fn odd_names_come_back_after_a_change_and_after_a_deletion() {
    let room = Room::new();
    for (number, name) in ODD_NAMES.iter().enumerate() {
        room.write(bytes(name), format!("content {number}"));
        let inside = [b"folder ", *name, b"/", *name].concat();
        room.write(bytes(&inside), format!("inner {number}"));
    }
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    assert_eq!(first.left_out, []);
    let before = room.listing();
    for (number, name) in ODD_NAMES.iter().enumerate() {
        match number % 2 {
            0 => room.remove(bytes(name)),
            _ => room.write(bytes(name), "other"),
        }
        room.remove(bytes(&[b"folder ", *name].concat()));
    }
    room.write(bytes(b"another \xff"), "new");
    let restored = snapshots.restore(first.id).unwrap();
    assert_eq!(room.listing(), before);
    assert_eq!(restored.changes.len(), 2 * ODD_NAMES.len() + 1);
}

#[test]
fn contents_come_back_byte_for_byte_whatever_attributes_say() {
    let room = Room::with_repository();
    room.write(
        ".gitattributes",
        "* text=auto eol=crlf ident filter=evil working-tree-encoding=UTF-16 diff=evil\n",
    );
    room.git(".", &["config", "filter.evil.clean", "touch ../ran; cat"]);
    room.git(".", &["config", "filter.evil.smudge", "touch ../ran; cat"]);
    room.git(".", &["config", "core.fsmonitor", "touch ../ran"]);
    let contents: [(&str, &[u8]); 6] = [
        ("crlf", b"a\r\nb\r\n"),
        ("mixed", b"a\r\nb\n\r\r\n"),
        ("ident", b"$Id$\n"),
        ("binary", b"\0\xff\r\n\0"),
        ("empty", b""),
        ("no newline", b"x"),
    ];
    for (name, content) in contents {
        room.write(name, content);
    }
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    let before = room.listing();
    for (name, _) in contents {
        room.remove(name);
    }
    snapshots.patch(first.id, becket_snapshot::Point::Now).unwrap();
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.listing(), before);
    assert!(!room.path().join("ran").exists(), "a program of the folder's ran");
}

#[test]
fn modes_and_links_come_back_and_links_are_never_followed() {
    let room = Room::new();
    std::fs::create_dir(room.path().join("outside")).unwrap();
    std::fs::write(room.path().join("outside/file"), "not ours").unwrap();
    room.write("program", "#!/bin/sh\n");
    room.mode("program", 0o755);
    room.write("plain", "text");
    room.link("to-outside", "../outside");
    room.link("dangling", "no/such\nplace");
    room.write("folder/file", "inside");
    room.link("becomes-file", "plain");
    room.write("secret", "key");
    room.mode("secret", 0o600);
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    let before = room.listing();

    room.mode("program", 0o644);
    room.mode("plain", 0o755);
    room.remove("to-outside");
    room.write("to-outside/file", "now a folder");
    room.remove("dangling");
    room.remove("folder");
    room.link("folder", "../outside");
    room.remove("becomes-file");
    room.write("becomes-file", "text");
    room.remove("secret");
    let second = turn(&snapshots);
    let after = room.listing();

    snapshots.restore(first.id).unwrap();
    assert_eq!(room.listing(), before);
    assert!(room.at("folder").symlink_metadata().unwrap().is_dir());
    snapshots.restore(second.id).unwrap();
    assert_eq!(room.listing(), after);
    let outside = std::fs::read_to_string(room.path().join("outside/file")).unwrap();
    assert_eq!(outside, "not ours");
    assert_eq!(std::fs::read_dir(room.path().join("outside")).unwrap().count(), 1);
}

#[test]
fn other_permissions_of_a_file_that_is_still_there_stay() {
    let room = Room::new();
    room.write("notes", "one");
    room.mode("notes", 0o640);
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.write("notes", "two");
    room.mode("notes", 0o750);
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.read("notes"), "one");
    let mode = room.at("notes").metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o640);
}

#[test]
fn folders_that_become_empty_go_and_empty_ones_stay() {
    let room = Room::new();
    room.write("file", "x");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.write("new/deep/file", "x");
    std::fs::create_dir_all(room.at("empty/inside")).unwrap();
    snapshots.restore(first.id).unwrap();
    assert!(!room.at("new").exists());
    assert!(room.at("empty/inside").is_dir());
}

#[test]
fn files_over_the_limit_are_left_out_named_and_never_touched() {
    let mut room = Room::new();
    room.settings.largest_untracked = 100;
    room.write("grows", "small");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.write("large", "x".repeat(101));
    room.write("grows", "y".repeat(101));
    let second = turn(&snapshots);
    let left_out: Vec<_> = second
        .left_out
        .iter()
        .map(|left| (left.path.to_str().unwrap(), left.reason))
        .collect();
    assert_eq!(
        left_out,
        [("grows", Reason::TooLarge), ("large", Reason::TooLarge)]
    );
    let listing = room.listing();
    let problem = snapshots.restore(first.id).unwrap_err();
    assert!(
        matches!(&problem, Problem::InTheWay(ways) if ways.len() == 1),
        "{problem}"
    );
    assert!(
        problem
            .to_string()
            .contains("\"grows\" (left out of checkpoints)"),
        "{problem}"
    );
    assert_eq!(room.listing(), listing);
    // The one that grew is small again, and its large version is none that a restore may delete.
    room.write("grows", "small");
    snapshots.restore(second.id).unwrap();
    assert_eq!(room.read("grows"), "small");
    assert_eq!(room.read("large").len(), 101);
}

#[test]
fn ignored_files_are_left_alone_also_where_rules_change() {
    let room = Room::new();
    room.write(".gitignore", "*.log\nbuild/\n");
    room.write("build/out", "old");
    room.write("a.log", "old");
    room.write("kept", "old");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.write("build/out", "new");
    room.write("kept", "new");
    room.remove(".gitignore");
    let second = turn(&snapshots);
    assert_eq!(
        snapshots
            .changes(first.id, becket_snapshot::Point::Checkpoint(second.id))
            .unwrap()
            .len(),
        4
    );
    let restored = snapshots.restore(first.id).unwrap();
    assert_eq!(room.read("kept"), "old");
    assert_eq!(
        (room.read("build/out"), room.read("a.log")),
        ("new".into(), "old".into())
    );
    assert_eq!(restored.kept, [OsStr::new("a.log"), OsStr::new("build/out")]);
    // The other way round: what was new and kept before it became ignored goes again.
    let room = Room::new();
    room.write("kept", "x");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.write("new.log", "x");
    turn(&snapshots);
    room.write(".gitignore", "*.log\n");
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.listing().len(), 1);
}

#[test]
fn an_ignored_file_in_the_way_is_not_overwritten() {
    let room = Room::new();
    room.write("file", "theirs");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.remove("file");
    turn(&snapshots);
    room.write(".gitignore", "file\n");
    room.write("file", "precious");
    let problem = snapshots.restore(first.id).unwrap_err();
    assert!(problem.to_string().contains("\"file\" (ignored)"), "{problem}");
    assert_eq!(room.read("file"), "precious");
    // A file that already has the target content is not in the way.
    room.write("file", "theirs");
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.read("file"), "theirs");
}

#[test]
fn a_folder_in_which_something_is_ignored_does_not_become_a_file() {
    let room = Room::new();
    room.write("place", "a file");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.remove("place");
    room.write("place/x", "new");
    room.write("place/.gitignore", "cache\n");
    room.write("place/cache", "precious");
    let problem = snapshots.restore(first.id).unwrap_err();
    assert!(matches!(problem, Problem::InTheWay(_)), "{problem}");
    assert_eq!(
        (room.read("place/cache"), room.read("place/x")),
        ("precious".into(), "new".into())
    );
    room.remove("place/cache");
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.read("place"), "a file");
}

#[test]
fn a_file_that_becomes_something_special_is_left_out() {
    let room = Room::new();
    room.write("file", "x");
    room.write("other", "x");
    let snapshots = room.snapshots();
    turn(&snapshots);
    room.remove("file");
    let made = std::process::Command::new("mkfifo").arg(room.at("file")).status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    let second = turn(&snapshots);
    assert_eq!(second.left_out.len(), 1);
    assert_eq!(second.left_out[0].reason, Reason::Special);
}

#[test]
fn a_machine_without_git_is_told_in_one_sentence() {
    let room = Room::new();
    let mut settings = room.settings.clone();
    settings.search_path = room.path().into();
    let problem = Snapshots::open(&room.data(), &room.folder, settings).unwrap_err();
    assert!(
        matches!(problem, Problem::NoGit) && problem.to_string().contains("Install git"),
        "{problem}"
    );
    // A git in the folder itself is not used.
    room.write("git", "#!/bin/sh\ntouch ran\n");
    room.mode("git", 0o755);
    let mut settings = room.settings.clone();
    settings.search_path = room.folder.clone().into();
    let problem = Snapshots::open(&room.data(), &room.folder, settings).unwrap_err();
    assert!(matches!(problem, Problem::NoGit), "{problem}");
}

#[test]
fn folders_that_make_no_sense_are_refused() {
    let room = Room::new();
    let open = |folder: &std::path::Path| Snapshots::open(&room.data(), folder, room.settings.clone());
    assert!(open(&room.path().join("missing")).is_err());
    room.write("file", "");
    assert!(
        open(&room.at("file"))
            .unwrap_err()
            .to_string()
            .contains("no folder")
    );
    std::fs::create_dir_all(room.data().join("inside")).unwrap();
    let problem = open(&room.data().join("inside")).unwrap_err();
    assert!(problem.to_string().contains("becket's own data"), "{problem}");
    let problem = room.snapshots().restore(7).unwrap_err();
    assert!(matches!(problem, Problem::Unknown(7)), "{problem}");
    let problem = room
        .snapshots()
        .undo(Which::default(), Conflicts::Refuse)
        .unwrap_err();
    assert!(matches!(problem, Problem::Nothing("undo")), "{problem}");
}

#[test]
fn data_inside_of_the_folder_is_no_part_of_it() {
    let mut room = Room::new();
    room.folder = room.path().to_owned();
    room.write("file", "x");
    let snapshots = room.snapshots();
    let step = turn_with(&snapshots, || room.write("file", "y"));
    assert_eq!(step.changed, 1);
    snapshots.undo(Which::default(), Conflicts::Refuse).unwrap();
    assert_eq!(room.read("file"), "x");
}

#[test]
fn what_is_kept_is_for_its_owner_only() {
    let room = Room::new();
    room.write("file", "x");
    turn(&room.snapshots());
    let mode = room.shadow().metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    std::fs::set_permissions(room.shadow(), std::fs::Permissions::from_mode(0o755)).unwrap();
    turn(&room.snapshots());
    let mode = room.shadow().metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
}

#[test]
fn many_new_files_are_kept_and_come_back() {
    let room = Room::new();
    for number in 0..600 {
        room.write(format!("folder {}/{number}", number % 9), format!("{number}\r\n"));
    }
    room.write("empty", "");
    room.link("link", "empty");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    let before = room.listing();
    for number in 0..9 {
        room.remove(format!("folder {number}"));
    }
    room.remove("empty");
    room.remove("link");
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.listing(), before);
}
