//! Lists that a hook was shown and has written anew: which new members are old ones.

use serde_json::Value;

/// Where a member of a list comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The shown member at this index, unchanged.
    Same(usize),
    /// The shown member at this index, changed.
    Changed(usize),
    /// A new member.
    New,
}

/// Finds out what a hook did to the list that it was shown. Equal members stay the same; a different member of the same
/// kind as the next shown one is that one changed; the rest is new.
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
