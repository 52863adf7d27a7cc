//! How a prompt, a compaction and a move to another entry can end.

use becket_events::EndReason;

use crate::provider::ProviderError;

/// How a prompt ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// The model's last text; empty if there was none.
    pub answer: String,
    /// The way in which the prompt ended.
    pub ending: Ending,
}

/// The ways in which a prompt can end.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The model answered.
    Answered,
    /// A hook handled the prompt, perhaps with a message for the user.
    Handled(Option<String>),
    /// A hook stopped the run, for this reason.
    Blocked(String),
    /// Iterations or fuel are used up.
    Limit(String),
    /// The model repeated itself.
    LoopDetected(String),
    /// The provider failed.
    Provider(ProviderError),
    /// The user cancelled.
    Cancelled,
    /// Code outside of the loop ended the run through the session handle.
    Aborted,
}

impl Ending {
    /// The ending as events name it.
    pub fn reason(&self) -> EndReason {
        match self {
            Self::Answered | Self::Handled(_) => EndReason::Done,
            Self::Blocked(_) => EndReason::Blocked,
            Self::Limit(_) => EndReason::Limit,
            Self::LoopDetected(_) | Self::Provider(_) => EndReason::Failed,
            Self::Cancelled | Self::Aborted => EndReason::Cancelled,
        }
    }
}

/// How a compaction ended.
#[derive(Debug, Clone, PartialEq)]
pub enum CompactEnd {
    /// The summary now stands for the older messages.
    Compacted {
        /// How many messages the summary stands for.
        summarised: usize,
        /// How many messages are kept as they are.
        kept: usize,
        /// The summary.
        summary: String,
        /// The entry that holds the summary.
        entry_id: String,
    },
    /// There was nothing to summarise.
    Nothing,
    /// A hook or the user refused the compaction, for this reason.
    Refused(String),
    /// The provider failed.
    Provider(ProviderError),
    /// The model wrote nothing that could be used.
    NoSummary(&'static str),
    /// The user cancelled.
    Cancelled,
}

/// How a move to another entry ended.
#[derive(Debug, Clone, PartialEq)]
pub enum GoToEnd {
    /// The conversation continues at another place.
    Went {
        /// The current leaf; `None` before the first entry.
        leaf_id: Option<String>,
        /// The user's text at the chosen entry, to be edited and sent again.
        text: Option<String>,
        /// The entry with the summary, if there is one.
        summary_id: Option<String>,
    },
    /// The conversation was there already.
    AlreadyThere,
    /// The conversation has no such entry.
    NoEntry,
    /// A hook or the user refused the move, for this reason.
    Refused(String),
    /// The provider failed.
    Provider(ProviderError),
    /// The model wrote no summary that could be used.
    NoSummary(&'static str),
    /// The user cancelled.
    Cancelled,
}
