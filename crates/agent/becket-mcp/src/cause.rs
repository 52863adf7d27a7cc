//! The causes of an error: the innermost one, and whether one of them means that nothing was sent.

use std::io;

/// The innermost cause of an error: those above it only name the layers that it passed.
pub(crate) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// Whether an error means that nothing has reached the server.
pub(crate) fn was_not_sent(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut errors = std::iter::successors(Some(error), |error| error.source());
    errors.any(|error| {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(
            kind,
            Some(io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotConnected)
        )
    })
}
