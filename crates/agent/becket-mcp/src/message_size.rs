//! The size of a server's messages: the largest one, and a stream of lines that ends at a larger one.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// The largest message of a server, in bytes.
pub(crate) const LARGEST_MESSAGE: usize = 16 * 1024 * 1024;

/// A stream of lines that fails when a line is longer than a message may be, instead of waiting for its end.
pub(crate) struct Lines<R> {
    inner: R,
    length: usize,
}

impl<R> Lines<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, length: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        self.length = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => read.len() - end - 1,
            None => self.length + read.len(),
        };
        Poll::Ready(match self.length > LARGEST_MESSAGE {
            true => Err(io::Error::other("a message is too large")),
            false => Ok(()),
        })
    }
}
