//! Standard output of a run. A reader that goes away is nobody's fault; everything else that loses words is.

use std::io::{ErrorKind, Write};
use std::sync::Mutex;

use crate::failure::CliError;

/// Writes to standard output and remembers whether something was lost on the way. The run goes on either way: what was
/// begun is finished and stored.
#[derive(Debug, Default)]
pub struct Output {
    trouble: Mutex<Option<String>>,
}

impl Output {
    /// Writes a text.
    pub fn write(&self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            self.trouble().get_or_insert_with(|| error.to_string());
        }
    }

    /// Whether everything was written; asked once, it forgets.
    pub fn whole(&self) -> Result<(), CliError> {
        match self.trouble().take() {
            None => Ok(()),
            Some(error) => Err(
                CliError::failed(format!("cannot write to standard output: {error}"))
                    .hint("the answer is stored in the context all the same"),
            ),
        }
    }

    fn trouble(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.trouble
            .lock()
            .expect("no panic happens while the trouble is held")
    }
}
