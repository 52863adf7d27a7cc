//! A program that sees and signals only what it has started, and that nothing which it has started outlives.
//!
//! Three processes take part. The *watcher* was started by becket, which waits for it. It starts the *first process* of
//! a namespace, which confines itself, starts the program, and reaps what the program leaves behind. When the program
//! ends, the first process ends, and with it the kernel kills everything in its namespace, whatever it has done to get
//! away. The watcher ends as the program did: with its exit code, or by its signal.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getppid, kill_process, pidfd_open,
    set_dumpable_behavior, set_parent_process_death_signal, wait, waitpid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::kernel;
use crate::problem::Problem;

/// Runs a program below a first process, which `confine` confines. What this process starts next has to be the first of
/// a namespace. Returns only in the watcher, when all is over, or if the program cannot be started.
pub fn run(command: Command, confine: impl FnOnce() -> Result<(), Problem>) -> Result<ExitCode, Problem> {
    let failed = |error| Problem::at("cannot watch over the program", error);
    let null = File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(failed)?;
    // Without one there is nobody whose end has to be noticed, or it is outside of what can be seen from here.
    let starter = getppid().and_then(|parent| pidfd_open(parent, PidfdFlags::empty()).ok());
    let (reader, writer) = io::pipe().map_err(failed)?;
    match kernel::fork().map_err(failed)? {
        Some(first) => {
            drop(writer);
            kernel::hold_signals().map_err(failed)?;
            let_go(&null).map_err(failed)?;
            let status = watch(first, reader, starter).map_err(failed)?;
            Ok(end_like(status))
        }
        None => {
            drop((reader, starter));
            match be_first(command, confine, &null, writer)? {}
        }
    }
}

/// Waits for the end of the first process, and kills it if whoever has started this one ends before. Returns how the
/// program ended, or the first process if it never started one.
fn watch(first: Pid, mut reader: PipeReader, starter: Option<OwnedFd>) -> io::Result<ExitStatus> {
    let mut ends = vec![PollFd::from_borrowed_fd(reader.as_fd(), PollFlags::IN)];
    ends.extend(starter.iter().map(|starter| PollFd::new(starter, PollFlags::IN)));
    while let Err(error) = poll(&mut ends, None) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    if ends[0].revents().is_empty() {
        kill_process(first, Signal::KILL)?;
    }
    let mut status = [0; 4];
    let told = reader.read_exact(&mut status).is_ok();
    // All are dead when the first one is.
    let own = loop {
        match waitpid(Some(first), WaitOptions::empty()) {
            Ok(Some((_, status))) => break status,
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    Ok(ExitStatus::from_raw(match told {
        true => i32::from_ne_bytes(status),
        false => own.as_raw(),
    }))
}

/// Ends this process as another one ended.
fn end_like(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        kernel::end_by(signal);
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Confines this process, starts the program, and reaps until it has ended.
fn be_first(
    mut command: Command,
    confine: impl FnOnce() -> Result<(), Problem>,
    null: &File,
    mut writer: PipeWriter,
) -> Result<Infallible, Problem> {
    end_with_watcher(&writer)?;
    // What it has opened, and the file that it runs, are as they were before it was confined.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| Problem::at("cannot hide the first process", error))?;
    confine()?;
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command
        .spawn()
        .map_err(|error| Problem::at(format!("cannot start {name}"), error))?;
    let failed = |error| Problem::at("cannot watch over the program", error);
    let_go(null).map_err(failed)?;
    let status = reap_until(Pid::from_child(&child)).map_err(failed)?;
    writer.write_all(&status.as_raw().to_ne_bytes()).map_err(failed)?;
    std::process::exit(0)
}

/// Makes the watcher's end that of this process, also if it has ended already.
fn end_with_watcher(writer: &PipeWriter) -> Result<(), Problem> {
    let failed = |error: Errno| Problem::at("cannot end with the watcher", error);
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
    let mut reader_is_gone = [PollFd::new(writer, PollFlags::empty())];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut reader_is_gone, Some(&at_once)).map_err(failed)?;
    match reader_is_gone[0].revents().contains(PollFlags::ERR) {
        true => Err(Problem::new("the watcher has ended")),
        false => Ok(()),
    }
}

fn reap_until(program: Pid) -> io::Result<WaitStatus> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => return Ok(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Lets go of input and outputs: who reads them waits for the program, not for this process.
fn let_go(null: &File) -> io::Result<()> {
    dup2_stdin(null)?;
    dup2_stdout(null)?;
    dup2_stderr(null)?;
    Ok(())
}
