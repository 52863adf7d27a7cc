//! Lists that a hook was shown and has written anew: which of the new ones are the old ones.

use serde_json::Value;

/// What became of a list's member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It is the shown one at this place, as it was.
    Same(usize),
    /// It is the shown one at this place, changed.
    Changed(usize),
    /// It is new.
    New,
}

/// Finds out what a hook did to the list that it was shown. What is the same stays the same; what is otherwise, but of
/// the same kind as the next that was shown, is that one changed; the rest is new.
pub fn origins(shown: &[Value], written: &[Value], kind: &str) -> Vec<Origin> {
    let mut next = 0;
    let origin = |value: &Value| {
        let origin = match (next..shown.len()).find(|place| shown[*place] == *value) {
            Some(place) => Origin::Same(place),
            None if shown.get(next).is_some_and(|before| before[kind] == value[kind]) => {
                Origin::Changed(next)
            }
            None => Origin::New,
        };
        if let Origin::Same(place) | Origin::Changed(place) = origin {
            next = place + 1;
        }
        origin
    };
    written.iter().map(origin).collect()
}
