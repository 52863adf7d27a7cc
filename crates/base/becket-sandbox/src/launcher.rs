//! The small program: it reads a plan, confines itself, and becomes or starts the program behind it.
//!
//! `becket-sandbox [OPTION…] -- PROGRAM [ARGUMENT…]`. It ends as the program does, or with 126 if it cannot confine
//! itself, and nothing has been started then. `becket-sandbox --check` says what this machine can hold, in lines of a
//! name and `yes` or a reason.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::process::{WaitOptions, getegid, geteuid, waitpid};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use crate::plan::{Plan, Strength};
use crate::problem::Problem;
use crate::proxy::Proxy;
use crate::{PROGRAM, access_rules, kernel, mounts, processes, system_calls};

/// The exit code of a program that was found and could not be started.
const NOT_STARTED: u8 = 126;

/// The small program.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if words == ["--check"] {
        return check();
    }
    let started = Plan::from_options(words).and_then(|(plan, command)| start(&plan, &command));
    started.unwrap_or_else(|problem| {
        tell(&format!("{PROGRAM}: {problem}"));
        ExitCode::from(NOT_STARTED)
    })
}

#[expect(clippy::print_stderr, reason = "the program's only messages")]
fn tell(line: &str) {
    eprintln!("{line}");
}

/// Becomes the program, or waits for its end.
fn start(plan: &Plan, command: &[OsString]) -> Result<ExitCode, Problem> {
    let Some((name, arguments)) = command.split_first() else {
        return Err(Problem::new("there is no program behind `--`"));
    };
    // Also for a process that is only near the program: each can be opened again by way of `/proc`.
    kernel::close_inherited().map_err(|error| Problem::at("cannot close inherited files", error))?;
    refuse_open_folders()?;
    let proxy = Proxy::of(plan)?;
    if plan.strength.has_namespaces() {
        enter_namespaces(plan)?;
    }
    let mut program = Command::new(name);
    program.args(arguments);
    if let Some(proxy) = proxy {
        program.envs(proxy.hand_over()?);
    }
    if plan.strength == Strength::Full {
        return processes::run(program, || confine(plan));
    }
    confine(plan)?;
    let error = program.exec();
    Err(Problem::at(
        format!("cannot start {}", name.to_string_lossy()),
        error,
    ))
}

/// Confines this process and all that it becomes or starts, for good.
fn confine(plan: &Plan) -> Result<(), Problem> {
    if plan.strength.has_namespaces() {
        mounts::build(plan)?;
    }
    set_no_new_privs(true).map_err(|error| Problem::at("cannot give up privileges", error))?;
    access_rules::restrict(plan)?;
    give_up_capabilities()?;
    system_calls::filter(plan)
}

/// A folder that is open from outside leads around all mounts.
fn refuse_open_folders() -> Result<(), Problem> {
    for (number, file) in [stdin(), stdout(), stderr()].into_iter().enumerate() {
        // A descriptor that is closed leads nowhere.
        if fstat(file).is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode) == FileType::Directory) {
            return Err(Problem::new(format!(
                "descriptor {number} is a folder, so nothing starts"
            )));
        }
    }
    Ok(())
}

/// Makes namespaces in which the user stays who they are.
fn enter_namespaces(plan: &Plan) -> Result<(), Problem> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWIPC | UnshareFlags::NEWNET;
    if plan.strength == Strength::Full {
        flags |= UnshareFlags::NEWPID;
    }
    kernel::unshare(flags).map_err(|error| Problem::at("cannot make namespaces", error))?;
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ] {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(|error| Problem::at(format!("cannot write {file} of the namespace"), error))?;
    }
    kernel::switch_loopback_on().map_err(|error| Problem::at("cannot switch the loopback on", error))
}

/// Gives up the rights inside of the namespaces, also for a user who is root there.
fn give_up_capabilities() -> Result<(), Problem> {
    let failed = |error| Problem::at("cannot give up capabilities", error);
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            // The kernel does not know that one, or the process has none that it could give up.
            Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    clear_ambient_capability_set().map_err(failed)?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    set_capabilities(None, sets).map_err(failed)
}

/// Says what this machine can hold, by trying it.
fn check() -> ExitCode {
    let nothing = Plan {
        strength: Strength::SharedProcesses,
        ..Plan::default()
    };
    let signals = match access_rules::holds_signals() {
        true => Ok(()),
        false => Err(Problem::new("this kernel lets them pass")),
    };
    answer("signals", signals);
    let namespaces = enter_namespaces(&nothing).and_then(|()| mounts::build(&nothing));
    answer("namespaces", namespaces);
    answer("processes", try_processes());
    answer("landlock", access_rules::restrict(&nothing));
    answer("filter", system_calls::filter(&nothing));
    ExitCode::SUCCESS
}

/// Tries to make a namespace of processes. Where the system's list of processes is covered in part, as in containers,
/// there can be no list of its own.
fn try_processes() -> Result<(), Problem> {
    let failed = |error| Problem::at("cannot make a namespace of processes", error);
    kernel::unshare(UnshareFlags::NEWPID).map_err(failed)?;
    match kernel::fork().map_err(failed)? {
        Some(first) => {
            let ended = waitpid(Some(first), WaitOptions::empty()).map_err(|error| failed(error.into()))?;
            match ended.and_then(|(_, status)| status.exit_status()) {
                Some(0) => Ok(()),
                _ => Err(Problem::new("/proc cannot be mounted")),
            }
        }
        None => std::process::exit(mounts::list_processes().is_err().into()),
    }
}

#[expect(clippy::print_stdout, reason = "the answer of `--check`")]
fn answer(name: &str, result: Result<(), Problem>) {
    match result {
        Ok(()) => println!("{name} yes"),
        Err(problem) => println!("{name} {problem}"),
    }
}
