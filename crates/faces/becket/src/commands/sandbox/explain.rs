//! What commands in the sandbox could touch, as a text and as JSON.

use std::fmt::Write as _;
use std::path::Path;

use becket_run::sandbox::Sandbox;
use becket_sandbox::{Access, Strength};
use serde_json::{Value, json};

use super::reach::Named;

/// The plan for a program to read, with what a command names.
pub(super) fn as_json(sandbox: &Sandbox, named: Vec<Named>) -> Value {
    let plan = sandbox.plan();
    let paths = |access| plan.with(access).collect::<Vec<&Path>>();
    json!({
        "profile": sandbox.profile.word(),
        "writable": paths(Access::Writable),
        "protected": paths(Access::ReadOnly),
        "scratch": paths(Access::Scratch),
        "hidden": paths(Access::Hidden),
        "network": sandbox.has_network(),
        "namespaces": plan.strength.has_namespaces(),
        "own_processes": plan.strength == Strength::Full,
        "gap": sandbox.gap,
        "named": named,
    })
}

/// The plan for people, with what a command names.
pub(super) fn as_text(sandbox: &Sandbox, named: &[Named]) -> String {
    let plan = sandbox.plan();
    let mut text = format!(
        "profile    {}\n           {}\n",
        sandbox.profile.word(),
        sandbox.profile.about()
    );
    for (title, access) in [
        ("writable", Access::Writable),
        ("protected", Access::ReadOnly),
        ("scratch", Access::Scratch),
        ("hidden", Access::Hidden),
    ] {
        let mut paths: Vec<_> = plan.with(access).collect();
        paths.sort_unstable();
        paths.dedup();
        for (number, path) in paths.into_iter().enumerate() {
            let title = if number == 0 { title } else { "" };
            let _ = writeln!(text, "{title:<10} {}", path.display());
        }
    }
    text += match (sandbox.has_network(), plan.strength.has_namespaces()) {
        (true, _) => {
            "network    its own loopback, and allowed web addresses through a proxy (`becket url check`)\n"
        }
        (false, true) => "network    none, except its own loopback\n",
        (false, false) => "network    none\n",
    };
    text += match plan.strength {
        Strength::Full => "processes  its own; all of them end with the command\n",
        Strength::SharedProcesses | Strength::LandlockOnly => "processes  all can be seen\n",
    };
    text += match plan.strength.has_namespaces() {
        true => "enforced   by namespaces, Landlock and a filter of system calls\n",
        false => "enforced   by Landlock and a filter of system calls\n",
    };
    if let Some(gap) = &sandbox.gap {
        let _ = writeln!(text, "gap        {gap}");
    }
    text += "\nProtected paths are read-only; what is written to scratch paths is gone with the command. All other \
             files can be read.\n";
    if !named.is_empty() {
        text += "\nThe command names:\n";
    }
    for Named { word, reach } in named {
        let _ = writeln!(text, "  {word}: {reach}");
    }
    text
}
