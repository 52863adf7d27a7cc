//! The system calls that have no safe wrapper, and nothing else.
//!
//! They are called by the small program, which has one thread and has opened nothing that anybody else uses. That is
//! what makes them safe: `unshare` can confuse other threads about their descriptors, `close_range` can close what
//! others hold.
#![allow(unsafe_code)]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Moves this thread into namespaces of its own.
pub fn unshare(flags: UnshareFlags) -> io::Result<()> {
    assert!(
        !flags.contains(UnshareFlags::FILES),
        "descriptors stay where they are"
    );
    // SAFETY: descriptors are not unshared, which is all that the caller has to rule out.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

/// `struct mount_attr` of `mount_setattr(2)`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

const MOUNT_ATTR_RDONLY: u64 = 1;

/// Makes a mount and all below it read-only. An empty path means the mount of the descriptor.
pub fn make_read_only(folder: BorrowedFd<'_>, path: &std::ffi::CStr) -> io::Result<()> {
    let attributes = MountAttributes {
        set: MOUNT_ATTR_RDONLY,
        clear: 0,
        propagation: 0,
        userns: 0,
    };
    // SAFETY: path and attributes live until the call returns; the kernel reads as many bytes as it is told.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder.as_raw_fd(),
            path.as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    told(result)
}

/// Lets no descriptor but the first three pass to the next program.
pub fn keep_standard_descriptors() -> io::Result<()> {
    const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
    // SAFETY: descriptors are only marked, so nothing in this process changes.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC) };
    told(result)
}

/// Switches the loopback interface on. A new network namespace has it switched off.
pub fn switch_loopback_on() -> io::Result<()> {
    let socket = std::net::UdpSocket::bind(("0.0.0.0", 0))?;
    // SAFETY: a structure of numbers and bytes may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l'.cast_signed() as libc::c_char;
    request.ifr_name[1] = b'o'.cast_signed() as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request lives until the call returns, and has the type that this call reads.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    told(result.into())
}

fn told(result: libc::c_long) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
