//! Waiting for a lock of the operating system, with a deadline.
//!
//! The lock ends when its file is closed, and with the process. Waiting blocks; asynchronous code calls it from a
//! separate thread.

use std::fs::{File, TryLockError};
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// Locks a file, waiting for another holder if there is one. Returns whether the lock was acquired in time.
pub fn lock_within(file: &File, timeout: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + timeout;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_and_not_for_ever() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let (first, second) = (open(), open());
        assert!(lock_within(&first, Duration::ZERO).unwrap());
        assert!(!lock_within(&second, 2 * PAUSE).unwrap());
        let waiting = std::thread::spawn(move || lock_within(&second, Duration::from_secs(60)).unwrap());
        sleep(3 * PAUSE);
        drop(first);
        assert!(waiting.join().unwrap());
    }
}
