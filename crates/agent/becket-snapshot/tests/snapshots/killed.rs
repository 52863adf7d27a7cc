//! Processes that are killed in the middle, and two at once.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use becket_snapshot::{Conflicts, Problem, Which};

use crate::room::{Room, begin, task, turn, turn_with};

const FILES: usize = 150;

/// Not a test of its own: the body of the other processes.
#[test]
fn other_process() {
    let Some((snapshots, task)) = task() else { return };
    match task.split_once(' ').unwrap_or((&task, "")) {
        ("checkpoint", session) => {
            begin(&snapshots, becket_snapshot::Span::Turn, session);
        }
        ("restore", id) => {
            snapshots.restore(id.parse().unwrap()).unwrap();
        }
        ("undo", _) => {
            snapshots.undo(Which::default(), Conflicts::Refuse).unwrap();
        }
        (other, _) => panic!("{other}?"),
    }
}

/// A search path with a git that kills its caller at its nth call, and still does its own work.
fn deadly_git(room: &Room, call: usize) -> OsString {
    let folder = room.path().join(format!("bin-{call}"));
    std::fs::create_dir_all(&folder).unwrap();
    let real = std::env::split_paths(&room.settings.search_path)
        .map(|place: PathBuf| place.join("git"))
        .find(|program| program.exists())
        .unwrap();
    let count = folder.join("count");
    let _ = std::fs::remove_file(&count);
    let script = format!(
        "#!/bin/sh\necho x >> '{0}'\nif [ \"$(wc -l < '{0}')\" -eq {call} ]; then kill -9 $PPID; fi\nexec '{1}' \"$@\"\n",
        count.display(),
        real.display()
    );
    testkit::write_program(&folder.join("git"), &script);
    let places = [folder]
        .into_iter()
        .chain(std::env::split_paths(&room.settings.search_path));
    std::env::join_paths(places).unwrap()
}

/// Runs a task so that it is killed at each of its git calls, one run after another, until it survives.
fn kill_everywhere(room: &Room, task: &str, mut between: impl FnMut()) -> usize {
    for call in 1.. {
        let path = deadly_git(room, call);
        let status = room
            .other_process("killed::other_process", Some(&path), task)
            .status()
            .unwrap();
        if status.success() {
            return call - 1;
        }
        assert_eq!(status.signal(), Some(9), "at call {call}");
        between();
    }
    unreachable!()
}

fn fill(room: &Room, content: &str) {
    for number in 0..FILES {
        room.write(
            format!("folder {}/file {number}", number % 7),
            format!("{content} {number}"),
        );
    }
}

#[test]
fn a_checkpoint_that_is_killed_leaves_the_old_state_and_can_be_repeated() {
    let room = Room::with_repository();
    fill(&room, "one");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    let before = room.listing();
    fill(&room, "two");
    room.remove("folder 3");
    room.write("new", "x");
    let after = room.listing();
    let kills = kill_everywhere(&room, "checkpoint s", || {
        assert_eq!(room.snapshots().list().unwrap().len(), 1)
    });
    assert!(kills >= 3, "{kills}");
    assert_eq!(room.listing(), after);
    let second = snapshots.list().unwrap().last().unwrap().clone();
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.listing(), before);
    snapshots.restore(second.id).unwrap();
    assert_eq!(room.listing(), after);
}

#[test]
fn a_first_checkpoint_that_is_killed_can_be_repeated() {
    let room = Room::new();
    fill(&room, "one");
    let kills = kill_everywhere(&room, "checkpoint s", || {});
    assert!(kills >= 3, "{kills}");
    let before = room.listing();
    let snapshots = room.snapshots();
    let first = snapshots.list().unwrap()[0].clone();
    fill(&room, "two");
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.listing(), before);
}

#[test]
fn a_restore_that_is_killed_loses_nothing_and_can_be_repeated() {
    let room = Room::new();
    fill(&room, "one");
    room.write("place", "a file");
    room.write(".gitignore", "none\n");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    let before = room.listing();
    fill(&room, "two");
    room.remove("place");
    room.write("place/inner", "x");
    room.write("new", "x");
    room.write(".gitignore", "folder 5\n");
    let second = turn(&snapshots);
    let after = room.listing();
    let kills = kill_everywhere(&room, &format!("restore {}", first.id), || {});
    assert!(kills >= 6, "{kills}");
    assert_eq!(room.listing(), before);
    snapshots.restore(second.id).unwrap();
    assert_eq!(room.listing(), after);
}

#[test]
fn an_undo_that_is_killed_can_be_repeated() {
    let room = Room::new();
    fill(&room, "one");
    let before = room.listing();
    let snapshots = room.snapshots();
    turn_with(&snapshots, || {
        fill(&room, "two");
        room.remove("folder 1");
    });
    let kills = kill_everywhere(&room, "undo", || {});
    assert!(kills >= 6, "{kills}");
    assert_eq!(room.listing(), before);
}

#[test]
fn what_a_killed_restore_left_behind_is_no_file_of_the_folder() {
    let room = Room::new();
    room.write("file", "x");
    room.write(".becket-restore-123-4", "half");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    assert!(!room.at(".becket-restore-123-4").exists());
    assert_eq!((first.left_out.len(), room.listing().len()), (0, 1));
}

#[test]
fn the_locks_of_a_git_that_was_killed_are_in_nobodys_way() {
    let room = Room::new();
    room.write("file", "one");
    let snapshots = room.snapshots();
    turn(&snapshots);
    for lock in ["index.lock", "repository/config.lock"] {
        std::fs::write(room.shadow().join(lock), "").unwrap();
    }
    room.write("file", "two");
    turn(&snapshots);
    snapshots.restore(1).unwrap();
    assert_eq!(room.read("file"), "one");
}

#[test]
fn several_processes_at_once_take_turns() {
    let room = Room::new();
    fill(&room, "one");
    let before = room.listing();
    let mut children = Vec::new();
    for number in 0..4 {
        let task = format!("checkpoint session-{number}");
        children.push(
            room.other_process("killed::other_process", None, &task)
                .spawn()
                .unwrap(),
        );
    }
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let snapshots = room.snapshots();
    let list = snapshots.list().unwrap();
    let ids: Vec<u64> = list.iter().map(|checkpoint| checkpoint.id).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
    assert!(list.iter().all(|checkpoint| checkpoint.tree == list[0].tree));
    fill(&room, "two");
    snapshots.restore(1).unwrap();
    assert_eq!(room.listing(), before);
}

#[test]
fn a_git_that_hangs_is_ended_at_the_deadline_and_one_who_waits_gives_up() {
    let mut room = Room::new();
    room.write("file", "x");
    turn(&room.snapshots());
    let folder = room.path().join("slow");
    std::fs::create_dir(&folder).unwrap();
    let pid = room.path().join("pid");
    let script = format!("#!/bin/sh\nsleep 1000 &\necho $! > '{}'\nwait\n", pid.display());
    testkit::write_program(&folder.join("git"), &script);
    let places = [folder]
        .into_iter()
        .chain(std::env::split_paths(&room.settings.search_path));
    let slow = std::env::join_paths(places).unwrap();
    let quick = std::mem::replace(&mut room.settings.search_path, slow);
    // A busy machine may need this long to start the shell.
    room.settings.deadline = std::time::Duration::from_secs(5);
    let problem = std::thread::scope(|scope| {
        let snapshots = room.snapshots();
        let hanging = scope.spawn(move || snapshots.changes(1, becket_snapshot::Point::Now).unwrap_err());
        let mut settings = room.settings.clone();
        settings.search_path = quick;
        settings.deadline = std::time::Duration::from_secs(60);
        settings.lock_timeout = std::time::Duration::ZERO;
        let impatient = becket_snapshot::Snapshots::open(&room.data(), &room.folder, settings).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !pid.exists() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        // This either meets the hanging process, or comes after its end.
        if let Err(problem) = impatient.clean() {
            assert!(matches!(problem, Problem::Busy { .. }), "{problem}");
        }
        hanging.join().unwrap()
    });
    assert!(matches!(problem, Problem::Deadline { .. }), "{problem}");
    let child = std::fs::read_to_string(&pid).unwrap();
    let process = PathBuf::from("/proc").join(child.trim());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    // A dead process that was not reaped yet has no command line any more.
    while std::fs::read(process.join("cmdline")).is_ok_and(|line| !line.is_empty()) {
        assert!(std::time::Instant::now() < deadline, "the child of git lives on");
        std::thread::yield_now();
    }
}
