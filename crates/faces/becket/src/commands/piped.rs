//! Text that is piped in. A pipe may stay open and silent for ever, so waiting is limited or announced.
//!
//! Beside a prompt, a pipe has 3 seconds to begin. Then the run goes on without it and says so, because many programs
//! are started with a pipe to which nobody ever writes. Without a prompt the pipe is waited for.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use becket_system::{CliError, Surroundings};

/// The longest text that is read from a pipe, in bytes.
const MAX_PIPED_BYTES: usize = 64 * 1024 * 1024;

/// How long to wait for the first byte if there is a prompt already.
const FIRST_BYTE: Duration = Duration::from_secs(3);

/// How long a pipe that has begun may be silent if there is a prompt already.
const SILENCE: Duration = Duration::from_secs(60);

/// After how long the user is told what the program waits for.
const WORD: Duration = Duration::from_secs(2);

/// Pieces of standard input; the channel is closed at its end.
type Pieces = Receiver<io::Result<Vec<u8>>>;

/// Reads what is piped in besides a prompt; empty if nothing comes soon.
pub fn beside_a_prompt(surroundings: &Surroundings) -> Result<String, CliError> {
    let pieces = listen(io::stdin());
    match pieces.recv_timeout(FIRST_BYTE) {
        Ok(first) => collect(first, &pieces, Some(SILENCE)),
        Err(RecvTimeoutError::Disconnected) => Ok(String::new()),
        Err(RecvTimeoutError::Timeout) => {
            surroundings.remark(&format!(
                "standard input is open, but nothing came within {} s; continuing without it (becket waits for it if \
                 the prompt is in it too)",
                FIRST_BYTE.as_secs()
            ));
            Ok(String::new())
        }
    }
}

/// Waits for a prompt that is piped in.
pub fn as_the_prompt(surroundings: &Surroundings) -> Result<String, CliError> {
    let pieces = listen(io::stdin());
    let first = match pieces.recv_timeout(WORD) {
        Err(RecvTimeoutError::Timeout) => {
            surroundings.remark("waiting for a prompt on standard input");
            pieces.recv().ok()
        }
        first => first.ok(),
    };
    first.map_or(Ok(String::new()), |first| collect(first, &pieces, None))
}

/// Reads in a thread of its own, because a read cannot be cancelled.
fn listen(mut input: impl Read + Send + 'static) -> Pieces {
    let (sender, pieces) = sync_channel(16);
    std::thread::spawn(move || {
        loop {
            let mut piece = vec![0; 64 * 1024];
            let read = match input.read(&mut piece) {
                Ok(0) => return,
                Ok(count) => {
                    piece.truncate(count);
                    Ok(piece)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let failed = read.is_err();
            if sender.send(read).is_err() || failed {
                return;
            }
        }
    });
    pieces
}

/// Collects all pieces, as text.
fn collect(
    first: io::Result<Vec<u8>>,
    pieces: &Pieces,
    silence: Option<Duration>,
) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let mut next = Some(first);
    while let Some(piece) = next {
        let piece =
            piece.map_err(|error| CliError::failed(format!("cannot read standard input: {error}")))?;
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_PIPED_BYTES {
            let limit = MAX_PIPED_BYTES / 1024 / 1024;
            return Err(
                CliError::usage(format!("standard input is longer than {limit} MiB"))
                    .hint("put it into a file and ask the model to read the part that matters"),
            );
        }
        next = match silence {
            None => pieces.recv().ok(),
            Some(silence) => match pieces.recv_timeout(silence) {
                Err(RecvTimeoutError::Timeout) => {
                    return Err(CliError::failed(format!(
                        "standard input began, then sent nothing for {} s and did not end",
                        silence.as_secs()
                    ))
                    .hint("collect it in a file, then pipe the file in"));
                }
                next => next.ok(),
            },
        };
    }
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        CliError::usage(format!(
            "standard input is not UTF-8 text: byte {place} is not part of a character"
        ))
        .hint("pipe text, or name the file in the prompt")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_falls_silent_is_an_error_and_one_that_ends_is_not() {
        let (sender, pieces) = sync_channel(4);
        let piece = |text: &str| Ok(text.as_bytes().to_vec());
        sender.send(piece(" two")).unwrap();
        let error = collect(piece("one"), &pieces, Some(Duration::from_millis(20))).unwrap_err();
        assert!(error.message.contains("sent nothing for"), "{error}");
        sender.send(piece(" two")).unwrap();
        drop(sender);
        let text = collect(piece("one"), &pieces, Some(Duration::from_millis(20))).unwrap();
        assert_eq!(text, "one two");
    }
}
