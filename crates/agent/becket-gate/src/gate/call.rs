//! A call on its way through the gate: as it applies, and after all rewriting with everything that it touches.

use std::path::{Path, PathBuf};

use becket_events::{Effect, Operation, OperationKind};
use serde_json::{Map, Value};

use super::step::Step;
use crate::cache::OutputCache;
use crate::called_tool::{BUILTIN, CalledTool, ToolSpec};
use crate::judged_path::LinkedFile;
use crate::question::Again;
use crate::url_policy::{JudgedUrl, UrlVerdict};
use crate::vfs::{Kind, VfsPath, VfsPlace};

/// A call that is to be judged.
#[derive(Clone, Copy)]
pub struct Applicant<'a> {
    /// Identifies the call.
    pub tool_call_id: &'a str,
    /// The tool that is called.
    pub tool: &'a dyn CalledTool,
    /// The call's arguments, normalised.
    pub arguments: &'a Map<String, Value>,
    /// The call from within which this one is made.
    pub parent_tool_call_id: Option<&'a str>,
}

impl<'a> Applicant<'a> {
    pub(super) fn spec(&self) -> &'a ToolSpec {
        self.tool.spec()
    }
}

/// What a call touches, resolved before it was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Nothing that can be named.
    None,
    /// A file, or a directory to look at or to run in: absolute, with links and `..` followed.
    Path(PathBuf),
    /// A place in the virtual file system.
    Vfs(VfsPlace),
    /// Two places in the virtual file system: the source and the destination of a copy or move.
    VfsPair(VfsPlace, VfsPlace),
    /// A web address, with the network addresses behind its host.
    Web(JudgedUrl),
    /// The network, at an address that the call does not name.
    UnnamedWeb,
}

impl Target {
    /// The file or directory that is opened: the named one, or the one behind an address of the virtual file system.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Vfs(place) => Some(place.file()),
            Self::None | Self::VfsPair(..) | Self::Web(_) | Self::UnnamedWeb => None,
        }
    }

    /// Whether the target is an output in the tool output cache.
    pub fn is_cached_output(&self) -> bool {
        matches!(self, Self::Vfs(place) if OutputCache::holds(place.address()))
    }
}

/// An address of the virtual file system at which a call changes something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VfsChange {
    /// The address of the change.
    pub address: VfsPath,
    /// Whether nothing is left at the address afterwards.
    pub removed: bool,
}

/// A call after all rewriting, with everything it touches.
#[derive(Debug)]
pub(super) struct FinalCall {
    pub(super) arguments: Map<String, Value>,
    pub(super) operation: Option<Operation>,
    pub(super) target: Target,
    /// What the call changes in the virtual file system.
    pub(super) changes: Vec<VfsChange>,
    /// Whether the path lies where reading needs no question.
    pub(super) inside: bool,
    /// The file, if it has further hard links.
    pub(super) linked: Option<LinkedFile>,
    /// Whether a hook has written the arguments.
    pub(super) is_rewritten: bool,
}

impl FinalCall {
    pub(super) fn unresolved(arguments: Map<String, Value>) -> Self {
        Self {
            arguments,
            operation: None,
            target: Target::None,
            changes: Vec::new(),
            inside: false,
            linked: None,
            is_rewritten: false,
        }
    }

    /// What the call touches, for the step listener.
    pub(super) fn resolved(&self) -> Step {
        Step::Resolved {
            target: self.touched(),
            arguments: self.arguments.clone(),
        }
    }

    pub(super) fn touched(&self) -> Option<String> {
        match &self.target {
            Target::None => None,
            Target::Path(path) => Some(path.display().to_string()),
            Target::Vfs(place) => Some(place.address().to_string()),
            Target::VfsPair(from, to) => Some(format!("{} to {}", from.address(), to.address())),
            Target::Web(judged) => Some(judged.url().to_string()),
            Target::UnnamedWeb => Some("the network".into()),
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match &self.target {
            Target::Path(path) => Some(path),
            _ => None,
        }
    }

    pub(super) fn web(&self) -> Option<&JudgedUrl> {
        match &self.target {
            Target::Web(judged) => Some(judged),
            _ => None,
        }
    }

    /// Which later calls count as the same again. A file is seldom read or written twice in the same way, so there the
    /// file is what counts.
    pub(super) fn again(&self) -> Again {
        let effect = self.operation.as_ref().map(|operation| operation.kind().effect());
        match (effect, &self.target) {
            (Some(Effect::Read | Effect::Write), Target::Path(_) | Target::Vfs(_)) => Again::Path,
            _ => Again::Call,
        }
    }

    /// Why the user must be asked about the address, if it is not on the open internet.
    pub(super) fn sensitivity(&self) -> Option<String> {
        self.web().and_then(JudgedUrl::sensitivity)
    }

    /// Whether the address needs the user's yes: it is not on the open internet, and no policy allows it.
    pub(super) fn is_sensitive(&self) -> bool {
        let web = self.web();
        web.is_some_and(|web| web.class().is_some() && web.ruling().verdict != UrlVerdict::Allow)
    }

    /// Every address of the virtual file system that the call reads or changes.
    pub(super) fn vfs_addresses(&self) -> Vec<&VfsPath> {
        let named = match &self.target {
            Target::Vfs(place) => vec![place],
            Target::VfsPair(place, destination) => vec![place, destination],
            _ => Vec::new(),
        };
        let named = named.into_iter().map(VfsPlace::address);
        named.chain(self.changed_addresses()).collect()
    }

    /// Every address of the virtual file system at which the call changes something.
    pub(super) fn changed_addresses(&self) -> Vec<&VfsPath> {
        self.changes.iter().map(|change| &change.address).collect()
    }
}

/// The operations that a call implies: rules about these count for it, too. An edit writes. What it shows and what a
/// copy puts elsewhere is read, and what changes the virtual file system writes there. A foreign search tool shows what
/// is in the file that it was given; becket's own leaves out what may not be read.
pub(super) fn implied(spec: &ToolSpec, call: &FinalCall) -> &'static [OperationKind] {
    let is_foreign = spec.source != BUILTIN;
    let is_file = || call.target.file().is_some_and(|file| !file.is_dir());
    match call.operation {
        Some(Operation::Edit(_)) => &[OperationKind::Read, OperationKind::Write],
        Some(Operation::Grep(_)) if is_foreign && is_file() => &[OperationKind::Read],
        Some(Operation::VfsCopy(_) | Operation::VfsMove(_)) => &[OperationKind::Read, OperationKind::Write],
        Some(
            Operation::VfsDelete(_)
            | Operation::VfsMkdir(_)
            | Operation::Mkdir(_)
            | Operation::Rmdir(_)
            | Operation::Remove(_),
        ) => &[OperationKind::Write],
        _ => &[],
    }
}

/// An address as rules see paths.
pub(super) fn as_path(address: &VfsPath) -> PathBuf {
    PathBuf::from(address.to_string())
}

/// The addresses at which an operation changes something. A folder changes with everything in it, and each of its files
/// is judged as if it changed alone.
pub(super) fn changes_of(
    operation: &Operation,
    place: &VfsPlace,
    destination: Option<&VfsPlace>,
) -> Result<Vec<VfsChange>, String> {
    let there = |address: &VfsPath| VfsChange {
        address: address.clone(),
        removed: false,
    };
    let gone = |address: &VfsPath| VfsChange {
        address: address.clone(),
        removed: true,
    };
    let below = || {
        place
            .all_below()
            .map_err(|error| format!("{}: {error}", place.address()))
    };
    let is_folder = || place.info().is_ok_and(|info| info.kind == Kind::Folder);
    Ok(match (operation, destination) {
        (Operation::Write(_) | Operation::Edit(_), _) => vec![there(place.address())],
        (Operation::VfsMkdir(_) | Operation::Mkdir(_), _) if is_folder() => Vec::new(),
        (Operation::VfsMkdir(_) | Operation::Mkdir(_), _) => vec![there(place.address())],
        // Only an empty folder can be removed, so nothing in it changes.
        (Operation::Rmdir(_) | Operation::Remove(_), _) => vec![gone(place.address())],
        (Operation::VfsDelete(_), _) => {
            let below = below()?;
            std::iter::once(place.address()).chain(&below).map(gone).collect()
        }
        (Operation::VfsCopy(_), Some(destination)) => vec![there(destination.address())],
        (Operation::VfsMove(_), Some(destination)) => {
            let mut changes = vec![gone(place.address()), there(destination.address())];
            for address in below()? {
                let new = address
                    .as_str()
                    .strip_prefix(place.address().as_str())
                    .unwrap_or_default();
                changes.push(there(&destination.address().join(new.trim_start_matches('/'))?));
                changes.push(gone(&address));
            }
            changes
        }
        _ => Vec::new(),
    })
}

/// An operation with its arguments in becket's own names, or why they cannot be read.
type ReadOperation = Result<(Operation, Map<String, Value>), String>;

/// The final arguments of a call, read once.
pub(super) struct ReadArguments {
    given: Map<String, Value>,
    /// For a tool that is one of becket's operations: the operation and the arguments besides it, or why there is none.
    operation: Option<ReadOperation>,
}

impl ReadArguments {
    pub(super) fn of(spec: &ToolSpec, arguments: Map<String, Value>) -> Self {
        let operation = spec.operation.map(|kind| {
            let (known, extra) = spec.apart(arguments.clone());
            match kind.read(known) {
                Ok(operation) => Ok((operation, extra)),
                Err(error) => Err(format!("the arguments of {} are wrong: {error}", spec.own_name)),
            }
        });
        Self {
            given: arguments,
            operation,
        }
    }

    /// The operation, if the tool is one, and the arguments besides it.
    pub(super) fn operation(&self) -> Option<ReadOperation> {
        self.operation.clone()
    }

    /// The arguments as they were given to the gate or rewritten by hooks.
    pub(super) fn given(&self) -> &Map<String, Value> {
        &self.given
    }

    /// The arguments under their normalised names, as far as they can be read.
    pub(super) fn normalised(self) -> Map<String, Value> {
        match self.operation {
            Some(Ok((operation, extra))) => operation.arguments().into_iter().chain(extra).collect(),
            _ => self.given,
        }
    }
}

/// The class of an address that is not on the open internet, as guards of the network are told it.
pub(super) fn sensitive(web: Option<&JudgedUrl>) -> Option<String> {
    let class = web?.class()?;
    Some(class.name().to_owned())
}

/// The network addresses behind a web address, as guards of the network are told them.
pub(super) fn addresses(web: Option<&JudgedUrl>) -> Vec<String> {
    let addresses = web.map(JudgedUrl::addresses).unwrap_or_default();
    addresses.iter().map(|address| address.ip().to_string()).collect()
}
