//! Asks about what a project brings and nobody has trusted yet.

use std::path::PathBuf;

use becket_system::files::read_regular;
use becket_system::{CliError, Surroundings};
use becket_trust::{contents, described, is_answered_with_yes, show};

use crate::options::RunOptions;
use crate::setup::Setup;

/// The question about an untrusted project.
pub const QUESTION: &str = "Trust exactly this?";

/// How long a program may take to answer before the session begins. A program that knows no dialogs should soon learn
/// why nothing happens.
pub const FIRST_ANSWER_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5 * 60);

/// The largest file of tests that is shown.
const MOST_SHOWN: u64 = 1 << 20;

/// The untrusted parts of a project, ready to be asked about. Whatever the answer is, the run follows the usual rules:
/// what is not trusted does not count.
pub struct Pending {
    setup: Setup,
}

impl Pending {
    /// Reads what is not trusted; `None` if everything is.
    pub fn read(options: &RunOptions, surroundings: &Surroundings) -> Result<Option<Self>, CliError> {
        if options.trust {
            return Ok(None);
        }
        let setup = Setup::read(options, surroundings)?;
        Ok((!setup.project.untrusted().is_empty()).then_some(Self { setup }))
    }

    /// The question, with everything that the user needs to know to answer it.
    pub fn text(&self) -> String {
        let trust = &self.setup.trust;
        let mut text = format!("{} brings what is not trusted:\n\n", trust.root().display());
        for judged in self.setup.project.untrusted() {
            text.push_str(&described(judged, &trust.store));
            text.push('\n');
        }
        text
    }

    /// The contents of the files that would run.
    pub fn contents(&self) -> String {
        let untrusted = self.setup.project.untrusted();
        untrusted.into_iter().map(contents).collect()
    }

    /// Trusts all of it as it is now.
    pub fn accept(&self) -> Result<(), CliError> {
        let untrusted = self.setup.project.untrusted().into_iter();
        for judged in untrusted.filter(|judged| judged.item.trouble.is_none()) {
            self.setup.trust.store.trust(&judged.item).map_err(|error| {
                CliError::failed(format!("cannot record what you trust: {error}"))
                    .hint("--trust uses it for this run")
            })?;
        }
        Ok(())
    }
}

/// Asks about what is not trusted, if a user is at the terminal.
pub fn ask(options: &RunOptions, surroundings: &Surroundings) -> Result<(), CliError> {
    if !is_somebody_there(options, surroundings) {
        return Ok(());
    }
    let Some(pending) = Pending::read(options, surroundings)? else {
        return Ok(());
    };
    show(&pending.text());
    match is_answered_with_yes(QUESTION, || pending.contents())? {
        true => pending.accept(),
        false => Ok(()),
    }
}

/// Asks whether tests that were merely found may run. Without a user at the terminal they run if `trust` is set.
pub fn may_run(
    tests: &[PathBuf],
    options: &RunOptions,
    surroundings: &Surroundings,
) -> Result<bool, CliError> {
    if options.trust || !is_somebody_there(options, surroundings) {
        return Ok(options.trust);
    }
    let names = tests.iter().map(|file| format!("  {}\n", file.display()));
    let names: String = names.collect();
    show(&format!(
        "There are tests, which run the hooks and commands in them:\n{names}"
    ));
    is_answered_with_yes("Run them?", || {
        let texts = tests.iter().map(|file| {
            let text = read_regular(file, MOST_SHOWN).unwrap_or_else(|error| error.to_string());
            format!("--- {}\n{text}\n", file.display())
        });
        texts.collect()
    })
}

/// Whether there is a user at a terminal who can be asked before the run begins.
pub fn is_somebody_there(options: &RunOptions, surroundings: &Surroundings) -> bool {
    let is_terminal = surroundings.stdin_is_terminal && surroundings.stderr_is_terminal;
    is_terminal && !options.json && options.client.is_none()
}
