//! What the permission modes change. In `plan` all is refused that writes, runs or sends; what becket cannot see into
//! may do any of that. In `accept-edits` a file of the project may be edited and written, except where something is
//! kept that decides what runs later: settings, hooks, version control, tasks of editors.
//!
//! Modes come after rules that deny. In `plan` they come before guards, which are not asked about what cannot happen;
//! in `accept-edits` after them, in the user's place.

use std::path::{Path, PathBuf};

use becket_events::{ApprovalSource, Effect, Operation, PermissionMode};

use super::call::{Applicant, FinalCall, Target};

/// Files and folders in which a permission mode allows no edit.
#[derive(Debug, Clone)]
pub struct ProtectedPlaces {
    /// Names of files and folders, wherever they are. Upper and lower case count as the same.
    pub names: Vec<String>,
    /// Files, and folders with all that is in them.
    pub paths: Vec<PathBuf>,
}

/// Names that are always protected: what version control, shells and editors run without being asked.
const NAMES: &[&str] = &[
    ".bash_profile",
    ".bashrc",
    ".devcontainer",
    ".direnv",
    ".envrc",
    ".git",
    ".gitattributes",
    ".gitconfig",
    ".github",
    ".gitmodules",
    ".hg",
    ".husky",
    ".idea",
    ".jj",
    ".mcp.json",
    ".profile",
    ".svn",
    ".vscode",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

impl Default for ProtectedPlaces {
    fn default() -> Self {
        Self {
            names: NAMES.iter().map(|name| (*name).to_owned()).collect(),
            paths: Vec::new(),
        }
    }
}

impl ProtectedPlaces {
    /// The name or the place by which a file is protected.
    fn of(&self, path: &Path) -> Option<String> {
        let named = path.iter().find_map(|part| {
            let part = part.to_string_lossy();
            self.names.iter().find(|name| name.eq_ignore_ascii_case(&part))
        });
        let below = || self.paths.iter().find(|place| path.starts_with(place));
        named.cloned().or_else(|| Some(below()?.display().to_string()))
    }
}

/// What a model is told about a call that plan mode refuses.
const PLANNING: &str = "the user has chosen plan mode, in which nothing is written, run or sent. Do not try it \
    another way: read what you need, then tell the user what you would do. The user will leave plan mode when you may \
    do it";

/// The permission mode of a moment, and what it needs to know about a call's file.
pub(super) struct InMode<'a> {
    pub(super) mode: PermissionMode,
    pub(super) protected: &'a ProtectedPlaces,
    /// The project.
    pub(super) directory: &'a Path,
}

impl InMode<'_> {
    /// Why the mode refuses a call, if it does.
    pub(super) fn refuses(&self, applicant: Applicant<'_>, call: &FinalCall) -> Option<String> {
        let plans = self.mode == PermissionMode::Plan;
        (plans && !only_reads(applicant, call)).then(|| PLANNING.to_owned())
    }

    /// The mode that allows a call without a question, if it does.
    pub(super) fn allows(&self, applicant: Applicant<'_>, call: &FinalCall) -> Option<ApprovalSource> {
        let path = self.accepted_file(call)?;
        let of_server = applicant.spec().is_of_a_server();
        (!of_server && self.why_not_accepted(path, call).is_none()).then_some(ApprovalSource::AcceptEdits)
    }

    /// Why an edit is asked about although the mode accepts edits; `None` if the mode has no reason.
    pub(super) fn why_asked(&self, call: &FinalCall) -> Option<String> {
        self.why_not_accepted(self.accepted_file(call)?, call)
    }

    /// The file that a call edits or writes, if the mode accepts edits.
    fn accepted_file<'a>(&self, call: &'a FinalCall) -> Option<&'a Path> {
        let accepts = self.mode == PermissionMode::AcceptEdits;
        match (&call.operation, &call.target) {
            (Some(Operation::Edit(_) | Operation::Write(_)), Target::Path(path)) => accepts.then_some(path),
            _ => None,
        }
    }

    /// Why the mode does not cover the edit of a file.
    fn why_not_accepted(&self, path: &Path, call: &FinalCall) -> Option<String> {
        if !path.starts_with(self.directory) {
            return Some("it is outside the project".into());
        }
        if let Some(place) = self.protected.of(path) {
            return Some(format!("{place} is protected"));
        }
        // Its other names may be anywhere.
        let linked = call.linked.is_some();
        linked.then(|| "the file has other names (hard links)".into())
    }
}

/// Whether a call is known to change nothing beyond the context's own notes. A fetch reads, and needs its usual yes.
fn only_reads(applicant: Applicant<'_>, call: &FinalCall) -> bool {
    match &call.operation {
        Some(operation) => matches!(operation.kind().effect(), Effect::Read | Effect::Network),
        None => applicant.spec().read_only && !applicant.tool.reaches_others(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protected_name_is_found_anywhere_and_in_any_case() {
        let mut places = ProtectedPlaces::default();
        places.names.push("becket.toml".into());
        places.paths.push("/p/hooks/guard.py".into());
        for path in [
            "/p/.git",
            "/p/.git/hooks/pre-commit",
            "/p/sub/.GIT/config",
            "/p/Becket.toml",
            "/p/.github/workflows/ci.yml",
            "/p/hooks/guard.py",
        ] {
            assert!(places.of(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            "/p/src/main.rs",
            "/p/.gitignore",
            "/p/hooks/guard.pyc",
            "/p/git/x",
        ] {
            assert_eq!(places.of(Path::new(path)), None, "{path}");
        }
    }
}
