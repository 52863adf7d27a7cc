//! Reading and writing that may take long: a pipe may have nothing at its other end, and a device may never end.
//! Everything is opened without blocking (`opening.rs`), and waiting stops regularly to check whether it may go on.

#![allow(
    clippy::disallowed_methods,
    reason = "these are the files of extensions, which look at them themselves"
)]

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::errors::Problem;
use super::held::Held;
use super::state::{Asker, Node};
use crate::opening;

/// How often waiting checks whether it may go on.
const PAUSE: Duration = Duration::from_millis(20);

/// The most bytes that are read or written at once.
const CHUNK: u64 = 1 << 20;

impl Node {
    /// Whether the wait may go on; the error says why not.
    pub(super) fn may_wait(&self, asker: Asker) -> io::Result<()> {
        let is_over = match asker {
            Asker::Script => self.clock.is_over(&self.kit.cancels),
            Asker::Promise => self.over.load(Ordering::Relaxed),
        };
        match is_over {
            true => Err(Errno::TIMEDOUT.into()),
            false => Ok(()),
        }
    }

    /// Opens a file. A pipe that is opened for writing waits for a reader.
    pub(super) fn open(&self, asker: Asker, options: &mut OpenOptions, path: &Path) -> io::Result<File> {
        loop {
            match opening::open(options, path) {
                Err(error) if is(&error, Errno::NXIO) && is_pipe(path) => self.may_wait(asker)?,
                opened => return opened,
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The next bytes of a file; none at its end.
    pub(super) fn read(&self, asker: Asker, file: &File, bytes: &mut [u8]) -> io::Result<usize> {
        // A pipe without a writer so far reads as if it were at its end.
        if !file.metadata()?.is_file() {
            self.wait_for(asker, file, PollFlags::IN)?;
        }
        loop {
            match (&*file).read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait_for(asker, file, PollFlags::IN)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    /// Everything from the current position of a file to its end.
    pub(super) fn read_whole(&self, asker: Asker, file: &File) -> Result<Held, Problem> {
        let mut whole = self.store.empty();
        let data = file.metadata()?;
        if data.is_file() {
            // A file that is too large is refused before it is read.
            self.store.empty().count(data.len() as usize)?;
        }
        let mut chunk = vec![0; (data.len() + 1).clamp(4096, CHUNK) as usize];
        loop {
            let count = self.read(asker, file, &mut chunk)?;
            if count == 0 {
                return Ok(whole);
            }
            whole.append(&chunk[..count])?;
            self.may_wait(asker)?;
        }
    }

    /// Writes all bytes, at the current position of the file or at the given one.
    pub(super) fn write_whole(
        &self,
        asker: Asker,
        file: &File,
        mut bytes: &[u8],
        position: Option<u64>,
    ) -> io::Result<()> {
        let mut position = position;
        while !bytes.is_empty() {
            self.may_wait(asker)?;
            let next = &bytes[..bytes.len().min(CHUNK as usize)];
            let written = match position {
                Some(position) => file.write_at(next, position),
                None => (&*file).write(next),
            };
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    position = position.map(|position| position + count as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait_for(asker, file, PollFlags::OUT)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Copies a plain file with its permissions.
    pub(super) fn copy_plain(&self, asker: Asker, from: &Path, to: &Path) -> io::Result<()> {
        let source = opening::open(OpenOptions::new().read(true), from)?;
        let data = source.metadata()?;
        if !data.is_file() {
            let refused = if data.is_dir() { Errno::ISDIR } else { Errno::INVAL };
            return Err(refused.into());
        }
        let same = |there: &std::fs::Metadata| is_same(&data, there);
        if std::fs::metadata(to).is_ok_and(|there| same(&there)) {
            return Ok(());
        }
        let target = self.open(
            asker,
            OpenOptions::new().write(true).create(true).truncate(true),
            to,
        )?;
        let mut chunk = vec![0; (data.len() + 1).clamp(4096, CHUNK) as usize];
        loop {
            let count = self.read(asker, &source, &mut chunk)?;
            if count == 0 {
                break;
            }
            self.write_whole(asker, &target, &chunk[..count], None)?;
        }
        match target.metadata()?.is_file() {
            true => target.set_permissions(data.permissions()),
            false => Ok(()),
        }
    }

    /// Waits until something can be read or written, or never will be.
    fn wait_for(&self, asker: Asker, file: &File, what: PollFlags) -> io::Result<()> {
        let pause = Timespec {
            tv_sec: 0,
            tv_nsec: PAUSE.as_nanos() as _,
        };
        loop {
            self.may_wait(asker)?;
            match poll(&mut [PollFd::new(file, what)], Some(&pause)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn is(error: &io::Error, number: Errno) -> bool {
    error.raw_os_error() == Some(number.raw_os_error())
}

fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo())
}

/// Whether two files are the same: copying a file onto itself would empty it.
fn is_same(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
