//! What the command line asks for, as plain values: made once from what was typed.

use becket_events::{PermissionMode, SetupReason};
use becket_face_kit::{LentRuntime, RunMode};
use becket_host::Mode;
use becket_run::config::Dollars;
use becket_run::{Hosts, RunOptions};

use crate::args::{Args, OptionArgs, own_option_names};
use crate::process::this_program;

pub use becket_face_kit::Options;

/// The options of a command line, for a program with these kinds of guests.
pub fn of(args: &Args, hosts: Hosts) -> Options {
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
        sandbox: args.sandbox,
        setup: match (args.init, args.maintenance) {
            (true, _) => Some(SetupReason::Init),
            (false, true) => Some(SetupReason::Maintenance),
            (false, false) => None,
        },
        max_iterations: args.max_iterations,
        fuel: args.fuel,
        budget: args.budget.map(Dollars),
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
    Options {
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

/// The model as becket names it; pi has an option of its own for the provider.
fn whole_model(args: &OptionArgs) -> Option<String> {
    let model = args.model.clone()?;
    let prefix = args.pi.provider.as_ref().map(|provider| format!("{provider}/"));
    Some(match prefix {
        Some(prefix) if !model.starts_with(&prefix) => format!("{prefix}{model}"),
        _ => model,
    })
}
