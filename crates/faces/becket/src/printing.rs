//! Prints to standard output.

use becket_system::CliError;

/// Writes to standard output; a reader that has gone away is no error.
pub fn print(text: &str) -> Result<(), CliError> {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output; a reader that has gone away is no error.
pub fn print_bytes(bytes: &[u8]) -> Result<(), CliError> {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(CliError::failed(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}
