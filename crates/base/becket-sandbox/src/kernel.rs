//! The system calls that have no safe wrapper, and nothing else.
//!
//! They are called by the small program, which has one thread and has opened nothing that anybody else uses. That is
//! what makes them safe: `unshare` can confuse other threads about their descriptors, `close_range` can close what
//! others hold.
#![allow(unsafe_code)]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::process::Pid;
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

/// Splits this process. Returns the new one's number in the old one, and `None` in the new one.
pub fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the default has no handler. Where the end of children is ignored, nobody could wait for it.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    // SAFETY: there is one thread, so the new process has all that this one has, and no lock that nobody would open.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        number => Ok(Pid::from_raw(number)),
    }
}

/// Lets no signal end this process but the one that nobody can hold.
pub fn hold_signals() -> io::Result<()> {
    let mut all = no_signals();
    // SAFETY: the set lives until the calls return.
    let result = unsafe {
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut())
    };
    told(result.into())
}

/// Ends this process by a signal, without an image of its memory. Returns if the signal ends nothing.
pub fn end_by(signal: libc::c_int) {
    let none = no_signals();
    let limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the default has no handler; set and limit live until the calls return.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const limit);
        libc::signal(signal, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::raise(signal);
    }
}

fn no_signals() -> libc::sigset_t {
    // SAFETY: a set of bits may be zero, which is the empty one on Linux.
    unsafe { std::mem::zeroed() }
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

/// Closes all descriptors but the first three.
pub fn close_inherited() -> io::Result<()> {
    // SAFETY: it is the first thing that the small program does, so nothing in it has a descriptor.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
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
