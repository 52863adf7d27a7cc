//! The settings that decide which calls need no question.

use std::path::PathBuf;
use std::sync::Arc;

use crate::rules::Rules;
use crate::stored_rule::RuleKeeper;
use crate::url_policy::UrlJudge;

/// The settings that decide which calls need no question.
#[derive(Debug, Clone, Default)]
pub struct ApprovalSettings {
    /// The rules of the configuration.
    pub rules: Rules,
    /// Whether every question to the user is answered with yes.
    pub yes: bool,
    /// Folders besides the working directory that may be read without asking.
    pub readable: Vec<PathBuf>,
    /// Sources of tools that the user has installed. Their tools need no yes, unless one replaces a tool of becket's
    /// own: then it needs what that one needs.
    pub installed: Vec<String>,
    /// Judges web addresses.
    pub urls: UrlJudge,
    /// Stores the rules that the user writes at a question; without a keeper none can be stored.
    pub keeper: Option<Arc<dyn RuleKeeper>>,
}
