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
