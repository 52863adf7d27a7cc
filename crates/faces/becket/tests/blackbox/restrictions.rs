//! Settings that restrict, chibi's and becket's own: each of them counts, or nothing runs.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, OpenAiStream, Response, Room};

use crate::plugins::{bash, plugin};
use crate::room;

/// A room with a chibi home with these settings, for everything and for the context `work`.
fn with_settings(home: &str, context: &str) -> Room {
    let room = room();
    room.write("../home/.chibi/config.toml", home);
    room.write("../home/.chibi/contexts/work/local.toml", context);
    room
}

/// Lets a model ask for a call of the shell that leaves a file.
fn touch(room: &Room, options: &[&str]) -> Finished {
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "touch ran"}}]},
        {"text": "went on"},
    ]));
    room.run(
        [
            &["--yes", "--json", "-c", "work", "--model", &model],
            options,
            &["go"],
        ]
        .concat(),
    )
}

/// The names of the tools of the first request, and its body.
fn request(room: &Room) -> (Vec<String>, Value) {
    let server = ModelServer::start([Response::events(
        OpenAiStream::new("m").text("hello").finish("stop").done(),
    )]);
    let base = server.url();
    room.config(&format!(
        "model = \"openai/gpt\"\n[providers.openai]\nbase_url = \"{base}\"\nkey = \"k\"\n"
    ));
    room.run(["-c", "work", "hi"]).ended_with(0);
    let body = server.requests()[0].json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap_or_default().to_owned();
    (tools.iter().map(name).collect(), body)
}

#[test]
fn tools_that_chibi_s_settings_take_away_neither_run_nor_are_offered() {
    let table = [
        ("[tools]\nexclude = [\"shell_exec\"]", "", false),
        ("[tools]\nexclude = [\"run_command\"]", "", false),
        ("[tools]\nexclude = [\"shell\"]", "", false),
        ("", "[tools]\nexclude = [\"shell_exec\"]", false),
        (
            "[tools]\nexclude = [\"shell_exec\"]",
            "[tools]\nexclude = []",
            false,
        ),
        ("[tools]\nexclude_categories = [\"shell\"]", "", false),
        ("[tools]\nexclude_categories = [\"coding\"]", "", false),
        ("", "[tools]\nexclude_categories = [\"shell\"]", false),
        ("[tools]\ninclude = [\"file_head\"]", "", false),
        ("[tools]\ninclude = []", "", false),
        ("no_tool_calls = true", "", false),
        ("", "no_tool_calls = true", false),
        ("[api]\ntool_choice = \"none\"", "", false),
        ("[tools]\ninclude = [\"shell_exec\"]", "", true),
        (
            "[tools]\ninclude = []",
            "[tools]\ninclude = [\"shell_exec\"]",
            true,
        ),
        ("no_tool_calls = true", "no_tool_calls = false", true),
        (
            "[tools]\nexclude = [\"fetch_url\"]\nexclude_categories = [\"mcp\", \"plugin\"]",
            "",
            true,
        ),
    ];
    for (home, context, runs) in table {
        let room = with_settings(home, context);
        let run = touch(&room, &[]).ended_with(0);
        assert_eq!(room.has("ran"), runs, "{home} {context}: {run:#?}");
        let (tools, _) = request(&room);
        assert_eq!(
            tools.contains(&"shell".into()),
            runs,
            "{home} {context}: {tools:?}"
        );
    }
}

#[test]
fn tools_of_plugins_are_taken_away_too() {
    for exclusion in [
        "exclude = [\"mine\"]",
        "exclude_categories = [\"plugin\"]",
        "include = [\"x\"]",
    ] {
        let room = with_settings(&format!("[tools]\n{exclusion}"), "");
        plugin(&room, "mine", &bash("mine", "", "touch \"$HOME/ran\""));
        let model = room.model(&json!([
            {"tool_calls": [{"name": "mine", "arguments": {}}]},
            {"text": "went on"},
        ]));
        room.run(["--yes", "--model", &model, "go"]).ended_with(0);
        assert!(!room.has("../home/ran"), "{exclusion}");
    }
}

#[test]
fn the_rest_of_chibi_s_settings_counts_in_the_request() {
    let home = "username = \"Ada\"\n[api]\ntemperature = 0.25\nmax_tokens = 77\ntop_p = 0.5\n";
    let (_, body) = request(&with_settings(home, ""));
    assert_eq!(
        (&body["temperature"], &body["top_p"]),
        (&json!(0.25), &json!(0.5))
    );
    assert!(body.to_string().contains(":77"), "{body}");
    assert!(
        body.to_string()
            .contains("The user speaking to you is called: Ada"),
        "{body}"
    );
    let (_, body) = request(&with_settings(
        home,
        "username = \"Bo\"\n[api]\ntemperature = 0.75\n",
    ));
    assert_eq!(body["temperature"], 0.75);
    assert!(body.to_string().contains("called: Bo"), "{body}");
    // Fuel ends a run that goes on and on.
    let room = with_settings("fuel = 1", "");
    let calls: Vec<Value> = (0..6)
        .map(|n| json!({"tool_calls": [{"name": "shell", "arguments": {"command": format!("touch f{n}")}}]}))
        .collect();
    let model = room.model(&json!(calls));
    room.run(["--yes", "--model", &model, "go"]);
    assert!(room.has("f0") && !room.has("f4"));
    // What is long is put aside.
    let room = with_settings("tool_output_cache_threshold = 100", "");
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "seq 1 500"}}]},
        {"text": "went on"},
    ]));
    let run = room
        .run(["--yes", "--json", "--model", &model, "go"])
        .ended_with(0);
    assert_eq!(run.events_named("post_cache").len(), 1, "{run:#?}");
}

#[test]
fn folders_of_chibi_s_settings_are_read_without_a_question() {
    for (settings, is_read) in [("file_tools_allowed_paths = [\"~/notes\"]", true), ("", false)] {
        let room = with_settings(settings, "");
        let file = room.write("../home/notes/a.txt", "the note says so");
        let model = room.model(&json!([
            {"tool_calls": [{"name": "read", "arguments": {"path": file}}]},
            {"text": "went on"},
        ]));
        let run = room.run(["--json", "--model", &model, "go"]).ended_with(0);
        assert_eq!(
            run.stdout.contains("the note says so"),
            is_read,
            "{settings}: {run:#?}"
        );
    }
}

#[test]
fn what_is_not_served_is_named_and_what_restricts_ends_the_run() {
    let room = with_settings(
        "api_key = \"sk-secret\"\nverbose = true\n",
        "[storage]\nbytes_per_token = 4\n",
    );
    let run = touch(&room, &[]).ended_with(0);
    for words in [
        "config.toml: becket does not support `api_key`, `verbose`",
        "local.toml: becket does not support `storage",
    ] {
        assert_eq!(run.stderr.matches(words).count(), 1, "{run:#?}");
    }
    assert!(!run.stderr.contains("sk-secret"), "{run:#?}");
    room.run(["doctor"])
        .said("becket does not support `api_key`, `verbose`");
    let table = [
        ("[tools]\nexcludes = [\"x\"]", "did you mean `tools.exclude`?"),
        ("[tools]\nnever = true", "`tools.never`"),
        ("no_tool_call = true", "did you mean `no_tool_calls`?"),
        (
            "[tools]\nexclude_categories = [\"shel\"]",
            "did you mean `shell`?",
        ),
        ("[tools]\nexclude = 3", "line 2"),
    ];
    for (settings, words) in table {
        for (home, context) in [(settings, ""), ("", settings)] {
            let room = with_settings(home, context);
            let run = touch(&room, &[]).ended_with(2).complained(words);
            let file = if home.is_empty() {
                "local.toml"
            } else {
                "config.toml"
            };
            assert!(run.stderr.contains(file) && !room.has("ran"), "{run:#?}");
            assert!(
                room.run(["-C", "work", "doctor"]).stdout.contains(words),
                "{settings}"
            );
        }
    }
}

#[test]
fn rules_in_a_foreign_spelling_end_the_start_with_becket_s_own() {
    let table = [
        ("shell(rm*)", "write `shell:command=rm*`"),
        ("Bash(rm:*)", "write `shell:command=rm*`"),
        (
            "WebFetch(domain:example.com)",
            "write `fetch:url=https://example.com/*`",
        ),
        ("Bash", "becket calls it `shell`"),
        ("bash", "becket calls it `shell`"),
        ("run_shell_command", "becket calls it `shell`"),
        ("Bash:command=rm*", "shell:command=rm*"),
        ("shel", "becket calls it `shell`"),
        ("no_such_tool_at_all", "names the tool `no_such_tool_at_all`"),
    ];
    for list in ["deny", "ask"] {
        for (rule, words) in table {
            let room = room();
            room.config(&format!("[permissions]\n{list} = [{}]\n", json!(rule)));
            touch(&room, &[]).ended_with(2).complained(words);
            assert!(!room.has("ran"), "{rule}");
        }
    }
    for rule in ["shell:command=rm*", "shell", "*", "mcp_*", "spawn_agent"] {
        let room = room();
        room.config(&format!("[permissions]\ndeny = [{}]\n", json!(rule)));
        touch(&room, &[]).ended_with(0);
    }
    // A name counts where the model knows it, or a guest has it.
    let room = room();
    room.config("[permissions]\ndeny = [\"bash\"]\n");
    let run = touch(&room, &["--tools", "pi"]).ended_with(0);
    assert!(!run.stderr.contains("does not exist, so"), "{run:#?}");
    let room = crate::room();
    plugin(&room, "mine", &bash("mine", "", "true"));
    room.config("[permissions]\ndeny = [\"mine\"]\n");
    touch(&room, &[]).ended_with(0);
}

/// Lets a model call the tool `late` under these settings, beside an extension that registers it when the session
/// begins, or never.
fn with_late_tool(settings: &str, registers: bool) -> Finished {
    let room = room();
    room.config(settings);
    let tool = "{ name: 'late', label: 'l', description: 'd', parameters: { type: 'object', properties: {} }, \
                execute: async () => { fs.writeFileSync('ran', ''); \
                return { content: [{ type: 'text', text: 'done' }] }; } }";
    let code = format!(
        "import fs from 'node:fs';\n\
         export default (pi: any) => pi.on('session_start', () => {{ if ({registers}) pi.registerTool({tool}); }});"
    );
    room.write("../home/.pi/agent/extensions/late.ts", code);
    let model = room.model(&json!([
        {"tool_calls": [{"name": "late", "arguments": {}}]},
        {"text": "went on"},
    ]));
    let run = room.run(["--yes", "--json", "--model", &model, "go"]);
    assert!(!room.has("ran"), "{run:#?}");
    run
}

#[test]
fn a_rule_about_a_tool_that_nobody_has_is_told_when_all_have_started_and_only_then() {
    let told = "`files_remove`, which does not exist, so it would forbid nothing";
    let server = "[mcp.servers.files]\ncommand = \"/no/such/server\"\n";
    for list in ["deny", "ask"] {
        let room = room();
        room.config(&format!(
            "# mine\n[permissions]\n{list} = [\n  \"files_remove\",\n]\n{server}"
        ));
        let run = touch(&room, &[]).ended_with(0);
        assert_eq!(run.stderr.matches(told).count(), 1, "{run:#?}");
        assert!(run.stderr.contains("config.toml:4: the rule"), "{run:#?}");
        // Before the first request nobody knows it.
        let hooks = room.hooks("[[hook]]\nevent = \"user_prompt\"\ncommand = \"exit 2\"\n");
        let run = touch(&room, &["--hooks", &hooks]);
        assert!(!run.stderr.contains("files_remove"), "{run:#?}");
        room.run(["doctor"]).ended_with(1).said(told);
    }
    // No server that is still to start would call a tool so.
    let room = room();
    room.config(&format!("[permissions]\ndeny = [\"shel\"]\n{server}"));
    touch(&room, &[])
        .ended_with(2)
        .complained("config.toml:2: the rule `shel`");
    // An extension may register its tools when the session begins.
    let run = with_late_tool("[permissions]\ndeny = [\"late\"]\n", true).ended_with(0);
    assert!(!run.stderr.contains("does not exist"), "{run:#?}");
    assert!(
        run.stderr.contains("refused late: the rule `late` denies it"),
        "{run:#?}"
    );
    let run = with_late_tool("[permissions]\ndeny = [\"late\"]\n", false).ended_with(0);
    let told = "config.toml:2: the rule `late` names the tool `late`, which does not exist";
    assert_eq!(run.stderr.matches(told).count(), 1, "{run:#?}");
}

#[test]
fn the_file_of_a_rule_about_an_unknown_tool_is_named() {
    let room = room();
    room.write(
        "becket.toml",
        "[permissions]\ndeny = [\"shell:command=x\",\n  \"no_such\"]\n",
    );
    touch(&room, &["--trust"])
        .ended_with(2)
        .complained("becket.toml:3: the rule `no_such` names the tool `no_such`");
    // A tool of a Scheme file is one.
    let room = crate::room();
    let tool = "(define-tool mine (description \"d\") (parameters '()) (execute (lambda (args) 1)))";
    crate::scheme::put(&room, "tools/shared/mine.scm", tool);
    room.config("[permissions]\ndeny = [\"mine\"]\n");
    touch(&room, &[]).ended_with(0);
}

#[test]
fn an_unknown_tool_that_chibi_s_settings_exclude_ends_the_start() {
    for (exclude, words) in [
        ("shell_exce", "becket calls it `shell`"),
        ("vfs_lst", "`vfs_lst`, which does not exist"),
        ("no_such_plugin", "`no_such_plugin`, which does not exist"),
    ] {
        let settings = format!("[tools]\nexclude = [\"{exclude}\"]");
        for (home, context, file) in [
            (settings.as_str(), "", "config.toml"),
            ("", &settings, "local.toml"),
        ] {
            let room = with_settings(home, context);
            let run = touch(&room, &[]).ended_with(2).complained(words);
            let place = format!("{file}: `tools.exclude` names the tool `{exclude}`");
            assert!(run.stderr.contains(&place) && !room.has("ran"), "{run:#?}");
        }
    }
    for exclude in ["model_info", "vfs_list", "index_query", "read_file", "cache_list"] {
        let room = with_settings(&format!("[tools]\nexclude = [\"{exclude}\"]"), "");
        touch(&room, &[]).ended_with(0);
        assert!(room.has("ran"), "{exclude}");
    }
    // What is included by a name that nothing has takes nothing away: that is only told.
    let room = with_settings("[tools]\ninclude = [\"shell_exec\", \"no_such\"]", "");
    let run = touch(&room, &[]).ended_with(0);
    let told = "config.toml: `tools.include` names the tool `no_such`, which does not exist";
    assert_eq!(run.stderr.matches(told).count(), 1, "{run:#?}");
}

#[test]
fn chibi_s_variables_name_the_model_and_hold_the_key_which_nobody_else_sees() {
    let answers = || {
        let text = || Response::events(OpenAiStream::new("m").text("hello").finish("stop").done());
        let call = OpenAiStream::new("m")
            .tool_call(0, "1", "shell", &["{\"command\": \"env > of_tool\"}"])
            .finish("tool_calls");
        [Response::events(call.done()), text()]
    };
    let table = [
        ("model = \"of/home\"", "", "of/variable"),
        ("", "", "of/variable"),
        ("model = \"of/home\"", "model = \"of/context\"", "of/context"),
    ];
    for (home, context, model) in table {
        let server = ModelServer::start(answers());
        let room = with_settings(home, context)
            .with("CHIBI_MODEL", "of/variable")
            .with("CHIBI_API_KEY", "sk-of-chibi");
        let base = server.url();
        room.config(&format!("[providers.openrouter]\nbase_url = \"{base}\"\n"));
        plugin(
            &room,
            "spy",
            &bash("spy", ",\"hooks\":[\"pre_tool\"]", "env > of_plugin; echo '{}'"),
        );
        let hooks =
            room.hooks("[[hook]]\nevent = \"pre_tool\"\ncommand = \"cat > payload; env > of_hook\"\n");
        let run = room
            .run(["--yes", "--json", "-c", "work", "--hooks", &hooks, "go"])
            .ended_with(0);
        let request = &server.requests()[0];
        assert_eq!(request.json()["model"], model, "{home} {context}");
        assert_eq!(request.header("authorization"), Some("Bearer sk-of-chibi"));
        for file in ["of_tool", "of_hook", "of_plugin", "payload"] {
            assert!(!room.read(file).contains("sk-of-chibi"), "{file}");
        }
        assert!(!run.stdout.contains("sk-of-chibi") && !run.stderr.contains("sk-of-chibi"));
    }
    // A key of the user's own comes first, and without a chibi home neither variable counts.
    let server = ModelServer::start(answers());
    let room = with_settings("", "")
        .with("CHIBI_MODEL", "of/variable")
        .with("CHIBI_API_KEY", "sk-of-chibi")
        .with("OPENROUTER_API_KEY", "sk-own");
    let base = server.url();
    room.config(&format!("[providers.openrouter]\nbase_url = \"{base}\"\n"));
    room.run(["--yes", "go"]).ended_with(0);
    assert_eq!(
        server.requests()[0].header("authorization"),
        Some("Bearer sk-own")
    );
    assert!(!room.read("of_tool").contains("sk-"));
    let room = crate::room()
        .with("CHIBI_MODEL", "of/variable")
        .with("CHIBI_API_KEY", "sk-of-chibi");
    let run = room.run(["--json", "go"]).ended_with(0);
    assert!(run.stdout.contains("rehearsal"), "{run:#?}");
}
