//! A Scheme machine for the prompt, and the results of code.

use std::path::PathBuf;
use std::sync::Arc;

use becket_chibi::scheme;
use becket_chibi::scheme_files::{Calls, Leaving, NoCalls, SchemeFile, Why};
use becket_system::{CliError, Surroundings, harmless};

use crate::printing::print;

/// The name of typed or piped code in messages.
pub const INPUT: &str = "input";

/// A Scheme machine for the prompt, with a session that makes its tool calls.
pub struct Repl {
    pub machine: Arc<SchemeFile>,
    pub calls: Box<dyn Calls>,
    pub context: String,
    pub cwd: PathBuf,
}

/// Whether more lines are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    GoOn,
    Leave,
}

/// The result of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The code has ended; a value was printed if there is one.
    Value,
    /// The code has failed, or reached a limit.
    Failed,
    /// The code wants to leave.
    Left(Leaving),
}

impl Shown {
    /// Whether more lines are read after this result.
    pub fn next(self) -> Next {
        match self {
            Self::Left(_) => Next::Leave,
            Self::Value | Self::Failed => Next::GoOn,
        }
    }
}

impl Repl {
    /// Defines `(exit)`, unless it means something else already.
    pub async fn open_the_door(&self) {
        if !self.machine.names().iter().any(|name| name == scheme::LEAVE) {
            let evaluated = self
                .machine
                .evaluate(scheme::LEAVING, INPUT, &self.context, &NoCalls);
            drop(evaluated.await);
        }
    }

    /// Evaluates code and prints the result.
    pub async fn show(&self, code: &str, surroundings: &Surroundings) -> Result<Shown, CliError> {
        self.evaluate(code, INPUT, surroundings).await
    }

    /// Evaluates code that messages call by another name than the input, and prints the result.
    pub async fn evaluate(
        &self,
        code: &str,
        name: &str,
        surroundings: &Surroundings,
    ) -> Result<Shown, CliError> {
        let evaluated = self.machine.evaluate(code, name, &self.context, &*self.calls);
        let (result, stdout, stderr) = evaluated.await;
        let shown = |text: &str| match surroundings.stdout_is_terminal {
            true => harmless(text),
            false => text.to_owned(),
        };
        print(&shown(&stdout))?;
        if !stdout.is_empty() && !stdout.ends_with('\n') {
            print("\n")?;
        }
        if !stderr.is_empty() {
            surroundings.remark(stderr.trim_end());
        }
        match result {
            Ok(None) => Ok(Shown::Value),
            Ok(Some(value)) => print(&format!("{}\n", shown(&value))).map(|()| Shown::Value),
            Err(trouble) => Ok(match trouble.why {
                Why::Exit(leaving) => Shown::Left(leaving),
                _ => {
                    surroundings.complain(&trouble.words);
                    Shown::Failed
                }
            }),
        }
    }
}
