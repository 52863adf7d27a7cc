//! The filter of system calls: what no confined program needs and what could lead around the other layers.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use crate::plan::{Network, Plan, Strength};
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

/// Calls that change how a process runs, with the places of the arguments that are 0 for the process itself. A limit of
/// processor time ends another process as a signal does.
const OF_OTHERS: &[(libc::c_long, &[u8])] = &[
    (libc::SYS_prlimit64, &[0]),
    (libc::SYS_sched_setaffinity, &[0]),
    (libc::SYS_sched_setscheduler, &[0]),
    (libc::SYS_sched_setparam, &[0]),
    (libc::SYS_sched_setattr, &[0]),
    (libc::SYS_setpriority, &[0, 1]),
    (libc::SYS_ioprio_set, &[1]),
];

/// The same kernel answers to other numbers for programs of the x32 kind: those of x86-64 with this bit, and some of
/// their own.
#[cfg(target_arch = "x86_64")]
const X32: (i64, std::ops::RangeInclusive<i64>) = (0x4000_0000, 512..=547);

/// Filters the calls of this process and of all that it starts.
pub fn filter(plan: &Plan) -> Result<(), Problem> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED {
        rules.insert(*call, Vec::new());
    }
    if plan.strength == Strength::LandlockOnly {
        rules.extend(SHARED_MEMORY.iter().map(|call| (*call, Vec::new())));
    }
    rules.insert(libc::SYS_clone, vec![new_user_namespace()?]);
    rules.insert(libc::SYS_socketpair, vec![datagrams()?]);
    for (call, places) in OF_OTHERS {
        let rules_of_call = places.iter().map(|place| rule(&[(*place, SeccompCmpOp::Ne, 0)]));
        rules.insert(*call, rules_of_call.collect::<Result<_, _>>()?);
    }
    rules.insert(libc::SYS_ioctl, typing_into_terminals()?);
    rules.insert(libc::SYS_socket, other_families(plan)?);
    #[cfg(target_arch = "x86_64")]
    {
        let (bit, own) = X32;
        let same: Vec<i64> = rules.keys().copied().collect();
        rules.extend(same.into_iter().chain(own).map(|call| (call | bit, Vec::new())));
    }
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

/// In a user namespace a program has rights that reach parts of the kernel which nobody else reaches.
fn new_user_namespace() -> Result<SeccompRule, Problem> {
    let flag = u64::from(libc::CLONE_NEWUSER.unsigned_abs());
    rule(&[(0, SeccompCmpOp::MaskedEq(flag), flag)])
}

/// A pair of datagram sockets can send to any socket that has a path.
fn datagrams() -> Result<SeccompRule, Problem> {
    const KIND: u64 = 0xf;
    rule(&[(
        1,
        SeccompCmpOp::MaskedEq(KIND),
        u64::from(libc::SOCK_DGRAM.unsigned_abs()),
    )])
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
    let allowed: &[libc::c_int] = match (plan.network, plan.strength) {
        (Network::Off, Strength::LandlockOnly) => &[],
        _ => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
    };
    if allowed.is_empty() {
        return Ok(Vec::new());
    }
    let conditions: Vec<_> = allowed
        .iter()
        .map(|family| (0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())))
        .collect();
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
