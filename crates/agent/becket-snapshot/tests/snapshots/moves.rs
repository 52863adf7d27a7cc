//! Whatever happens to files, a restore is exact: random writes, renames, deletions, modes and links.

use becket_snapshot::{Conflicts, Which};
use proptest::prelude::*;

use crate::room::{Room, turn, turn_with};

/// Few names, so that files, folders and links meet in the same places.
const NAMES: [&str; 9] = [
    "a",
    "b",
    "a/x",
    "a/y",
    "b/x",
    "b/c/z",
    "-d",
    "e \u{e4}",
    "e \u{e4}/\n",
];

#[derive(Debug, Clone)]
enum Move {
    Write(usize, Vec<u8>),
    Append(usize),
    Rename(usize, usize),
    Delete(usize),
    Executable(usize, bool),
    Link(usize, usize),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let name = 0..NAMES.len();
    let one = prop_oneof![
        4 => (name.clone(), proptest::collection::vec(any::<u8>(), 0..20)).prop_map(|(at, what)| Move::Write(at, what)),
        1 => name.clone().prop_map(Move::Append),
        2 => (name.clone(), name.clone()).prop_map(|(from, to)| Move::Rename(from, to)),
        2 => name.clone().prop_map(Move::Delete),
        2 => (name.clone(), any::<bool>()).prop_map(|(at, on)| Move::Executable(at, on)),
        1 => (name.clone(), name).prop_map(|(at, to)| Move::Link(at, to)),
    ];
    proptest::collection::vec(one, 1..12)
}

/// Does a move as far as it makes sense: what is in the way is removed first.
fn make(room: &Room, step: &Move) {
    let clear = |name: &str| {
        let place = room.at(name);
        let parents: Vec<_> = std::path::Path::new(name).ancestors().skip(1).collect();
        for parent in parents
            .into_iter()
            .rev()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            if room
                .at(parent)
                .symlink_metadata()
                .is_ok_and(|about| !about.is_dir())
            {
                room.remove(parent);
            }
        }
        if place.symlink_metadata().is_ok() {
            room.remove(name);
        }
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    };
    let is_file = |name: &str| {
        let is_real = room.listing().contains_key(std::path::Path::new(name));
        is_real && room.at(name).symlink_metadata().unwrap().is_file()
    };
    match step {
        Move::Write(at, content) => {
            clear(NAMES[*at]);
            room.write(NAMES[*at], content);
        }
        Move::Append(at) if is_file(NAMES[*at]) => {
            let content = std::fs::read(room.at(NAMES[*at])).unwrap();
            room.write(NAMES[*at], [&content[..], b"+"].concat());
        }
        Move::Rename(from, to) if is_file(NAMES[*from]) && !NAMES[*to].starts_with(NAMES[*from]) => {
            let content = std::fs::read(room.at(NAMES[*from])).unwrap();
            let aside = room.path().join("aside");
            std::fs::rename(room.at(NAMES[*from]), &aside).unwrap();
            clear(NAMES[*to]);
            std::fs::rename(&aside, room.at(NAMES[*to])).unwrap();
            assert_eq!(std::fs::read(room.at(NAMES[*to])).unwrap(), content);
        }
        Move::Delete(at) if room.at(NAMES[*at]).symlink_metadata().is_ok() => clear(NAMES[*at]),
        Move::Executable(at, on) if is_file(NAMES[*at]) => {
            room.mode(NAMES[*at], if *on { 0o755 } else { 0o644 });
        }
        Move::Link(at, to) => {
            clear(NAMES[*at]);
            room.link(NAMES[*at], NAMES[*to]);
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 8,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn restore_undo_and_redo_are_exact(turns in proptest::collection::vec(moves(), 3), repository in any::<bool>()) {
        let room = if repository { Room::with_repository() } else { Room::new() };
        room.write("always", "there");
        let snapshots = room.snapshots();
        let mut states = Vec::new();
        for (number, moves) in turns.iter().enumerate() {
            states.push((turn(&snapshots), room.listing()));
            turn_with(&snapshots, || {
                moves.iter().for_each(|step| make(&room, step));
                room.write("turn", number.to_string());
            });
        }
        states.push((turn(&snapshots), room.listing()));
        for (checkpoint, listing) in states.iter().chain(states.iter().rev()) {
            snapshots.restore(checkpoint.id).unwrap();
            prop_assert_eq!(&room.listing(), listing);
        }
        // Now at the first state; each undo of a restore goes to the one before it.
        for (_, listing) in &states[1..] {
            snapshots.undo(Which::default(), Conflicts::Refuse).unwrap();
            prop_assert_eq!(&room.listing(), listing);
        }
        for (_, listing) in states[..states.len() - 1].iter().rev() {
            snapshots.redo(Conflicts::Refuse).unwrap();
            prop_assert_eq!(&room.listing(), listing);
        }
    }
}
