//! Nothing can be changed in the log without being found: 10,000 mutations of every kind.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::Config;

use super::*;

/// A log of `length` records.
fn chain(length: u64) -> (Vec<AuditEntry>, End) {
    let mut hash = BEFORE_ALL.to_owned();
    let mut entries = Vec::new();
    for seq in 1..=length {
        let mut entry = AuditEntry {
            seq,
            time_ms: 1_700_000_000_000 + seq,
            session_id: format!("session-{}", seq % 3),
            kind: ["call", "hooks", "operation", "ledger"][seq as usize % 4].into(),
            previous: hash.clone(),
            hash: String::new(),
            record: json!({"tool_name": "shell", "original": {"command": format!("echo {seq}")}}).to_string(),
        };
        entry.hash = entry.expected_hash();
        hash.clone_from(&entry.hash);
        entries.push(entry);
    }
    let head = AuditHead { count: length, hash };
    (
        entries,
        End {
            head,
            highest: length,
        },
    )
}

fn verify(entries: &[AuditEntry], end: &End, noted: Option<&str>) -> Result<AuditHead, Flaw> {
    let mut check = Check::default();
    for entry in entries {
        check.next(entry, noted)?;
    }
    check.end(end, noted)
}

/// A way to tamper with a log.
#[derive(Debug, Clone)]
enum Mutation {
    /// Another byte in one of the texts, or another number, of a record.
    Change(Index, Index, Index),
    Remove(Index),
    /// A record is removed, and those behind it are renumbered.
    RemoveAndRenumber(Index),
    Swap(Index, Index),
    /// Two records change places and numbers.
    SwapAndRenumber(Index, Index),
    Duplicate(Index),
    DuplicateAndRenumber(Index),
    /// The last records are gone.
    Truncate(Index),
    /// The last records are gone, and the head agrees.
    TruncateWithHead(Index),
    /// A record with a right hash at the end, which the head does not know.
    Forge,
    /// A changed head.
    Head(Index),
}

fn mutations() -> impl Strategy<Value = Mutation> {
    let one = any::<Index>;
    prop_oneof![
        4 => (one(), one(), one()).prop_map(|(at, part, byte)| Mutation::Change(at, part, byte)),
        1 => one().prop_map(Mutation::Remove),
        1 => one().prop_map(Mutation::RemoveAndRenumber),
        1 => (one(), one()).prop_map(|(at, other)| Mutation::Swap(at, other)),
        1 => (one(), one()).prop_map(|(at, other)| Mutation::SwapAndRenumber(at, other)),
        1 => one().prop_map(Mutation::Duplicate),
        1 => one().prop_map(Mutation::DuplicateAndRenumber),
        1 => one().prop_map(Mutation::Truncate),
        1 => one().prop_map(Mutation::TruncateWithHead),
        1 => Just(Mutation::Forge),
        1 => one().prop_map(Mutation::Head),
    ]
}

/// Changes one byte of a text into another one.
fn change(text: &mut String, byte: Index) {
    let at = byte.index(text.len());
    let other = if text.as_bytes()[at] == b'x' { "y" } else { "x" };
    text.replace_range(at..=at, other);
}

fn renumber(entries: &mut [AuditEntry]) {
    for (seq, entry) in (1..).zip(entries) {
        entry.seq = seq;
    }
}

fn apply(mutation: &Mutation, entries: &mut Vec<AuditEntry>, end: &mut End) {
    let length = entries.len();
    match mutation {
        Mutation::Change(at, part, byte) => {
            let entry = &mut entries[at.index(length)];
            match part.index(7) {
                0 => entry.seq += 1 + byte.index(3) as u64,
                1 => entry.time_ms += 1,
                2 => change(&mut entry.session_id, *byte),
                3 => change(&mut entry.kind, *byte),
                4 => change(&mut entry.previous, *byte),
                5 => change(&mut entry.hash, *byte),
                _ => change(&mut entry.record, *byte),
            }
        }
        Mutation::Remove(at) => drop(entries.remove(at.index(length))),
        Mutation::RemoveAndRenumber(at) => {
            entries.remove(at.index(length));
            renumber(entries);
        }
        Mutation::Swap(at, other) | Mutation::SwapAndRenumber(at, other) => {
            let at = at.index(length);
            let other = (at + 1 + other.index(length - 1)) % length;
            entries.swap(at, other);
            if matches!(mutation, Mutation::SwapAndRenumber(..)) {
                renumber(entries);
            }
        }
        Mutation::Duplicate(at) | Mutation::DuplicateAndRenumber(at) => {
            let at = at.index(length);
            entries.insert(at, entries[at].clone());
            if matches!(mutation, Mutation::DuplicateAndRenumber(_)) {
                renumber(entries);
            }
        }
        Mutation::Truncate(at) => entries.truncate(at.index(length)),
        Mutation::TruncateWithHead(at) => {
            entries.truncate(at.index(length));
            end.head = entries.last().map_or(
                AuditHead {
                    count: 0,
                    hash: BEFORE_ALL.into(),
                },
                |last| AuditHead {
                    count: last.seq,
                    hash: last.hash.clone(),
                },
            );
        }
        Mutation::Forge => {
            let mut forged = entries[length - 1].clone();
            forged.seq += 1;
            forged.previous.clone_from(&entries[length - 1].hash);
            forged.hash = forged.expected_hash();
            entries.push(forged);
        }
        Mutation::Head(byte) => change(&mut end.head.hash, *byte),
    }
}

proptest! {
    #![proptest_config(Config { cases: 10_000, ..Config::default() })]

    #[test]
    fn every_mutation_is_found(length in 2_u64..12, mutation in mutations()) {
        let (mut entries, mut end) = chain(length);
        let noted = end.head.hash.clone();
        prop_assert!(verify(&entries, &end, Some(&noted)).is_ok());
        apply(&mutation, &mut entries, &mut end);
        let flaw = verify(&entries, &end, None);
        prop_assert!(flaw.is_err(), "{:?} went unnoticed", mutation);
    }
}

proptest! {
    /// A whole new chain is valid in itself; only a hash that was noted before reveals it.
    #[test]
    fn a_new_chain_is_found_by_a_noted_hash(length in 1_u64..8, at in any::<Index>()) {
        let (old, end) = chain(length);
        let noted = old[at.index(old.len())].hash.clone();
        prop_assert!(verify(&old, &end, Some(&noted)).is_ok(), "a hash from the middle is as good as the last");
        let mut hash = BEFORE_ALL.to_owned();
        let mut forged = old;
        for entry in &mut forged {
            entry.record = entry.record.replace("echo", "true");
            entry.previous.clone_from(&hash);
            entry.hash = entry.expected_hash();
            hash.clone_from(&entry.hash);
        }
        let end = End { head: AuditHead { count: length, hash }, highest: length };
        prop_assert!(verify(&forged, &end, None).is_ok());
        prop_assert!(verify(&forged, &end, Some(&noted)).is_err());
    }
}

#[test]
fn the_first_bad_record_is_named() {
    let (mut entries, end) = chain(9);
    entries[3].record.push(' ');
    assert_eq!(verify(&entries, &end, None).unwrap_err().seq, 4);
    let (mut entries, end) = chain(9);
    entries.remove(3);
    assert_eq!(verify(&entries, &end, None).unwrap_err().seq, 4);
    let (mut entries, end) = chain(9);
    entries.truncate(7);
    assert_eq!(verify(&entries, &end, None).unwrap_err().seq, 8);
}

#[test]
fn long_texts_stand_there_by_their_hash() {
    let long = "x".repeat(LONGEST_TEXT + 1);
    let mut value = json!({"content": long, "edits": [{"old": long}], "path": "a"});
    shorten(&mut value);
    let hash = blake3::hash(long.as_bytes()).to_hex().to_string();
    let stands = json!({"bytes": LONGEST_TEXT + 1, "blake3": hash});
    assert_eq!(
        value,
        json!({"content": stands, "edits": [{"old": stands}], "path": "a"})
    );
}
