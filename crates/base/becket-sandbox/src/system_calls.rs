//! The filter of system calls: what no confined program needs and what could lead around the other layers.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

use crate::plan::{Plan, Strength};
use crate::problem::Problem;

/// `open_tree_attr`, which is newer than the list of names.
const OPEN_TREE_ATTR: libc::c_long = 467;

/// Memory and semaphores that all processes of a user share, where no namespace keeps them apart.
const SHARED_MEMORY: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
];

/// Calls that are refused whatever their arguments are.
const REFUSED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    // Files by their number, without a path that could be judged.
    libc::SYS_open_by_handle_at,
    // Calls inside of these pass no filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_vhangup,
    OPEN_TREE_ATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
];

/// Calls that change how a process runs, with the place of the argument that is 0 for the process itself. A limit of
/// processor time ends another process as a signal does.
const OF_OTHERS: &[(libc::c_long, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// Calls that can mean all processes of a group or a user, with the first argument by which they mean one. Those of a
/// group may be outside.
const OF_GROUPS: [(libc::c_long, u64); 2] = [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];

/// The bit in the numbers of calls by which programs of the x32 kind ask for the same things.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Flags of `clone` with which a process starts in namespaces of its own.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Filters the calls of this process and of all that it starts.
pub fn filter(plan: &Plan) -> Result<(), Problem> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED {
        rules.insert(*call, Vec::new());
    }
    if plan.strength == Strength::LandlockOnly {
        rules.extend(SHARED_MEMORY.iter().map(|call| (*call, Vec::new())));
    }
    rules.insert(libc::SYS_clone, new_namespaces()?);
    rules.insert(libc::SYS_socketpair, datagrams()?);
    for (call, one) in OF_GROUPS {
        rules.insert(call, vec![rule(&[(0, SeccompCmpOp::Ne, one)])?]);
    }
    // In a namespace of its own a program can name no others.
    if plan.strength != Strength::Full {
        for (call, place) in OF_OTHERS {
            let another = rule(&[(*place, SeccompCmpOp::Ne, 0)])?;
            rules.entry(*call).or_default().push(another);
        }
    }
    rules.insert(libc::SYS_ioctl, typing_into_terminals()?);
    rules.insert(libc::SYS_socket, other_families(plan)?);
    #[cfg(target_arch = "x86_64")]
    refuse_x32()?;
    apply(rules, libc::EPERM)?;
    // Its flags are in memory, where no filter can look. The C library asks for `clone` where this one is missing.
    apply(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
}

fn apply(rules: BTreeMap<i64, Vec<SeccompRule>>, error: libc::c_int) -> Result<(), Problem> {
    let failed = |error: &dyn std::fmt::Display| Problem::because("cannot filter system calls", error);
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(error.unsigned_abs()),
        architecture()?,
    )
    .map_err(|error| failed(&error))?;
    let program: BpfProgram = filter
        .try_into()
        .map_err(|error: seccompiler::BackendError| failed(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| failed(&error))
}

fn architecture() -> Result<TargetArch, Problem> {
    std::env::consts::ARCH.try_into().map_err(|_| {
        Problem::new(format!(
            "there is no filter for the processor {}",
            std::env::consts::ARCH
        ))
    })
}

/// No program needs the numbers of the x32 kind. Some of its calls have numbers of their own, and a list of all others
/// would have to be complete.
#[cfg(target_arch = "x86_64")]
fn refuse_x32() -> Result<(), Problem> {
    let step = |code: u32, target, k| sock_filter {
        code: code as u16,
        jt: target,
        jf: 0,
        k,
    };
    // The number is the first thing that a filter can load.
    let program = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 1, X32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs(),
        ),
    ];
    seccompiler::apply_filter(&program).map_err(|error| Problem::because("cannot filter system calls", error))
}

/// In a user namespace a program has rights that reach parts of the kernel which nobody else reaches.
fn new_namespaces() -> Result<Vec<SeccompRule>, Problem> {
    let flags = NAMESPACES.map(|flag| u64::from(flag.unsigned_abs()));
    let rules = flags.map(|flag| rule(&[(0, SeccompCmpOp::MaskedEq(flag), flag)]));
    rules.into_iter().collect()
}

/// A pair of datagram sockets can send to any socket that has a path, and on Linux raw ones are the same. So only the
/// kinds pass that stay connected to each other.
fn datagrams() -> Result<Vec<SeccompRule>, Problem> {
    const KIND: u64 = 0xf;
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(|kind| u64::from(kind.unsigned_abs()));
    let others = (0..=KIND).filter(|kind| !connected.contains(kind));
    others
        .map(|kind| rule(&[(1, SeccompCmpOp::MaskedEq(KIND), kind)]))
        .collect()
}

/// What is typed into a terminal by a program is read by the shell that it came from.
fn typing_into_terminals() -> Result<Vec<SeccompRule>, Problem> {
    [libc::TIOCSTI, libc::TIOCLINUX]
        .into_iter()
        .map(|request| rule(&[(1, SeccompCmpOp::Eq, request)]))
        .collect()
}

/// The internet and the kernel's own tables are confined by the network namespace. Nothing confines sockets with a
/// path, behind which there are agents with keys and daemons with the rights of root, or those of virtual machines.
fn other_families(plan: &Plan) -> Result<Vec<SeccompRule>, Problem> {
    if plan.strength == Strength::LandlockOnly {
        return Ok(Vec::new());
    }
    let conditions = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
        .map(|family| (0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
    Ok(vec![rule(&conditions)?])
}

/// A rule that applies if all conditions hold: the argument's place, the comparison, the value.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, Problem> {
    let failed = |error: seccompiler::BackendError| Problem::because("cannot filter system calls", error);
    let conditions = conditions
        .iter()
        .map(|(place, comparison, value)| {
            SeccompCondition::new(*place, SeccompCmpArgLen::Dword, comparison.clone(), *value).map_err(failed)
        })
        .collect::<Result<_, _>>()?;
    SeccompRule::new(conditions).map_err(failed)
}
