//! `becket acp`: the agent of an editor.

use becket_face_kit::cancellable;
use becket_system::{CliError, Exit, Surroundings};

use crate::options::Options;

/// Serves the editor that has started becket.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    if surroundings.stdin_is_terminal {
        return Err(CliError::usage(
            "`becket acp` is started by an editor, which talks to it over standard input and output",
        )
        .hint("docs/guide/editors.md says how to set it up; `becket` alone starts a chat"));
    }
    if !options.run.images.is_empty() {
        return Err(CliError::usage(
            "`--image` has no effect here: the editor sends the pictures",
        ));
    }
    if options.run.json {
        return Err(CliError::usage(
            "`--json` has no effect here: standard output belongs to the editor",
        ));
    }
    cancellable(options, surroundings, async |cancel| {
        becket_acp::serve(options, surroundings, cancel).await
    })
}
