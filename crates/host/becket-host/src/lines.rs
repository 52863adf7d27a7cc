//! Lines to and from a program that has started becket, over standard output and standard input, each on its own
//! thread: so becket and the other program never deadlock on full pipes because both of them write.

use std::io::{self, BufRead, ErrorKind, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becket_system::CliError;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How many bytes may be queued before events wait for the reader.
const MOST_WAITING: usize = 4 * 1024 * 1024;

/// How long a reader may read nothing during a session before it counts as gone.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// How long a reader may read nothing at the end of a session before it counts as gone.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest line that is read. Lines may contain images.
const LONGEST: usize = 64 * 1024 * 1024;

/// Writes lines to standard output.
pub struct LineWriter {
    lines: Mutex<Sender<String>>,
    /// How many bytes are queued.
    waiting: AtomicUsize,
    written: Notify,
    /// Cancelled when the reader has gone away.
    pub gone: CancellationToken,
    trouble: Mutex<Option<String>>,
}

impl LineWriter {
    /// Starts the thread that writes.
    pub fn begin() -> Arc<Self> {
        let (sender, lines) = channel();
        let writer = Arc::new(Self {
            lines: Mutex::new(sender),
            waiting: AtomicUsize::new(0),
            written: Notify::new(),
            gone: CancellationToken::new(),
            trouble: Mutex::default(),
        });
        let thread = Arc::clone(&writer);
        std::thread::spawn(move || thread.write(&lines));
        writer
    }

    fn write(&self, lines: &Receiver<String>) {
        let mut output = io::stdout().lock();
        for line in lines {
            if !self.gone.is_cancelled()
                && let Err(error) = output.write_all(line.as_bytes()).and_then(|()| output.flush())
            {
                if error.kind() != ErrorKind::BrokenPipe {
                    *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                }
                self.gone.cancel();
            }
            self.waiting.fetch_sub(line.len(), Ordering::SeqCst);
            self.written.notify_waiters();
        }
    }

    /// Waits until everything is written, or the reader counts as gone.
    pub async fn finish(&self) -> Result<(), CliError> {
        self.until_at_most(0, CLOSE_TIMEOUT).await;
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
        match trouble {
            None => Ok(()),
            Some(error) => Err(CliError::failed(format!(
                "cannot write to standard output: {error}"
            ))),
        }
    }

    /// Writes a line, given without its end. Never waits.
    pub fn push(&self, mut line: String) {
        line.push('\n');
        self.waiting.fetch_add(line.len(), Ordering::SeqCst);
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        // The thread lives as long as the writer.
        let _ = lines.send(line);
    }

    /// Waits while the reader is far behind.
    pub async fn room(&self) {
        self.until_at_most(MOST_WAITING, WRITE_TIMEOUT).await;
    }

    async fn until_at_most(&self, most: usize, timeout: Duration) {
        loop {
            let mut written = std::pin::pin!(self.written.notified());
            // From here on no notification is missed, so the check below must come after it.
            written.as_mut().enable();
            if self.waiting.load(Ordering::SeqCst) <= most || self.gone.is_cancelled() {
                return;
            }
            if tokio::time::timeout(timeout, written).await.is_err() {
                self.gone.cancel();
            }
        }
    }
}

/// A line of input.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadLine {
    /// The text of the line, without its end.
    Line(String),
    /// A line that is longer than the limit.
    TooLong,
}

/// Reads the next line. Only `
/// ` ends a line; the last one needs none.
pub fn read_line(input: &mut impl BufRead) -> Option<ReadLine> {
    read_within(input, LONGEST)
}

fn read_within(input: &mut impl BufRead, longest: usize) -> Option<ReadLine> {
    let (mut line, mut too_long, mut begun) = (Vec::new(), false, false);
    loop {
        let piece = match input.fill_buf() {
            Ok(piece) => piece,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // A read error counts as the end.
            Err(_) => &[],
        };
        if piece.is_empty() {
            return begun.then(|| finished(line, too_long));
        }
        begun = true;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let (text, used) = end.map_or((piece, piece.len()), |end| (&piece[..end], end + 1));
        too_long |= line.len() + text.len() > longest;
        if too_long {
            line.clear();
        } else {
            line.extend_from_slice(text);
        }
        input.consume(used);
        if end.is_some() {
            return Some(finished(line, too_long));
        }
    }
}

fn finished(line: Vec<u8>, too_long: bool) -> ReadLine {
    match too_long {
        true => ReadLine::TooLong,
        false => ReadLine::Line(String::from_utf8_lossy(&line).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], pieces: usize) -> Vec<ReadLine> {
        let mut input = io::BufReader::with_capacity(pieces, text);
        std::iter::from_fn(|| read_within(&mut input, 8)).collect()
    }

    #[test]
    fn lines_end_where_they_do_however_they_come_in() {
        let line = |text: &str| ReadLine::Line(text.into());
        for pieces in 1..20 {
            assert_eq!(
                lines("a\u{2028}b\r\n\nlast".as_bytes(), pieces),
                [line("a\u{2028}b\r"), line(""), line("last")],
            );
            assert_eq!(
                lines(b"123456789\n12345678\n\xffx", pieces),
                [ReadLine::TooLong, line("12345678"), line("\u{fffd}x")]
            );
            assert_eq!(lines(b"", pieces), []);
        }
    }
}
