//! Output of any length in bounded memory: its beginning and its end are kept, the bytes between are counted.

use std::collections::VecDeque;

/// The kept part of an output.
#[derive(Clone)]
pub(crate) struct KeptOutput {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl KeptOutput {
    /// An output of which about that many bytes are kept.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            half: (most / 2).max(1),
            head: Vec::new(),
            tail: VecDeque::new(),
            left_out: 0,
        }
    }

    /// Appends more output.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = self.half - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        // Of a piece longer than the tail only its end can stay.
        let skipped = rest.len().saturating_sub(self.half);
        let rest = &rest[skipped..];
        let pushed_out = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..pushed_out);
        self.tail.extend(rest);
        self.left_out += (skipped + pushed_out) as u64;
    }

    /// How many bytes were left out between the two parts.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The output as text, with a notice where something is left out.
    pub(crate) fn into_text(self) -> String {
        let tail: Vec<u8> = self.tail.into();
        if self.left_out == 0 {
            let mut whole = self.head;
            whole.extend(tail);
            return String::from_utf8_lossy(&whole).into_owned();
        }
        // The cut may go through a character; its torn halves belong to what is left out.
        let head = String::from_utf8_lossy(&self.head);
        let start = tail.iter().position(|byte| byte & 0xC0 != 0x80).unwrap_or(0);
        let tail = String::from_utf8_lossy(&tail[start..]);
        format!(
            "{}\n[… {} bytes left out here …]\n{tail}",
            head.trim_end_matches('\u{FFFD}'),
            self.left_out
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_output_stays_whole_even_when_it_came_in_pieces() {
        let mut kept = KeptOutput::new(8);
        for piece in ["a", "bcä"] {
            kept.push(piece.as_bytes());
        }
        assert_eq!(kept.into_text(), "abcä");
    }

    #[test]
    fn beginning_and_end_stay_of_a_long_output() {
        let mut kept = KeptOutput::new(8);
        kept.push(b"0123456789abcdef");
        kept.push(b"gh");
        assert_eq!(kept.left_out(), 10);
        assert_eq!(kept.into_text(), "0123\n[… 10 bytes left out here …]\nefgh");
    }

    #[test]
    fn torn_characters_do_not_show() {
        let mut kept = KeptOutput::new(6);
        kept.push("aäääääää".as_bytes());
        let text = kept.into_text();
        assert!(!text.contains('\u{FFFD}'), "{text}");
    }

    proptest! {
        #[test]
        fn every_byte_is_kept_or_counted(
            pieces in prop::collection::vec(prop::collection::vec(0u8..128, 0..40), 0..20),
            most in 2usize..64,
        ) {
            let mut kept = KeptOutput::new(most);
            let mut whole = Vec::new();
            for piece in &pieces {
                kept.push(piece);
                whole.extend(piece);
            }
            let stays = kept.head.len() + kept.tail.len();
            prop_assert!(stays <= most);
            prop_assert_eq!(stays as u64 + kept.left_out(), whole.len() as u64);
            prop_assert!(whole.starts_with(&kept.head));
            let tail: Vec<u8> = kept.tail.iter().copied().collect();
            prop_assert!(whole.ends_with(&tail));
        }
    }
}
