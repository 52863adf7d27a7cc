//! The settings that decide which calls need no question.

use std::path::PathBuf;
use std::sync::Arc;

use super::modes::ProtectedPlaces;
use crate::audit::Count;
use crate::rules::Rules;
use crate::shared_mode::SharedMode;
use crate::stored_rule::RuleKeeper;
use crate::url_policy::UrlJudge;

/// The settings that decide which calls need no question.
#[derive(Debug, Clone, Default)]
pub struct ApprovalSettings {
    /// The rules of the configuration.
    pub rules: Rules,
    /// What needs the user's yes, and what is refused without a question.
    pub mode: SharedMode,
    /// Where a permission mode allows no edit.
    pub protected: ProtectedPlaces,
    /// Folders besides the working directory that may be read without asking.
    pub readable: Vec<PathBuf>,
    /// Sources of tools that the user has installed. Their tools need no yes, unless one replaces a tool of becket's
    /// own: then it needs what that one needs.
    pub installed: Vec<String>,
    /// Judges web addresses.
    pub urls: UrlJudge,
    /// The user's home folder, which `~/` at the beginning of a path means. Without one it is a folder like any other.
    pub home: Option<PathBuf>,
    /// Stores the rules that the user writes at a question; without a keeper none can be stored.
    pub keeper: Option<Arc<dyn RuleKeeper>>,
    /// Counts the refused calls of all sessions with these settings. Clones share the count.
    pub refused: Arc<Count>,
}
