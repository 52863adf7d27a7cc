//! Finds the places of a piece in a text.

/// The offsets at which the piece occurs, including overlapping ones: those too make it ambiguous.
pub(crate) fn occurrences(text: &str, piece: &str) -> Vec<usize> {
    let step = piece.chars().next().map_or(1, char::len_utf8);
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(found) = text[from..].find(piece) {
        starts.push(from + found);
        from += found + step;
    }
    starts
}
