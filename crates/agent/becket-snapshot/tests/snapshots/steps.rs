//! Steps: what undo takes back and leaves, redo, expiry.

use std::time::Duration;

use becket_snapshot::{Conflicts, Keep, Kind, Point, Problem, Span, Which};

use crate::room::{Room, begin, turn, turn_with};

const ANY: Which<'static> = Which {
    span: None,
    session: None,
};

#[test]
fn undo_and_redo_walk_through_turns() {
    let room = Room::new();
    room.write("file", "0");
    let snapshots = room.snapshots();
    for number in ["1", "2", "3"] {
        turn_with(&snapshots, || room.write("file", number));
    }
    for expected in ["2", "1", "0"] {
        snapshots.undo(ANY, Conflicts::Refuse).unwrap();
        assert_eq!(room.read("file"), expected);
    }
    assert!(matches!(
        snapshots.undo(ANY, Conflicts::Refuse),
        Err(Problem::Nothing("undo"))
    ));
    for expected in ["1", "2", "3"] {
        snapshots.redo(Conflicts::Refuse).unwrap();
        assert_eq!(room.read("file"), expected);
    }
    assert!(matches!(
        snapshots.redo(Conflicts::Refuse),
        Err(Problem::Nothing("redo"))
    ));
    // Something new ends what could be redone.
    snapshots.undo(ANY, Conflicts::Refuse).unwrap();
    turn_with(&snapshots, || room.write("other", "x"));
    assert!(matches!(
        snapshots.redo(Conflicts::Refuse),
        Err(Problem::Nothing("redo"))
    ));
}

#[test]
fn a_turn_without_a_change_leaves_no_checkpoint() {
    let room = Room::new();
    room.write("file", "0");
    let snapshots = room.snapshots();
    let before = turn(&snapshots);
    assert_eq!(snapshots.finish(before.id).unwrap(), None);
    assert_eq!(snapshots.list().unwrap(), []);
    let next = turn(&snapshots);
    assert!(next.id > before.id);
}

#[test]
fn undo_leaves_what_the_person_did_and_refuses_where_both_were() {
    let room = Room::new();
    room.write("theirs", "0");
    room.write("both", "0");
    room.write("mine", "0");
    let snapshots = room.snapshots();
    turn_with(&snapshots, || {
        room.write("theirs", "agent");
        room.write("both", "agent");
    });
    room.write("mine", "user");
    room.write("both", "user");
    let before = room.listing();
    let count = snapshots.list().unwrap().len();
    let problem = snapshots.undo(ANY, Conflicts::Refuse).unwrap_err();
    assert!(
        matches!(&problem, Problem::Changed { paths } if paths.len() == 1),
        "{problem}"
    );
    assert!(problem.to_string().contains("1 file changed since") && problem.to_string().contains("\"both\""));
    assert_eq!(room.listing(), before);
    assert_eq!(snapshots.list().unwrap().len(), count);

    let undone = snapshots.undo(ANY, Conflicts::Overwrite).unwrap();
    assert_eq!(undone.changes.len(), 2);
    assert_eq!(
        (room.read("theirs"), room.read("both"), room.read("mine")),
        ("0".into(), "0".into(), "user".into())
    );
    // Redo is exact: also what the user had written is back.
    snapshots.redo(Conflicts::Refuse).unwrap();
    assert_eq!(room.listing(), before);
}

#[test]
fn what_is_already_as_before_is_no_conflict() {
    let room = Room::new();
    room.write("file", "0");
    let snapshots = room.snapshots();
    turn_with(&snapshots, || room.write("file", "1"));
    room.write("file", "0");
    let undone = snapshots.undo(ANY, Conflicts::Refuse).unwrap();
    assert!(undone.changes.is_empty());
    assert!(matches!(
        snapshots.undo(ANY, Conflicts::Refuse),
        Err(Problem::Nothing(_))
    ));
}

#[test]
fn calls_can_be_undone_one_by_one_or_with_their_turn() {
    let room = Room::new();
    let snapshots = room.snapshots();
    let before = turn(&snapshots);
    for name in ["a", "b"] {
        let call = begin(&snapshots, Span::Call, "one");
        room.write(name, "x");
        snapshots.finish(call.id).unwrap().unwrap();
    }
    snapshots.finish(before.id).unwrap().unwrap();
    let calls = Which {
        span: Some(Span::Call),
        session: Some("one"),
    };
    snapshots.undo(calls, Conflicts::Refuse).unwrap();
    assert!(room.at("a").exists() && !room.at("b").exists());
    let undone = snapshots.undo(ANY, Conflicts::Refuse).unwrap();
    assert_eq!((undone.of.kind, room.listing().len()), (Kind::Turn, 0));
    // With the turn its calls are gone.
    assert!(matches!(
        snapshots.undo(calls, Conflicts::Refuse),
        Err(Problem::Nothing(_))
    ));
    let others = Which {
        span: None,
        session: Some("two"),
    };
    assert!(matches!(
        snapshots.undo(others, Conflicts::Refuse),
        Err(Problem::Nothing(_))
    ));
}

#[test]
fn a_turn_that_was_interrupted_can_be_undone() {
    let room = Room::new();
    room.write("file", "0");
    let snapshots = room.snapshots();
    let before = turn(&snapshots);
    room.write("file", "half");
    snapshots.undo(ANY, Conflicts::Refuse).unwrap();
    assert_eq!(room.read("file"), "0");
    // If it was only slow, its end is a step all the same.
    room.write("file", "whole");
    assert!(snapshots.finish(before.id).unwrap().is_some());
    snapshots.undo(ANY, Conflicts::Refuse).unwrap();
    assert_eq!(room.read("file"), "0");
}

#[test]
fn a_restore_is_a_step_that_can_be_undone() {
    let room = Room::new();
    room.write("file", "0");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.write("file", "1");
    room.write("unsaved", "1");
    let before = room.listing();
    snapshots.restore(first.id).unwrap();
    assert_eq!(room.listing().len(), 1);
    let undone = snapshots.undo(ANY, Conflicts::Refuse).unwrap();
    assert_eq!(undone.of.kind, Kind::Restore);
    assert_eq!(room.listing(), before);
}

#[test]
fn differences_are_told_as_paths_and_as_a_patch() {
    let room = Room::new();
    room.write("file", "one\n");
    let snapshots = room.snapshots();
    let first = turn(&snapshots);
    room.write("file", "two\n");
    room.write("new", "x\n");
    let changes = snapshots.changes(first.id, Point::Now).unwrap();
    assert_eq!(changes.len(), 2);
    assert!(changes[1].before.is_none() && changes[1].after.is_some());
    let patch = String::from_utf8(snapshots.patch(first.id, Point::Now).unwrap()).unwrap();
    assert!(
        patch.contains("-one\n+two\n") && patch.contains("+++ b/new"),
        "{patch}"
    );
    assert_eq!(snapshots.list().unwrap().len(), 1);
}

#[test]
fn old_checkpoints_expire_and_live_ones_stay_whole() {
    let mut room = Room::new();
    let snapshots = room.snapshots();
    for number in 0..8 {
        // Contents that cannot be packed well, so that the size tells something.
        let noise: Vec<u8> = (0..20_000_u32)
            .map(|place| (place.wrapping_mul(2_654_435_761 + number) >> 13) as u8)
            .collect();
        turn_with(&snapshots, || room.write("file", &noise));
    }
    let before = room.listing();
    let last = snapshots.list().unwrap().last().unwrap().clone();
    let nothing = snapshots.clean().unwrap();
    assert_eq!(nothing.expired, 0);
    room.settings.keep = Keep {
        age: Duration::from_secs(3600),
        most: 1,
    };
    let snapshots = room.snapshots();
    let cleaned = snapshots.clean().unwrap();
    assert!(
        cleaned.expired > 10 && cleaned.after < cleaned.before,
        "{cleaned:?}"
    );
    let left: Vec<u64> = snapshots.list().unwrap().iter().map(|left| left.id).collect();
    assert_eq!(left, [last.since.unwrap(), last.id]);
    snapshots.undo(ANY, Conflicts::Refuse).unwrap();
    assert_ne!(room.listing(), before);
    snapshots.redo(Conflicts::Refuse).unwrap();
    assert_eq!(room.listing(), before);
    room.write("file", "after");
    snapshots.restore(last.id).unwrap();
    assert_eq!(room.listing(), before);
    turn_with(&snapshots, || room.write("file", "more"));
    snapshots.undo(ANY, Conflicts::Refuse).unwrap();
    assert_eq!(room.listing(), before);
    room.settings.keep.age = Duration::ZERO;
    let snapshots = room.snapshots();
    snapshots.clean().unwrap();
    let left = snapshots.list().unwrap();
    assert!(!left.is_empty());
    snapshots.restore(left[0].id).unwrap();
    assert!(snapshots.size() > 0);
}

/// A git in front of the real one that stops, once its process id is written down, when it is to find what is needed.
fn git_that_stops(room: &Room) -> (std::ffi::OsString, std::path::PathBuf) {
    let folder = room.path().join("stopping");
    std::fs::create_dir(&folder).unwrap();
    let pid = room.path().join("pid");
    let mut places = std::env::split_paths(&room.settings.search_path).map(|place| place.join("git"));
    let real = places.find(|program| program.exists()).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *rev-list*) echo $$ > '{}'; exec sleep 1000;; esac\nexec '{}' \"$@\"\n",
        pid.display(),
        real.display()
    );
    testkit::write_program(&folder.join("git"), &script);
    let all = [folder]
        .into_iter()
        .chain(std::env::split_paths(&room.settings.search_path));
    (std::env::join_paths(all).unwrap(), pid)
}

#[test]
fn an_undo_never_waits_while_old_checkpoints_are_removed() {
    let mut room = Room::new();
    room.write("file", "0");
    for number in ["1", "2", "3"] {
        turn_with(&room.snapshots(), || room.write("file", number));
    }
    let (slow, pid) = git_that_stops(&room);
    let quick = std::mem::replace(&mut room.settings.search_path, slow);
    room.settings.keep.most = 3;
    let cleaning = room.snapshots();
    room.settings.search_path = quick;
    let impatient = room.snapshots();
    let deadline = std::time::Instant::now() + Duration::from_secs(300);
    let in_time = |what: &str| assert!(std::time::Instant::now() < deadline, "{what}");
    std::thread::scope(|scope| {
        // A process that another test starts holds all locks for a moment, and cleaning gives way to whoever does.
        let clean = || cleaning.clean_for(Duration::from_secs(600));
        let mut cleaned = scope.spawn(clean);
        // The shell makes the file before it writes into it.
        let number = || {
            std::fs::read_to_string(&pid)
                .ok()
                .filter(|text| text.ends_with('\n'))
        };
        let number = loop {
            if let Some(number) = number() {
                break number;
            }
            if cleaned.is_finished() {
                cleaned.join().unwrap().unwrap();
                cleaned = scope.spawn(clean);
            }
            in_time("it is at work");
            std::thread::sleep(Duration::from_millis(5));
        };
        // It would have to wait for longer than its lock's time.
        impatient.undo(ANY, Conflicts::Refuse).unwrap();
        assert_eq!(room.read("file"), "2");
        let kill = std::process::Command::new("kill").arg(number.trim()).status();
        assert!(kill.unwrap().success());
        assert!(cleaned.join().unwrap().is_err(), "git has been killed");
    });
    // Running out of time is no problem: the rest is done another time.
    cleaning.clean_for(Duration::from_millis(200)).unwrap();
    let before = impatient.size();
    while impatient.size() >= before {
        in_time("what was left is removed now");
        impatient.clean().unwrap();
    }
    impatient.redo(Conflicts::Refuse).unwrap();
    assert_eq!(room.read("file"), "3");
}

#[test]
fn the_store_never_grows_to_twice_the_folder() {
    let mut room = Room::new();
    let mut noise = 1_u64;
    for number in 0..8_000 {
        let content: Vec<u8> = (0..8_100)
            .map(|_| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (noise >> 33) as u8
            })
            .collect();
        room.write(format!("{}/{number}", number % 40), content);
    }
    let folder = 8_000 * 8_192_u64;
    turn_with(&room.snapshots(), || room.write("new", "x"));
    room.settings.keep.most = 1;
    turn_with(&room.snapshots(), || room.write("newer", "x"));
    let (cleaning, watching) = (room.snapshots(), room.snapshots());
    let most = std::thread::scope(|scope| {
        let cleaned = scope.spawn(move || cleaning.clean().unwrap());
        let mut most = 0;
        while !cleaned.is_finished() {
            most = most.max(watching.size());
        }
        cleaned.join().unwrap();
        most.max(watching.size())
    });
    assert!(most < folder * 3 / 2, "{most} bytes for {folder}");
}
