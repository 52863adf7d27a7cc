//! Real sessions of other agents in which becket's hooks are asked: the programs that people install, each with a model
//! on this machine that speaks its format.
//!
//! The programs come from npm into a folder below `target`. The sessions run where there is no network but this
//! machine's own addresses, if the system lets a user make such a place. Cursor's and Copilot's programs cannot be
//! pointed at a model on this machine without an account, so they are not tried.

mod models;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::ModelServer;

use crate::problem::Problem;
use crate::workspace::Workspace;

/// How long one session may take.
const SESSION_TIMEOUT: Duration = Duration::from_secs(120);

/// Tells this program that it runs without a network.
const INSIDE: &str = "BECKET_REAL_AGENTS_INSIDE";

/// A program that people install.
struct RealAgent {
    system: &'static str,
    package: &'static str,
    program: &'static str,
    /// The arguments of a session with this prompt, where the model is at this address.
    arguments: fn(&str, &str) -> Vec<String>,
}

const AGENTS: &[RealAgent] = &[
    RealAgent {
        system: "claude-code",
        package: "@anthropic-ai/claude-code@2.1.197",
        program: "claude",
        arguments: |prompt, _| words(&["-p", prompt, "--allowedTools", "Bash"]),
    },
    RealAgent {
        system: "codex",
        package: "@openai/codex@0.169.0",
        program: "codex",
        arguments: |prompt, url| {
            let provider = format!(
                "model_providers.local={{name=\"local\",base_url=\"{url}/v1\",wire_api=\"responses\",env_key=\"KEY\"}}"
            );
            words(&[
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-hook-trust",
                "-s",
                "danger-full-access",
                "-c",
                &provider,
                "-c",
                "model_provider=local",
                "-m",
                "gpt-5",
                prompt,
            ])
        },
    },
    RealAgent {
        system: "gemini",
        package: "@google/gemini-cli@0.61.0",
        program: "gemini",
        arguments: |prompt, _| words(&["--skip-trust", "-y", "-m", "gemini-2.5-flash", "-p", prompt]),
    },
];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A guard in each of the languages in which hooks are written. It says no to the one command.
const GUARDS: &[(&str, &str, &str)] = &[
    ("own TOML", ".config/becket/config.toml", OWN_GUARD),
    ("chibi plugin", ".chibi/plugins/guard", PLUGIN),
    ("pi extension", ".pi/agent/extensions/guard.ts", EXTENSION),
    ("docker-agent YAML", ".config/becket/hooks.d/guard.yaml", YAML),
];

const OWN_GUARD: &str = r#"[[hook]]
event = "pre_shell"
name = "guard"
command = "echo the guard says no >&2; exit 2"
"#;

const PLUGIN: &str = r#"#!/bin/sh
if [ "$1" = --schema ]; then
  echo '{"name":"guard","description":"A guard","hooks":["pre_tool"]}'
  exit
fi
echo '{"block":true,"message":"the guard says no"}'
"#;

const EXTENSION: &str = r#"export default function (pi) {
  pi.on("tool_call", async () => ({ block: true, reason: "the guard says no" }));
}
"#;

const YAML: &str = r#"pre_tool_use:
  - matcher: "*"
    hooks:
      - type: command
        command: echo the guard says no >&2; exit 2
"#;

/// Hooks that change a command, add context, and refuse a prompt.
const OTHERS: &str = r#"
[[hook]]
event = "pre_tool"
name = "safer"
command = '''sed -n 's/.*touch unsafe.*/{"arguments": {"command": "touch safe"}}/p' '''

[[hook]]
event = "user_prompt"
name = "words"
command = '''case $(cat) in *password*) echo no passwords >&2; exit 2;; *) printf '{"context": ["be brief"]}';; esac'''
"#;

/// Runs all sessions and prints a table.
pub fn run(workspace: &Workspace) -> Result<(), Problem> {
    let folder = workspace.root().join("target/real-agents");
    if std::env::var_os(INSIDE).is_some() {
        return sessions(&folder, &workspace.root().join("target/debug/becket"));
    }
    install(&folder)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--package", "becket"])
        .current_dir(workspace.root());
    succeeded(&mut build, "becket does not build")?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut alone = Command::new("unshare");
    alone.args([
        "-r",
        "-n",
        "sh",
        "-c",
        "ip link set lo up && exec \"$0\" real-agents",
    ]);
    alone.arg(&program).env(INSIDE, "1");
    let can_be_alone = Command::new("unshare").args(["-r", "-n", "true"]).output();
    if can_be_alone.is_ok_and(|tried| tried.status.success()) {
        return succeeded(&mut alone, "a session did not go as it should");
    }
    println!("no place without a network can be made here; the sessions run with it");
    let mut beside = Command::new(program);
    succeeded(
        beside.arg("real-agents").env(INSIDE, "1"),
        "a session did not go as it should",
    )
}

fn succeeded(command: &mut Command, problem: &str) -> Result<(), Problem> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(problem.into()),
        Err(error) => Err(format!("cannot start {:?}: {error}", command.get_program())),
    }
}

fn install(folder: &Path) -> Result<(), Problem> {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"])
        .arg(folder);
    npm.args(AGENTS.iter().map(|agent| agent.package));
    succeeded(&mut npm, "npm cannot install the agents")
}

fn sessions(folder: &Path, becket: &Path) -> Result<(), Problem> {
    let mut all_well = true;
    for agent in AGENTS {
        let program = folder.join("node_modules/.bin").join(agent.program);
        println!("{} {}", agent.system, agent.package);
        let mut tell = |what: &str, is_well: bool| {
            all_well &= is_well;
            println!("  {what:40} {}", if is_well { "yes" } else { "NO" });
        };
        let session = Session::open(agent, becket, (".config/becket/config.toml", ""))?;
        session.play(&program, "clean up", "touch made")?;
        tell("without a guard the command runs", session.has("made"));
        for (kind, file, text) in GUARDS {
            let session = Session::open(agent, becket, (file, text))?;
            let seen = session.play(&program, "clean up", "touch made")?;
            let refused = !session.has("made") && seen.contains("the guard says no");
            tell(&format!("a guard ({kind}) stops a command"), refused);
            let trace = session.becket(&["trace"])?;
            tell("  and the trace shows it", trace.contains("the guard says no"));
        }
        let session = Session::open(agent, becket, (".config/becket/config.toml", OTHERS))?;
        let seen = session.play(&program, "clean up", "touch unsafe")?;
        tell(
            "a rewrite changes what runs",
            session.has("safe") && !session.has("unsafe"),
        );
        tell("context reaches the next request", seen.contains("be brief"));
        let seen = session.play(&program, "my password is x", "touch made")?;
        tell("a refused prompt makes no request", !seen.contains("my password"));
        let (questions, loads) = session.daemon_counts()?;
        tell(
            &format!("the daemon answers ({questions} events, {loads} loads)"),
            questions >= 6 && loads < questions,
        );
    }
    match all_well {
        true => Ok(()),
        false => Err("a session did not go as it should".into()),
    }
}

/// A home and a project for one agent, in which becket is asked.
struct Session<'a> {
    agent: &'a RealAgent,
    becket: &'a Path,
    folder: tempfile::TempDir,
}

impl<'a> Session<'a> {
    fn open(agent: &'a RealAgent, becket: &'a Path, (file, text): (&str, &str)) -> Result<Self, Problem> {
        let folder = tempfile::tempdir().map_err(|error| format!("cannot make a folder: {error}"))?;
        let session = Self {
            agent,
            becket,
            folder,
        };
        session.write(&format!("home/{file}"), text)?;
        // Gemini CLI asks how to log in unless its settings say so.
        let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
        session.write("home/.gemini/settings.json", &settings.to_string())?;
        session.write("work/a.txt", "words\n")?;
        let runtime = DirBuilder::new().mode(0o700).create(session.path("runtime"));
        runtime.map_err(|error| format!("cannot make a folder: {error}"))?;
        session.becket(&["bridge", "install", agent.system])?;
        session.start_daemon()?;
        Ok(session)
    }

    /// Starts the daemon of the project; it ends once its socket is gone with the folder.
    fn start_daemon(&self) -> Result<(), Problem> {
        let work = self.path("work");
        let mut daemon = self.command(self.becket);
        daemon.args(["bridge", "daemon", "run", "--project"]).arg(&work);
        daemon.stdout(Stdio::null()).stderr(Stdio::null());
        let started = daemon.spawn();
        started.map_err(|error| format!("cannot start the daemon: {error}"))?;
        let deadline = Instant::now() + SESSION_TIMEOUT;
        while self.becket(&["bridge", "daemon", "status", "--json"])?.is_empty() {
            if Instant::now() > deadline {
                return Err("the daemon does not listen".into());
            }
        }
        Ok(())
    }

    /// How many events the daemon has answered, and how often it loaded the hooks.
    fn daemon_counts(&self) -> Result<(u64, u64), Problem> {
        let text = self.becket(&["bridge", "daemon", "status", "--json"])?;
        let status: Value = serde_json::from_str(text.lines().next().unwrap_or_default())
            .map_err(|error| format!("the daemon says nothing about itself: {error}"))?;
        let count = |name: &str| status[name].as_u64().unwrap_or_default();
        Ok((count("questions"), count("loads")))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn has(&self, name: &str) -> bool {
        self.path("work").join(name).exists()
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Problem> {
        use std::os::unix::fs::PermissionsExt;
        let file = self.path(name);
        let written = std::fs::create_dir_all(file.parent().unwrap_or(&file))
            .and_then(|()| std::fs::write(&file, text))
            .and_then(|()| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)));
        written.map_err(|error| format!("cannot write {}: {error}", file.display()))
    }

    /// A command in the session's home, with nothing else of the environment.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("XDG_RUNTIME_DIR", self.path("runtime"))
            .current_dir(self.path("work"))
            .stdin(Stdio::null());
        command
    }

    fn becket(&self, arguments: &[&str]) -> Result<String, Problem> {
        let Output { stdout, .. } = self
            .command(self.becket)
            .args(arguments)
            .output()
            .map_err(|error| format!("cannot start becket: {error}"))?;
        Ok(String::from_utf8_lossy(&stdout).into_owned())
    }

    /// Plays one prompt, in which the model wants to run a command. Returns all that the model was sent.
    fn play(&self, program: &Path, prompt: &str, command: &str) -> Result<String, Problem> {
        let wanted = command.to_owned();
        let server = ModelServer::answering(move |request| models::answer(request, &wanted));
        let url = server.url();
        let mut agent = self.command(program);
        agent
            .args((self.agent.arguments)(prompt, &url))
            .envs([("ANTHROPIC_BASE_URL", &url), ("GOOGLE_GEMINI_BASE_URL", &url)])
            .envs([
                ("ANTHROPIC_API_KEY", "key"),
                ("GEMINI_API_KEY", "key"),
                ("KEY", "key"),
            ])
            .envs([
                ("DISABLE_TELEMETRY", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("GEMINI_TELEMETRY_ENABLED", "false"),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = agent
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let deadline = Instant::now() + SESSION_TIMEOUT;
        while child.try_wait().map_err(|error| error.to_string())?.is_none() {
            if Instant::now() > deadline {
                let _ = child.kill();
                return Err(format!("{} did not come to an end", self.agent.program));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let requests = server.requests();
        let bodies = requests
            .iter()
            .map(|request| String::from_utf8_lossy(&request.body).into_owned());
        Ok(bodies.collect())
    }
}
