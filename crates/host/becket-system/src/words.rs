//! Numbers of things in words.

/// A number of things: `1 line`, `2 lines`.
pub fn counted(count: u64, thing: &str) -> String {
    format!("{count} {}", numbered(count, thing))
}

/// The word for that many things, without the number.
pub fn numbered(count: u64, thing: &str) -> String {
    format!("{thing}{}", if count == 1 { "" } else { "s" })
}
