//! Addresses of the web: the policy, what decides about a fetch, where redirects lead, and the limits.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, Response, Room};

use crate::room;

fn page(words: &str) -> Response {
    Response::new(200, "text/plain", words)
}

fn redirect(to: &str) -> Response {
    Response::new(302, "text/plain", "").header("Location", to)
}

/// The address of a server, with `localhost` in the place of its number.
fn by_name(server: &ModelServer) -> String {
    server.url().replace("127.0.0.1", "localhost")
}

/// Lets the model fetch an address, in a room with these settings.
fn fetch(room: &Room, config: &str, url: &str, more: &[&str]) -> Finished {
    room.config(config);
    let call = json!({"name": "fetch", "arguments": {"url": url}});
    let model = room.model(&json!([{"tool_calls": [call]}, {"text": "went on"}]));
    let arguments = ["--json", "--model", &model, "go"];
    room.run(arguments.iter().chain(more)).ended_with(0)
}

/// What the model was told, and who decided.
#[track_caller]
fn result(run: &Finished) -> (String, Value) {
    let end = &run.events_named("tool_end")[0];
    let decided = &run.events_named("approval_decided")[0];
    (
        end["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
        decided["source"].clone(),
    )
}

fn rows(run: &Finished) -> Vec<Value> {
    run.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

#[test]
fn a_rule_about_an_address_that_never_matches_is_an_error_with_its_line() {
    let room = room();
    for (list, rule) in [
        ("deny", "fetch:url=/admin/*"),
        ("ask", "fetch:url=127.0.0.1/*"),
        ("allow", "fetch:url=*127.0.0.1*"),
        ("allow", "fetch:url=https://example.com*"),
    ] {
        room.config(&format!("[permissions]\n{list} = [\"{rule}\"]\n"));
        room.run(["go"])
            .ended_with(2)
            .complained(&format!("config.toml:2: permissions.{list}: rule `{rule}`: "));
    }
}

#[test]
fn check_says_the_class_the_rule_and_the_verdict() {
    let room = room();
    room.config(
        "[url_policy]\ndeny_override = [\"preset:cloud_metadata\"]\nallow_override = [\"http://localhost:3000/*\"]\n\
         deny = [\"preset:sensitive\"]\nallow = [\"http://8.8.8.8/*\"]\n",
    );
    let urls = [
        "http://0x7f.1/x",
        "http://LOCALHOST:3000/",
        "http://[::ffff:169.254.169.254]/",
        "http://8.8.8.8/x",
        "http://8.8.4.4/",
        "file:///etc/passwd",
        "http://u:p4ss@8.8.8.8/",
    ];
    let run = room
        .run(["--json", "url", "check"].iter().chain(&urls))
        .ended_with(1);
    assert!(
        !run.stdout.contains("p4ss") && !run.stderr.contains("p4ss"),
        "{run:#?}"
    );
    let found: Vec<[String; 4]> = rows(&run)
        .iter()
        .map(|row| {
            ["url", "class", "verdict", "rule"].map(|name| row[name].as_str().unwrap_or("-").to_owned())
        })
        .collect();
    let expected = [
        ["http://127.0.0.1/x", "loopback", "deny", "deny preset:sensitive"],
        [
            "http://localhost:3000/",
            "loopback",
            "allow",
            "allow_override http://localhost:3000/*",
        ],
        [
            "http://[::ffff:a9fe:a9fe]/",
            "cloud_metadata",
            "deny",
            "deny_override preset:cloud_metadata",
        ],
        ["http://8.8.8.8/x", "-", "allow", "allow http://8.8.8.8/*"],
        ["http://8.8.4.4/", "-", "ask", "default"],
        ["file:///etc/passwd", "unparseable", "deny", "-"],
        ["http://8.8.8.8/", "unparseable", "deny", "-"],
    ];
    assert_eq!(found, expected);
    room.run(["url", "check", "http://8.8.8.8/x", "http://8.8.4.4/"])
        .ended_with(0)
        .said("allow  http://8.8.8.8/x (open internet, 8.8.8.8), by allow http://8.8.8.8/*\n")
        .said("ask    http://8.8.4.4/ (open internet, 8.8.4.4), by default\n");
    room.run(["url", "check", "http://127.0.0.1/"])
        .ended_with(1)
        .said("deny   http://127.0.0.1/ (loopback, 127.0.0.1), by deny preset:sensitive\n");
}

#[test]
fn check_without_a_policy_asks_and_says_so() {
    let room = room();
    room.run(["url", "check", "http://127.0.0.1/"])
        .ended_with(0)
        .said("ask    http://127.0.0.1/ (loopback, 127.0.0.1), by no policy")
        .complained("there is no URL policy");
    room.run(["url", "check"]).ended_with(2);
    room.run(["url", "check", "nonsense"])
        .ended_with(1)
        .said("deny   nonsense: `nonsense` is not an address");
}

#[test]
fn a_rule_that_cannot_be_meant_ends_the_start_with_its_line() {
    for (rule, words) in [
        (
            "deny = [\n\"preset:loopbak\"]",
            "config.toml:3: url_policy.deny: rule `preset:loopbak`",
        ),
        (
            "allow = [\"https://example.com*\"]",
            "config.toml:2: url_policy.allow",
        ),
        ("allow = [\"example.com\"]", "write the whole address"),
        ("default = \"maybe\"", "maybe"),
        ("forbid = []", "forbid"),
    ] {
        let room = room();
        room.config(&format!("[url_policy]\n{rule}\n"));
        for command in [
            &["url", "check", "http://8.8.8.8/"][..],
            &["--model", "rehearsal", "hello"],
        ] {
            room.run(command).ended_with(2).complained(words);
        }
    }
}

// tidy: a table
#[test]
fn a_fetch_is_decided_by_the_policy_or_by_the_person() {
    // tidy: a table
    let loopback_allowed = "[url_policy]\nallow = [\"preset:loopback\"]\n";
    let loopback_denied = "[url_policy]\ndeny = [\"preset:loopback\"]\ndefault = \"allow\"\n";
    let cases: [(&str, &[&str], &str, &str); 12] = [
        ("", &[], "headless", "127.0.0.1 is a loopback address"),
        ("", &["--yes"], "yes", "the page"),
        (loopback_allowed, &[], "url_policy", "the page"),
        (
            loopback_denied,
            &["--yes"],
            "url_policy",
            "the URL policy denies http://127.0.0.1",
        ),
        (
            "[url_policy]\ndefault = \"allow\"\n",
            &[],
            "url_policy",
            "the page",
        ),
        (
            "[url_policy]\ndefault = \"deny\"\n",
            &["--yes"],
            "url_policy",
            "by default",
        ),
        ("[url_policy]\n", &[], "headless", "it needs approval"),
        // A rule that does not speak of the address does not mean this machine.
        (
            "[permissions]\nallow = [\"fetch\"]\n",
            &[],
            "headless",
            "is a loopback address",
        ),
        (
            "[permissions]\nallow = [\"fetch:url=http://127.0.0.1:*\"]\n",
            &[],
            "allow_rule",
            "the page",
        ),
        (
            "[permissions]\nallow = [\"fetch:url=http://*.0.0.1:*\"]\n",
            &[],
            "headless",
            "is a loopback address",
        ),
        (
            "[permissions]\ndeny = [\"fetch:url=http://127.0.0.1:*\"]\n",
            &["--yes"],
            "deny_rule",
            "denies it",
        ),
        (
            "[url_policy]\nallow = [\"preset:loopback\"]\n[permissions]\nask = [\"fetch\"]\n",
            &[],
            "headless",
            "loopback",
        ),
    ];
    for (config, more, source, words) in cases {
        let server = ModelServer::start([page("the page")]);
        // However it is written, it is judged by where it leads.
        let url = server.url().replace("127.0.0.1", "0x7f.1");
        let run = fetch(&room(), config, &url, more);
        let (text, decided) = result(&run);
        assert_eq!(decided, source, "{config} {more:?}: {text}");
        assert!(text.contains(words), "{config} {more:?}: {text}");
        assert_eq!(
            server.requests().len(),
            usize::from(words == "the page"),
            "{config}"
        );
    }
}

#[test]
fn a_redirect_is_judged_like_the_first_address() {
    let policy = |server: &ModelServer| {
        let allowed = by_name(server);
        format!("[url_policy]\nallow_override = [\"{allowed}/*\"]\ndeny = [\"preset:loopback\"]\n")
    };
    let server = ModelServer::start([redirect("/b"), page("the end")]);
    let run = fetch(&room(), &policy(&server), &format!("{}/a", by_name(&server)), &[]);
    let (text, _) = result(&run);
    assert_eq!(text, format!("[Redirected to {}/b]\nthe end", by_name(&server)));
    let asked = run.events_named("pre_fetch");
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0]["redirected_from"], Value::Null);
    assert_eq!(
        asked[1]["redirected_from"],
        json!(format!("{}/a", by_name(&server)))
    );

    let secret = ModelServer::start([page("the secret")]);
    let server = ModelServer::start([redirect(&secret.url())]);
    let run = fetch(&room(), &policy(&server), &by_name(&server), &["--yes"]);
    let (text, _) = result(&run);
    assert!(
        text.contains("that is refused: the URL policy denies http://127.0.0.1"),
        "{text}"
    );
    assert!(secret.requests().is_empty());

    let hooks = "[[hook]]\nevent = \"pre_fetch\"\nmatch = { url = { glob = \"*/secret\" } }\n\
                 command = [\"echo\", '{\"verdict\":{\"deny\":\"not there\"}}']\n";
    let server = ModelServer::start([redirect("/secret"), page("the secret")]);
    let room = room();
    let hooks = room.hooks(hooks);
    let run = fetch(&room, "", &server.url(), &["--yes", "--hooks", &hooks]);
    let (text, _) = result(&run);
    assert!(text.contains("not there"), "{text}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_redirect_that_needs_a_yes_is_a_call_of_its_own() {
    let only_a = |rule: &str| {
        let (policy, rules) = (
            "[url_policy]\nallow = [\"URL/a\"]\n",
            "[permissions]\nallow = [\"fetch:url=URL/a\"]\n",
        );
        if rule == "policy" { policy } else { rules }
    };
    for (rule, more, followed) in [
        ("policy", &[][..], false),
        ("rules", &[], false),
        ("policy", &["--yes"], true),
    ] {
        let server = ModelServer::start([redirect("/b"), page("the end")]);
        let config = only_a(rule).replace("URL", &server.url());
        let run = fetch(&room(), &config, &format!("{}/a", server.url()), more);
        let (text, _) = result(&run);
        assert_eq!(text.contains("the end"), followed, "{rule} {more:?}: {text}");
        assert_eq!(
            server.requests().len(),
            1 + usize::from(followed),
            "{rule} {more:?}"
        );
    }
}

#[test]
fn the_limits_can_be_set() {
    let cases = [
        (
            "fetch_bytes = 4",
            "the \n[The answer is longer than 4 bytes; the rest was not read.]",
        ),
        ("fetch_redirects = 0", "redirects are not followed"),
        ("fetch_redirects = 1", "there are more than 1 redirects"),
        ("fetch_timeout = 1", "there was no whole answer within 1 seconds"),
    ];
    for (setting, words) in cases {
        let answers = match setting {
            "fetch_bytes = 4" => vec![page("the page")],
            "fetch_timeout = 1" => vec![page("late").after(std::time::Duration::from_secs(60))],
            _ => vec![redirect("/a"), redirect("/b"), page("x")],
        };
        let server = ModelServer::start(answers);
        let run = fetch(
            &room(),
            &format!("[tools]\n{setting}\n"),
            &server.url(),
            &["--yes"],
        );
        let (text, _) = result(&run);
        assert!(text.contains(words), "{setting}: {text}");
    }
    let room = room();
    for setting in [
        "fetch_bytes = 0",
        "fetch_timeout = 0",
        "fetch_timeout = 99999999",
        "fetch_redirects = -1",
    ] {
        room.config(&format!("[tools]\n{setting}\n"));
        room.run(["config"]).ended_with(2).complained("config.toml:2");
    }
}

/// A proxy could connect to whatever it likes, so none is used.
#[test]
fn a_proxy_of_the_environment_is_not_used() {
    let (server, proxy) = (
        ModelServer::start([page("the page")]),
        ModelServer::start([page("the proxy")]),
    );
    let mut room = room();
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        room = room.with(name, &proxy.url());
    }
    let (text, _) = result(&fetch(&room, "", &server.url(), &["--yes"]));
    assert_eq!(text, "the page");
    assert!(proxy.requests().is_empty());
}

#[test]
fn a_chibi_home_brings_its_policy_and_a_context_its_own() {
    let room = room();
    let url = "http://127.0.0.1:9/";
    let check = |code: i32, words: &str| {
        room.run(["-C", "work", "url", "check", url])
            .ended_with(code)
            .said(words);
    };
    room.write(
        "../home/.chibi/config.toml",
        "model = \"x\"\n[url_policy]\ndeny = [\"preset:loopback\"]\n",
    );
    check(1, "by deny preset:loopback");
    room.run(["url", "check", "http://8.8.8.8/"])
        .ended_with(0)
        .said("allow ");
    // The user's own settings count more, those of the context most.
    room.config("[url_policy]\nallow = [\"preset:loopback\"]\ndeny_override = [\"http://127.0.0.1:10/*\"]\n");
    check(0, "by allow preset:loopback");
    room.write(
        "../home/.chibi/contexts/work/local.toml",
        "[url_policy]\ndefault = \"deny\"\n",
    );
    check(1, "by default");
    room.run(["url", "check", url]).ended_with(0);
    room.write(
        "../home/.chibi/contexts/work/local.toml",
        "[url_policy]\nallow_override = [\"*\"]\n",
    );
    check(0, "by allow_override *");
    // What the user denies before everything else stays denied.
    room.run(["-C", "work", "url", "check", "http://127.0.0.1:10/"])
        .ended_with(1)
        .said("by deny_override http://127.0.0.1:10/*");
    for (text, words) in [
        (
            "[url_policy]\nallow = [\"example.com\"]\n",
            "local.toml: url_policy.allow: rule `example.com`",
        ),
        ("[url_policy]\ndefault = \"maybe\"\n", "local.toml: line 2"),
    ] {
        room.write("../home/.chibi/contexts/work/local.toml", text);
        room.run(["-C", "work", "url", "check", url])
            .ended_with(2)
            .complained(words);
        room.run(["-C", "work", "--model", "rehearsal", "hello"])
            .ended_with(2)
            .complained(words);
    }
}

#[test]
fn a_page_reads_well() {
    let html = "<html><head><title>The page</title></head><body><h1>News</h1><p>Run <code>ls</code> or see \
                <a href=\"/more\">more</a>.</p><ol><li>one</li><li>two<ul><li>deep</li></ul></li></ol>\
                <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>\
                <pre>\nx\n  y</pre><script>evil()</script></body></html>";
    let server = ModelServer::start([Response::new(200, "text/html; charset=utf-8", html)]);
    let (text, _) = result(&fetch(&room(), "", &server.url(), &["--yes"]));
    let expected = format!(
        "The page\n\n# News\n\nRun `ls` or see [more]({}/more).\n\n1. one\n2. two\n  - deep\n\na | b\n1 | 2\n\n```\nx\n  \
         y\n```",
        server.url()
    );
    assert_eq!(text, expected);
}
