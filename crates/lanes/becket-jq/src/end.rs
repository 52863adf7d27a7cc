//! The ways in which a run ends, with jq's exit codes.

/// How a run ends. The exit codes are jq's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Successfully.
    Well,
    /// With `-e`: the last result was `false` or `null`.
    False,
    /// A wrong command line, or input that cannot be read.
    Unusable,
    /// A filter that cannot be compiled.
    Uncompiled,
    /// With `-e`: there was no result.
    Nothing,
    /// The filter failed on an input.
    Failed,
    /// The filter chose its own exit code.
    Said(i32),
}

impl End {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Well => 0,
            Self::False => 1,
            Self::Unusable => 2,
            Self::Uncompiled => 3,
            Self::Nothing => 4,
            Self::Failed => 5,
            Self::Said(code) => (code & 0xff) as u8,
        }
    }
}
