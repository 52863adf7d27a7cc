//! What a script can learn about the machine and its environment, and addresses.

#![allow(
    clippy::disallowed_methods,
    reason = "these are the files of extensions, which look at them themselves"
)]

use std::io;

use rustix::io::Errno;
use serde_json::{Value, json};
use url::{Url, quirks};

use super::errors::system_error;
use super::state::{Node, NodeResult};
use super::table::{NodeModule, node_modules};
use crate::host::HostError;

/// The machine's architecture as Node names it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        "x86" => "ia32",
        other => other,
    }
}

pub(super) fn call(node: &Node, function: &str, arguments: &Value) -> NodeResult {
    match function {
        "about" => Ok(about(node)),
        "memory" => Ok(memory()),
        "modules" => Ok(node_modules().map(importable).collect()),
        "cwd" => Ok(json!(node.directory().to_string_lossy())),
        "chdir" => change_directory(node, arguments["path"].as_str().unwrap_or_default()),
        "parseUrl" => parse_url(arguments),
        "setUrl" => set_url(arguments),
        _ => Err(HostError::new(format!("there is no function system.{function}"))),
    }
}

/// The name by which a module can be imported.
fn importable(module: &NodeModule) -> String {
    let prefix = if module.needs_prefix() { "node:" } else { "" };
    format!("{prefix}{}", module.name)
}

fn about(node: &Node) -> Value {
    let surroundings = &node.kit.surroundings;
    let environment = surroundings.environment.iter();
    let environment: serde_json::Map<String, Value> = environment
        .map(|(name, value)| (name.to_string_lossy().into(), json!(value.to_string_lossy())))
        .collect();
    let uname = rustix::system::uname();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    json!({
        "environment": environment,
        "home": surroundings.home.to_string_lossy(),
        "program": surroundings.program.to_string_lossy(),
        "pid": std::process::id(),
        "parent": rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get()),
        "uid": rustix::process::getuid().as_raw(),
        "gid": rustix::process::getgid().as_raw(),
        "euid": rustix::process::geteuid().as_raw(),
        "egid": rustix::process::getegid().as_raw(),
        "system": uname.sysname().to_string_lossy(),
        "release": uname.release().to_string_lossy(),
        "version": uname.version().to_string_lossy(),
        "machine": uname.machine().to_string_lossy(),
        "hostname": uname.nodename().to_string_lossy(),
        "platform": match std::env::consts::OS { "macos" => "darwin", other => other },
        "arch": architecture(),
        "endianness": if cfg!(target_endian = "big") { "BE" } else { "LE" },
        "cpus": cpus,
    })
}

fn memory() -> Value {
    #[cfg(target_os = "linux")]
    {
        let system = rustix::system::sysinfo();
        let unit = u64::from(system.mem_unit);
        // The system counts load in 65536ths.
        let load = system.loads.map(|load| load as f64 / 65536.0);
        json!({
            "total": system.totalram as u64 * unit,
            "free": system.freeram as u64 * unit,
            "uptime": system.uptime,
            "load": load,
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        json!({ "total": 0, "free": 0, "uptime": 0, "load": [0, 0, 0] })
    }
}

fn change_directory(node: &Node, path: &str) -> NodeResult {
    let wanted = node.path(path);
    let failed = |error: io::Error| system_error(&error, "chdir", Some(path), None);
    let found = std::fs::canonicalize(wanted).map_err(failed)?;
    if !found.is_dir() {
        return Err(failed(Errno::NOTDIR.into()));
    }
    *node
        .directory
        .lock()
        .expect("no panic happens while the directory is held") = found;
    Ok(Value::Null)
}

/// The parts of an address, or `null` if it is not one.
fn parse_url(arguments: &Value) -> NodeResult {
    let input = arguments["input"].as_str().unwrap_or_default();
    let parsed = match arguments["base"].as_str() {
        Some(base) => Url::parse(base).and_then(|base| base.join(input)),
        None => Url::parse(input),
    };
    Ok(parsed.map_or(Value::Null, |url| parts(&url)))
}

fn set_url(arguments: &Value) -> NodeResult {
    let text = |name: &str| arguments[name].as_str().unwrap_or_default();
    let Ok(mut url) = Url::parse(text("href")) else {
        return Ok(Value::Null);
    };
    let value = text("value");
    // A part that does not fit leaves the address as it is, as in every other engine.
    match text("part") {
        "protocol" => drop(quirks::set_protocol(&mut url, value)),
        "username" => drop(quirks::set_username(&mut url, value)),
        "password" => drop(quirks::set_password(&mut url, value)),
        "host" => drop(quirks::set_host(&mut url, value)),
        "hostname" => drop(quirks::set_hostname(&mut url, value)),
        "port" => drop(quirks::set_port(&mut url, value)),
        "pathname" => quirks::set_pathname(&mut url, value),
        "search" => quirks::set_search(&mut url, value),
        "hash" => quirks::set_hash(&mut url, value),
        _ => {}
    }
    Ok(parts(&url))
}

fn parts(url: &Url) -> Value {
    json!({
        "href": quirks::href(url),
        "origin": quirks::origin(url),
        "protocol": quirks::protocol(url),
        "username": quirks::username(url),
        "password": quirks::password(url),
        "host": quirks::host(url),
        "hostname": quirks::hostname(url),
        "port": quirks::port(url),
        "pathname": quirks::pathname(url),
        "search": quirks::search(url),
        "hash": quirks::hash(url),
    })
}
