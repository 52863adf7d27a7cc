//! MCP servers that a system's own files declare. Hooks call them; the model is not offered their tools.

use std::collections::BTreeMap;
use std::path::PathBuf;

use becket_hooks::CommandLine;
use becket_host::{DeclaredServer, GuestSearch, Reached, ServerDeclaration};
use becket_system::Variables;
use becket_trust::{CommandItem, Item, Judged, Kind};
use serde::Deserialize;

use crate::entry::{Action, HookEntry, Owner, ServerEntry};
use crate::system::System;

/// The members of a declaration, in the spellings of all systems.
#[derive(Deserialize)]
struct Written {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(default, alias = "http_headers")]
    headers: BTreeMap<String, String>,
    /// Headers whose values are those of variables.
    #[serde(default)]
    env_http_headers: BTreeMap<String, String>,
    bearer_token_env_var: Option<String>,
    enabled: Option<bool>,
    /// The form of the protocol.
    #[serde(rename = "type")]
    transport: Option<String>,
}

/// The servers that hooks call and the system's files declare. Such a hook then calls its server by a name that no
/// other system's server has. Servers of the project are added to what is judged, and count once they are trusted.
pub(crate) fn used_servers(
    system: &System,
    place: &GuestSearch<'_>,
    hooks: &mut [(HookEntry, bool)],
    judged: &mut Vec<Judged>,
) -> Vec<ServerDeclaration> {
    let mut declarations: Vec<ServerDeclaration> = Vec::new();
    if !hooks
        .iter()
        .any(|(entry, _)| matches!(entry.action, Action::ServerTool { .. }))
    {
        return declarations;
    }
    for declared in (system.servers)(place) {
        let own_name = format!("{}/{}", system.dialect.name, declared.name);
        if declarations.iter().any(|(name, _)| *name == own_name) {
            continue;
        }
        let (mut is_used, mut guards) = (false, false);
        for (entry, is_guard) in hooks.iter_mut() {
            if let Action::ServerTool { server, .. } = &mut entry.action
                && *server == declared.name
            {
                own_name.clone_into(server);
                (is_used, guards) = (true, guards | *is_guard);
            }
        }
        if is_used {
            let made = declaration(&declared, place, guards, judged);
            declarations.extend(made.transpose().map(|made| (own_name, made)));
        }
    }
    declarations
}

/// How the server is reached; `None` if it belongs to the project and is not trusted.
fn declaration(
    declared: &ServerEntry,
    place: &GuestSearch<'_>,
    guards: bool,
    judged: &mut Vec<Judged>,
) -> Result<Option<DeclaredServer>, String> {
    let written = Written::deserialize(&declared.value).map_err(|error| error.to_string())?;
    if written.enabled == Some(false) {
        return Err("it is switched off".into());
    }
    let variables = Variables::of(place.surroundings);
    let of_project = declared.source.owner == Owner::Project;
    let reached = match (&written.command, &written.url) {
        (Some(command), _) => program(command, &written, declared, &variables, place)?,
        (None, Some(url)) => Reached::Web {
            url: variables.expand(url)?,
            headers: headers(&written, &variables)?,
            is_event_stream: written.transport.as_deref() == Some("sse"),
        },
        (None, None) => return Err("its entry has neither `command` nor `url`".into()),
    };
    let reached = match of_project {
        false => reached,
        true => match trusted(reached, declared, place, guards, judged) {
            Some(reached) => reached,
            None => return Ok(None),
        },
    };
    Ok(Some(DeclaredServer {
        origin: declared.source.file.display().to_string(),
        prefixes_tools: true,
        for_hooks: true,
        reached,
        call_timeout: None,
        secrets: variables.named(),
    }))
}

/// A program of a server. The user's run in the folder of the file that declares them: files of the working directory
/// may come from somebody else.
fn program(
    command: &str,
    written: &Written,
    declared: &ServerEntry,
    variables: &Variables<'_>,
    place: &GuestSearch<'_>,
) -> Result<Reached, String> {
    let folder = match declared.source.owner {
        Owner::Project => place.trust.root().to_path_buf(),
        _ => declared
            .source
            .file
            .parent()
            .unwrap_or(place.trust.root())
            .to_path_buf(),
    };
    let args = written.args.iter().map(|text| variables.expand(text));
    Ok(Reached::Program {
        command: variables.expand(command)?,
        args: args.collect::<Result<_, _>>()?,
        variables: variables.expand_values(&written.env)?,
        directory: written
            .cwd
            .as_ref()
            .map_or_else(|| folder.clone(), |cwd| folder.join(cwd)),
        folder,
    })
}

fn headers(written: &Written, variables: &Variables<'_>) -> Result<Vec<(String, String)>, String> {
    let mut headers = variables.expand_values(&written.headers)?;
    for (header, name) in &written.env_http_headers {
        headers.push((header.clone(), variables.expand(&format!("${{{name}}}"))?));
    }
    if let Some(name) = &written.bearer_token_env_var {
        let token = variables.expand(&format!("${{{name}}}"))?;
        headers.push(("authorization".into(), format!("Bearer {token}")));
    }
    Ok(headers)
}

/// A server of the project, if it is trusted.
fn trusted(
    reached: Reached,
    declared: &ServerEntry,
    place: &GuestSearch<'_>,
    guards: bool,
    judged: &mut Vec<Judged>,
) -> Option<Reached> {
    let (trust, file) = (place.trust, declared.source.file.as_path());
    let entry = declared.value.to_string();
    let (verdict, reached) = match reached {
        Reached::Program {
            command,
            args,
            variables,
            directory,
            ..
        } => {
            let command = CommandLine::Exec(std::iter::once(command).chain(args).collect());
            let variables: BTreeMap<String, String> = variables.into_iter().collect();
            let verdict = trust.command(&CommandItem {
                file,
                name: &declared.name,
                entry,
                command: &command,
                directory: &directory,
                folder: trust.root(),
                env: &variables,
                guards,
            });
            let reached = Reached::Judged {
                judged: Box::new(verdict.clone()),
                command,
                variables,
                directory,
            };
            (verdict, reached)
        }
        other => {
            let item = trust.item(
                Kind::Hook,
                &declared.name,
                file,
                entry,
                trust.gatherer(trust.root()),
            );
            (trust.judge(Item { guards, ..item }), other)
        }
    };
    let is_trusted = verdict.is_trusted();
    judged.push(verdict);
    is_trusted.then_some(reached)
}
