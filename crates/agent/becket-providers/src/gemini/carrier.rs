//! Which part of an answer carries a signature, as a message keeps it.

/// The part of an answer that carries a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    Call,
    Text,
    Thought,
}

impl Carrier {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Call, "call:"),
        (Self::Text, "text:"),
        (Self::Thought, "thought:"),
    ];

    /// A signature on such a part, as a message keeps it.
    pub fn mark(self, signature: &str) -> String {
        let named = Self::ALL.iter().find(|(carrier, _)| *carrier == self);
        format!("{}{signature}", named.map_or("", |(_, name)| *name))
    }

    /// What such a text says.
    pub fn read(text: &str) -> Option<(Self, &str)> {
        let mut read = Self::ALL
            .iter()
            .filter_map(|(carrier, name)| Some((*carrier, text.strip_prefix(name)?)));
        read.next()
    }
}
