//! What the command line asks for, as plain values: made once from what was typed.

use std::fmt;
use std::sync::{Arc, Mutex};

use becket_events::{PermissionMode, SetupReason};
use becket_host::Mode;
use becket_run::{Hosts, RunOptions};
use tokio::runtime::Runtime;

use crate::args::{Args, ColorChoice, OptionArgs, RunMode, own_option_names};
use crate::process::this_program;

/// What the command line asks for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The options of the run.
    pub run: RunOptions,
    /// When to use colours.
    pub color: ColorChoice,
    /// The protocol for the program that runs becket.
    pub mode: Option<RunMode>,
    /// Whether a refused call makes the run of a prompt fail.
    pub fail_on_refusal: bool,
    /// The name of the conversation, if the command line gives it one.
    pub session_name: Option<String>,
    /// Whether several prompts are asked one after the other.
    pub takes_many: bool,
    /// The runtime in which guests live that were loaded to read the command line.
    pub runtime: LentRuntime,
}

impl Options {
    /// The options of a command line, for a program with these kinds of guests.
    pub fn new(args: &Args, hosts: Hosts) -> Self {
        let (given, args) = (&args.guests, &args.asked.options);
        let OptionArgs { pi, .. } = args;
        let takes_many = pi.print || pi.mode.is_some();
        let run = RunOptions {
            bridged_by: None,
            home: args.home.clone(),
            trust: args.trust,
            without: args.without.clone(),
            hosts,
            guests: given.clone(),
            servers: Default::default(),
            buffers: Default::default(),
            preloaded: Default::default(),
            context: args.context.clone(),
            transient: args.transient.clone(),
            session: pi.session.clone(),
            is_fresh: pi.mode.is_some() && !pi.go_on,
            keeps_current: pi.mode.is_some(),
            keeps_nothing: pi.no_session,
            model: whole_model(args),
            // pi starts without a model where commands follow, and chooses one later.
            needs_model: takes_many && pi.mode != Some(RunMode::Rpc),
            tools: args.tools.clone(),
            permission_mode: match args.yes {
                true => PermissionMode::Yes.into(),
                false => args.permission_mode.unwrap_or_default().into(),
            },
            setup: match (args.init, args.maintenance) {
                (true, _) => Some(SetupReason::Init),
                (false, true) => Some(SetupReason::Maintenance),
                (false, false) => None,
            },
            max_iterations: args.max_iterations,
            fuel: args.fuel,
            budget: args.budget,
            thinking: pi.thinking,
            system_prompt: pi.system_prompt.clone(),
            append_system_prompt: pi.append_system_prompt.clone(),
            images: args.image.clone(),
            otel: args.otel.clone(),
            is_chat: false,
            json: args.json,
            client: match pi.mode {
                Some(RunMode::Json) => Some(Mode::Json),
                Some(RunMode::Rpc) => Some(Mode::Rpc),
                Some(RunMode::Text) | None => None,
            },
            becket_program: Some(this_program()),
            option_names: Some(own_option_names),
        };
        Self {
            run,
            color: args.color,
            mode: pi.mode,
            fail_on_refusal: args.fail_on_refusal,
            session_name: pi
                .session_name
                .as_deref()
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty()),
            takes_many,
            runtime: LentRuntime::default(),
        }
    }
}

/// The model as becket names it; pi has an option of its own for the provider.
fn whole_model(args: &OptionArgs) -> Option<String> {
    let model = args.model.clone()?;
    let prefix = args.pi.provider.as_ref().map(|provider| format!("{provider}/"));
    Some(match prefix {
        Some(prefix) if !model.starts_with(&prefix) => format!("{prefix}{model}"),
        _ => model,
    })
}

/// A runtime that exists already.
#[derive(Clone, Default)]
pub struct LentRuntime(Arc<Mutex<Option<Runtime>>>);

impl LentRuntime {
    /// Keeps a runtime until it is taken.
    pub fn new(runtime: Runtime) -> Self {
        Self(Arc::new(Mutex::new(Some(runtime))))
    }

    /// Takes the runtime. Only the first call gets it.
    pub fn take(&self) -> Option<Runtime> {
        self.0.lock().expect("no panic happens while it is held").take()
    }
}

impl fmt::Debug for LentRuntime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LentRuntime")
    }
}
