//! The host's libraries, made from the dialect's tables: for each service the procedure that provides it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use becket_scheme::{ErrorKind, Fault, Heap, HostAnswer, Machine, Module, Native, Value};

use super::io::Io;
use super::values::{is_procedure, string, word};
use super::world::World;
use crate::scheme::{self, Library, Needs, Procedure, Reach, Service, Tier};

/// The facts about a file that its procedures use.
pub struct FileState {
    /// Whether the file is being loaded.
    pub loading: AtomicBool,
    /// The files that it may read and write.
    pub io: Option<Io>,
    /// The part of the web that the file may reach, once it is known.
    pub reach: OnceLock<Reach>,
}

/// Adds the libraries that a file can import to its machine, and the reasons why it cannot import the others.
pub fn furnish(machine: &mut Machine, world: &World, state: &Arc<FileState>) {
    static LIBRARIES: OnceLock<Vec<Library>> = OnceLock::new();
    for library in LIBRARIES.get_or_init(scheme::libraries) {
        let is_there = match library.needs {
            Needs::Nothing => true,
            Needs::Files => world.tier == Tier::Unsandboxed,
            Needs::Web => world.reach != Reach::Nowhere,
        };
        match is_there {
            true => machine.register(module(library, state)),
            false => machine.forbid(library.name, library.needs.hint()),
        }
    }
    for (name, why) in scheme::BLOCKED {
        machine.forbid(name, why);
    }
}

fn module(library: &'static Library, state: &Arc<FileState>) -> Module {
    Module {
        name: library.name.into(),
        imports: library.imports.iter().map(|name| Cow::Borrowed(*name)).collect(),
        natives: library
            .procedures
            .iter()
            .map(|procedure| native(procedure, state))
            .collect(),
        definitions: library.definitions.as_str().into(),
        exports: Some(library.exports.split_whitespace().map(Cow::Borrowed).collect()),
        also: Vec::new(),
    }
}

fn native(procedure: &'static Procedure, state: &Arc<FileState>) -> Native {
    let state = Arc::clone(state);
    let count = procedure.arguments;
    Native::host(procedure.name, count, Some(count), move |heap, arguments| {
        serve(procedure, &state, heap, arguments)
    })
}

fn serve(
    procedure: &Procedure,
    state: &FileState,
    heap: &mut Heap,
    arguments: &[Value],
) -> Result<HostAnswer, Fault> {
    let name = procedure.name;
    let value = match (procedure.service, arguments) {
        (Service::CheckHook, [point, callback]) => {
            check_loading(state, "hooks are registered")?;
            scheme::check_point(&word(heap, "register-hook", *point)?).map_err(error)?;
            if !is_procedure(*callback) {
                return Err(Fault::wrong_type("register-hook", "a procedure", *callback));
            }
            Value::Unspecified
        }
        (Service::CheckTool, [tool, clauses]) => {
            check_loading(state, "tools are defined")?;
            let tool = word(heap, "define-tool", *tool)?;
            let clauses = heap.proper_list("define-tool", *clauses)?;
            let names = clauses
                .into_iter()
                .map(|clause| word(heap, "define-tool", clause));
            scheme::check_clauses(&tool, &names.collect::<Result<Vec<_>, _>>()?).map_err(error)?;
            Value::Unspecified
        }
        (Service::CallTool, [tool, given]) => {
            check_loaded(state, name)?;
            word(heap, name, *tool)?;
            return Ok(HostAnswer::Suspend(heap.cons(*tool, *given)));
        }
        (Service::Http, parts) => {
            check_loaded(state, "http-request")?;
            return Ok(HostAnswer::Suspend(heap.vector(parts.to_vec())));
        }
        (Service::GenerateId, _) => {
            let id = random().map_err(error)?;
            heap.string(format!("{id:08x}"))
        }
        (Service::CurrentTimestamp, _) => heap.string(scheme::timestamp(becket_system::moments::now())),
        (service, [path, rest @ ..]) => {
            let io = state
                .io
                .as_ref()
                .ok_or_else(|| error(format!("{name}: not in the sandbox")))?;
            let path = string(heap, name, *path)?;
            let text = rest.first().map(|text| string(heap, name, *text)).transpose()?;
            used(heap, io, service, &path, &text.unwrap_or_default()).map_err(error)?
        }
        _ => return Err(error(format!("{name} has no arguments"))),
    };
    Ok(HostAnswer::Value(value))
}

fn used(heap: &mut Heap, io: &Io, service: Service, path: &str, text: &str) -> Result<Value, String> {
    Ok(match service {
        Service::Read => io
            .read(path)?
            .map_or(Value::Bool(false), |text| heap.string(text)),
        Service::Write => io.write(path, text).map(|()| Value::Bool(true))?,
        Service::Append => io.append(path, text).map(|()| Value::Bool(true))?,
        Service::Exists => Value::Bool(io.exists(path)?),
        Service::Delete => Value::Bool(io.delete(path)?),
        Service::List => {
            let names: Vec<Value> = io.list(path)?.into_iter().map(|name| heap.string(name)).collect();
            heap.list(&names)
        }
        Service::CheckHook
        | Service::CheckTool
        | Service::CallTool
        | Service::Http
        | Service::GenerateId
        | Service::CurrentTimestamp => Value::Unspecified,
    })
}

fn check_loading(state: &FileState, what: &str) -> Result<(), Fault> {
    match state.loading.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err(error(format!("{what} while a file is loaded, and not later"))),
    }
}

fn check_loaded(state: &FileState, procedure: &str) -> Result<(), Fault> {
    match state.loading.load(Ordering::Relaxed) {
        true => Err(error(format!(
            "{procedure}: no active call context: the file is being loaded"
        ))),
        false => Ok(()),
    }
}

fn random() -> Result<u32, String> {
    getrandom::u32().map_err(|error| format!("generate-id: {error}"))
}

fn error(message: String) -> Fault {
    Fault::new(ErrorKind::User, message, Vec::new())
}
