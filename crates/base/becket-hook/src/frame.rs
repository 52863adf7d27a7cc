//! A message between client and daemon: its kind, and a list of byte strings, each with its length before it.

use std::io::{self, Read, Write};

/// The most bytes of a message.
pub const LARGEST_FRAME: u64 = 96 << 20;

/// The first bytes of a message.
const MAGIC: [u8; 4] = *b"bkt1";

/// The most parts of a message.
const MOST_PARTS: u32 = 20_000;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A question of another agent: version, project, directory, arguments (with a line feed after each), input, then
    /// names and values of variables.
    Ask = 1,
    /// The daemon has read the question, and answers it or dies.
    Heard,
    /// The text for standard output.
    Answer,
    /// The daemon cannot answer; the one part says why.
    Decline,
    /// Asks for what the daemon does. The answer is JSON.
    Status,
    /// Asks the daemon to end.
    Stop,
}

const KINDS: [Kind; 6] = [
    Kind::Ask,
    Kind::Heard,
    Kind::Answer,
    Kind::Decline,
    Kind::Status,
    Kind::Stop,
];

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    pub parts: Vec<Vec<u8>>,
}

impl Frame {
    /// A message with these parts.
    pub fn new(kind: Kind, parts: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        Self {
            kind,
            parts: parts.into_iter().map(Into::into).collect(),
        }
    }

    /// A message without parts.
    pub fn bare(kind: Kind) -> Self {
        Self::new(kind, [""; 0])
    }

    /// A part as text; empty if it is missing or no text.
    pub fn text(&self, place: usize) -> &str {
        let part = self.parts.get(place).map(Vec::as_slice);
        str::from_utf8(part.unwrap_or_default()).unwrap_or_default()
    }

    /// Writes the message at once.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let too_large = |_| io::Error::other("the message is too large");
        let mut bytes = MAGIC.to_vec();
        bytes.push(self.kind as u8);
        bytes.extend(u32::try_from(self.parts.len()).map_err(too_large)?.to_be_bytes());
        for part in &self.parts {
            bytes.extend(u32::try_from(part.len()).map_err(too_large)?.to_be_bytes());
            bytes.extend(part);
        }
        if bytes.len() as u64 > LARGEST_FRAME {
            return Err(io::Error::other("the message is too large"));
        }
        to.write_all(&bytes)?;
        to.flush()
    }

    /// Reads one message, and nothing behind it.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        let mut head = [0; 9];
        from.read_exact(&mut head)?;
        let kind = KINDS.into_iter().find(|kind| *kind as u8 == head[4]);
        let kind = kind
            .filter(|_| head.starts_with(&MAGIC))
            .ok_or_else(|| wrong("this is no message of becket's"))?;
        let count = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        if count > MOST_PARTS {
            return Err(wrong("the message has too many parts"));
        }
        let mut parts = Vec::new();
        let mut left = LARGEST_FRAME;
        for _ in 0..count {
            let mut length = [0; 4];
            from.read_exact(&mut length)?;
            let length = u64::from(u32::from_be_bytes(length));
            left = left
                .checked_sub(length)
                .ok_or_else(|| wrong("the message is too large"))?;
            let mut part = Vec::new();
            if from.take(length).read_to_end(&mut part)? as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            parts.push(part);
        }
        Ok(Self { kind, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_as_it_was_sent_and_a_cut_one_does_not() {
        let sent = Frame::new(Kind::Ask, [&b"1.0"[..], b"", b"\xff\0\n", &[b'x'; 70_000]]);
        let mut bytes = Vec::new();
        sent.write(&mut bytes).unwrap();
        let mut both = bytes.clone();
        both.extend(b"rest");
        let mut from = both.as_slice();
        assert_eq!(Frame::read(&mut from).unwrap(), sent);
        assert_eq!(from, b"rest");
        for end in 0..bytes.len().min(40) {
            assert!(Frame::read(&mut &bytes[..end]).is_err(), "{end} bytes");
        }
        assert!(Frame::read(&mut &bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn a_message_that_claims_too_much_is_refused_before_it_is_read() {
        let head = |kind: u8, count: u32| {
            let mut bytes = MAGIC.to_vec();
            bytes.push(kind);
            bytes.extend(count.to_be_bytes());
            bytes
        };
        let mut long = head(1, 1);
        long.extend(u32::MAX.to_be_bytes());
        for bytes in [head(1, u32::MAX), head(9, 0), b"HTTP/1.1 200".to_vec(), long] {
            let error = Frame::read(&mut bytes.as_slice()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{bytes:?}");
        }
    }
}
