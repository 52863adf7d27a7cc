//! The terminal: its modes, which are restored whatever happens, its size, and its bytes in both directions.
//!
//! When a terminal gets narrower, most terminals break the rows of the live area and some cut them. Which one it is
//! cannot be asked, so the program tells it (`Narrowing::of`). A panic gives the terminal back before it is reported;
//! if the program lives on, the screen comes back below the message.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use signal_hook::SigId;
use signal_hook::consts::{SIGCONT, SIGWINCH};

use crate::keys::Protocol;
use crate::live::{KITTY_OFF, KITTY_ON, Narrowing, Size};

/// How long to wait for a terminal that accepts no bytes.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// The size of a terminal that does not know its own.
const USUAL_SIZE: Size = Size {
    columns: 80,
    rows: 24,
};

/// The terminals for input and output. Both streams must be terminals.
#[derive(Debug)]
pub struct Streams {
    pub input: OwnedFd,
    pub output: OwnedFd,
}

impl Streams {
    /// The controlling terminal of the process, wherever its standard streams lead.
    pub fn controlling_terminal() -> io::Result<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty")?;
        Ok(Self {
            input: terminal.try_clone()?.into(),
            output: terminal.into(),
        })
    }
}

/// Whether a terminal of this kind (`TERM`) can show a screen. Otherwise only plain lines are possible.
pub fn can_show(kind: Option<&str>) -> bool {
    !matches!(kind, None | Some("" | "dumb" | "unknown" | "cons25" | "emacs"))
}

impl Narrowing {
    /// What a terminal does with long rows, by its kind (`TERM`) and by a variable that only xterm sets
    /// (`XTERM_VERSION`).
    pub fn of(kind: Option<&str>, xterm_version: Option<&str>) -> Self {
        if xterm_version.is_some() || kind == Some("linux") {
            Self::Cuts
        } else {
            Self::Reflows
        }
    }
}

/// The modes that have been switched on.
#[derive(Debug, Default)]
struct Modes {
    entered: bool,
    /// Raw mode: keys come one by one.
    raw: bool,
    protocol: Protocol,
    other_keys: bool,
    titled: bool,
}

/// A terminal and what has to be restored.
pub(crate) struct Terminal {
    input: File,
    output: File,
    original: Termios,
    modes: Mutex<Modes>,
    /// What the painter left, for an exit that cannot ask it: whether the alternate screen is shown, and next how many
    /// rows of the live area are below the cursor.
    sheet: AtomicBool,
    below: AtomicUsize,
    /// How many of the next bytes were typed while the terminal was not in raw mode.
    typed_ahead: AtomicUsize,
}

impl Terminal {
    /// Opens a terminal; fails if the streams are not terminals.
    pub fn open(streams: Streams) -> io::Result<Self> {
        let original = rustix::termios::tcgetattr(&streams.input)?;
        rustix::termios::tcgetattr(&streams.output)?;
        Ok(Self {
            input: streams.input.into(),
            output: streams.output.into(),
            original,
            modes: Mutex::default(),
            sheet: AtomicBool::new(false),
            below: AtomicUsize::new(0),
            typed_ahead: AtomicUsize::new(0),
        })
    }

    pub fn size(&self) -> Size {
        match rustix::termios::tcgetwinsize(&self.output) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size {
                columns: size.ws_col.into(),
                rows: size.ws_row.into(),
            },
            _ => USUAL_SIZE,
        }
    }

    fn modes(&self) -> std::sync::MutexGuard<'_, Modes> {
        self.modes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the terminal: keys come one by one, nothing is echoed, pastes are marked.
    pub fn enter(&self) -> io::Result<()> {
        let mut modes = self.modes();
        let mut raw = self.original.clone();
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        raw.input_modes -= InputModes::IXON | InputModes::ICRNL | InputModes::INLCR | InputModes::IGNCR;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        rustix::termios::tcsetattr(&self.input, OptionalActions::Now, &raw)?;
        if !modes.raw && self.original.input_modes.contains(InputModes::ICRNL) {
            let waiting = rustix::io::ioctl_fionread(&self.input)?;
            self.typed_ahead
                .store(usize::try_from(waiting).unwrap_or(0), Ordering::Relaxed);
        }
        modes.entered = true;
        modes.raw = true;
        // The terminal's answer about the kitty protocol comes among the keys.
        let known = match modes.protocol {
            Protocol::Kitty => KITTY_ON,
            Protocol::Legacy => "\x1b[?u",
        };
        let other_keys = if modes.other_keys { OTHER_KEYS_ON } else { "" };
        self.write_bytes(&format!("\x1b[?2004h{known}{other_keys}"))
    }

    pub fn is_entered(&self) -> bool {
        self.modes().entered
    }

    /// Switches the kitty protocol on, because the terminal speaks it.
    pub fn speak_kitty(&self) {
        let mut modes = self.modes();
        if modes.entered && modes.protocol == Protocol::Legacy {
            modes.protocol = Protocol::Kitty;
            let _ = self.write_bytes(KITTY_ON);
        }
    }

    /// Switches xterm's key encoding on, for a terminal without the kitty protocol: some can report Shift+Enter like
    /// this.
    pub fn speak_xterm(&self) {
        let mut modes = self.modes();
        if modes.entered && modes.protocol == Protocol::Legacy && !modes.other_keys {
            modes.other_keys = true;
            let _ = self.write_bytes(OTHER_KEYS_ON);
        }
    }

    pub fn protocol(&self) -> Protocol {
        self.modes().protocol
    }

    /// Sets the title of the window. The previous title is restored at the end.
    pub fn set_title(&self, title: &str) {
        let title: String = title
            .chars()
            .filter(|character| !character.is_control())
            .collect();
        let mut modes = self.modes();
        let remember = if modes.titled { "" } else { "\x1b[22;0t" };
        modes.titled = true;
        let _ = self.write_bytes(&format!("{remember}\x1b]0;{title}\x07"));
    }

    /// Sends the terminal something that does not move the cursor, unless another program has it.
    pub fn tell(&self, bytes: &str) {
        let modes = self.modes();
        if modes.entered {
            let _ = self.write_bytes(bytes);
        }
    }

    /// Restores everything. What the painter left is below the cursor or above it.
    pub fn leave(&self) {
        let mut modes = self.modes();
        self.leave_looks(&mut modes);
        self.leave_keys(&mut modes);
    }

    /// Lets `tell` write below what was painted, and nothing else meanwhile. Unless the program ends with it, the
    /// terminal stays in raw mode: what is typed meanwhile is neither echoed nor changed.
    pub fn report(&self, ends: bool, tell: impl FnOnce()) {
        let mut modes = self.modes();
        self.leave_looks(&mut modes);
        if ends {
            self.leave_keys(&mut modes);
        }
        tell();
    }

    fn leave_looks(&self, modes: &mut Modes) {
        if !std::mem::take(&mut modes.entered) {
            return;
        }
        let mut out = String::new();
        if modes.protocol == Protocol::Kitty {
            out.push_str(KITTY_OFF);
        }
        if self.sheet.swap(false, Ordering::Relaxed) {
            out.push_str("\x1b[?1049l");
            if modes.protocol == Protocol::Kitty {
                out.push_str(KITTY_OFF);
            }
        }
        let below = self.below.swap(0, Ordering::Relaxed);
        if below > 0 {
            out.push_str(&format!("\x1b[{below}B\r\n"));
        }
        if modes.other_keys {
            out.push_str("\x1b[>4;0m");
        }
        out.push_str("\x1b[?2026l\x1b[?7h\x1b[?2004l\x1b[0m\x1b[?25h");
        let _ = self.write_bytes(&out);
    }

    fn leave_keys(&self, modes: &mut Modes) {
        if std::mem::take(&mut modes.raw) {
            let _ = rustix::termios::tcsetattr(&self.input, OptionalActions::Now, &self.original);
        }
    }

    /// Restores the title of the window, at the very end.
    pub fn leave_title(&self) {
        if std::mem::take(&mut self.modes().titled) {
            let _ = self.write_bytes("\x1b[23;0t");
        }
    }

    /// Writes the painter's bytes, and notes what it leaves.
    pub fn paint(&self, bytes: &str, sheet: bool, below: usize) {
        let _modes = self.modes();
        self.sheet.store(sheet, Ordering::Relaxed);
        self.below.store(below, Ordering::Relaxed);
        let _ = self.write_bytes(bytes);
    }

    fn read_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; 4096];
        let length = (&self.input).read(&mut bytes)?;
        bytes.truncate(length);
        // Outside raw mode the terminal turns Enter into a line feed, which would be read as another key.
        let ahead = self.typed_ahead.load(Ordering::Relaxed).min(length);
        if ahead > 0 {
            self.typed_ahead.fetch_sub(ahead, Ordering::Relaxed);
            for byte in bytes[..ahead].iter_mut().filter(|byte| **byte == b'\n') {
                *byte = b'\r';
            }
        }
        Ok(bytes)
    }

    fn write_bytes(&self, bytes: &str) -> io::Result<()> {
        let mut bytes = bytes.as_bytes();
        while !bytes.is_empty() {
            match (&self.output).write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A program that shared the terminal may have left it non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut ready = [PollFd::new(&self.output, PollFlags::OUT)];
                    if poll(&mut ready, Some(&timespec(WRITE_TIMEOUT)))? == 0 {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

const OTHER_KEYS_ON: &str = "\x1b[>4;2m";

/// What ends a wait for keys.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    Bytes(Vec<u8>),
    /// Nothing came in the given time.
    Nothing,
    Resized,
    /// The process was suspended and continues.
    Continued,
    /// The waker was used: the reader should check the state of the screen.
    Woken,
    /// The terminal is gone.
    Ended,
}

/// Waits for keys, signals and wake-ups at once.
pub(crate) struct Ears {
    resized: UnixStream,
    continued: UnixStream,
    woken: UnixStream,
    signals: [SigId; 2],
}

/// Wakes the reader.
pub(crate) struct Waker(UnixStream);

impl Waker {
    pub fn wake(&self) {
        // A full pipe wakes the reader as well.
        let _ = (&self.0).write(&[0]);
    }
}

impl Ears {
    pub fn open() -> io::Result<(Self, Waker)> {
        let (resized, tell_resized) = UnixStream::pair()?;
        let (continued, tell_continued) = UnixStream::pair()?;
        let (woken, waker) = UnixStream::pair()?;
        for stream in [
            &resized,
            &continued,
            &woken,
            &waker,
            &tell_resized,
            &tell_continued,
        ] {
            stream.set_nonblocking(true)?;
        }
        let signals = [
            signal_hook::low_level::pipe::register(SIGWINCH, tell_resized)?,
            signal_hook::low_level::pipe::register(SIGCONT, tell_continued)?,
        ];
        let ears = Self {
            resized,
            continued,
            woken,
            signals,
        };
        Ok((ears, Waker(waker)))
    }

    /// Waits, at most `limit` long.
    pub fn listen(&mut self, terminal: &Terminal, limit: Option<Duration>) -> Arrived {
        let limit = limit.map(timespec);
        let mut waiting = [
            PollFd::new(&self.woken, PollFlags::IN),
            PollFd::new(&self.continued, PollFlags::IN),
            PollFd::new(&self.resized, PollFlags::IN),
            PollFd::new(&terminal.input, PollFlags::IN),
        ];
        match poll(&mut waiting, limit.as_ref()) {
            Ok(0) => return Arrived::Nothing,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Arrived::Woken,
            Err(_) => return Arrived::Ended,
        }
        let ready: Vec<bool> = waiting.iter().map(|one| !one.revents().is_empty()).collect();
        for (stream, arrived, ready) in [
            (&self.woken, Arrived::Woken, ready[0]),
            (&self.continued, Arrived::Continued, ready[1]),
            (&self.resized, Arrived::Resized, ready[2]),
        ] {
            if ready {
                drain(stream);
                return arrived;
            }
        }
        match terminal.read_bytes() {
            Ok(bytes) if bytes.is_empty() => Arrived::Ended,
            Ok(bytes) => Arrived::Bytes(bytes),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                ) =>
            {
                Arrived::Woken
            }
            Err(_) => Arrived::Ended,
        }
    }

    /// Waits until the process continues after a suspend; not for ever, since that may have been ignored.
    pub fn wait_for_continue(&mut self, limit: Duration) {
        let mut waiting = [PollFd::new(&self.continued, PollFlags::IN)];
        let _ = poll(&mut waiting, Some(&timespec(limit)));
        drain(&self.continued);
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        for signal in self.signals {
            signal_hook::low_level::unregister(signal);
        }
    }
}

fn drain(mut stream: &UnixStream) {
    let mut bytes = [0; 64];
    while matches!(stream.read(&mut bytes), Ok(read) if read > 0) {}
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_terminals_are_told_apart() {
        assert!(can_show(Some("xterm-256color")) && can_show(Some("screen")) && can_show(Some("linux")));
        assert!(!can_show(None) && !can_show(Some("")) && !can_show(Some("dumb")));
        assert_eq!(Narrowing::of(Some("xterm-256color"), None), Narrowing::Reflows);
        assert_eq!(Narrowing::of(Some("xterm"), Some("XTerm(390)")), Narrowing::Cuts);
        assert_eq!(Narrowing::of(Some("linux"), None), Narrowing::Cuts);
    }

    #[test]
    fn what_is_no_terminal_is_refused() {
        let (input, output) = UnixStream::pair().expect("a pair");
        let streams = Streams {
            input: input.into(),
            output: output.into(),
        };
        assert!(Terminal::open(streams).is_err());
    }
}
