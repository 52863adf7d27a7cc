//! The network of the profile `workspace+network`: commands reach what is allowed, through a proxy, and nothing else.

use serde_json::json;
use testkit::{Finished, ModelServer, Response, Room, needs};

use super::{can_confine, project};

/// Asks the proxy for an address and prints the status, and the answer in one line. `through` a tunnel, or not.
const CLIENT: &str = r"
import http.client, os, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ['http_proxy'])
way, method, url, body = (sys.argv[1:] + ['', ''])[:4]
connection = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=20)
target = urllib.parse.urlsplit(url)
headers = {'Host': 'elsewhere.example', 'X-Kept': 'kept', 'X-Dropped': 'x', 'Connection': 'X-Dropped'}
try:
    if way == 'tunnel':
        connection.set_tunnel(target.hostname, target.port)
        connection.request(method, target.path)
    else:
        connection.request(method, url, body or None, headers)
    answer = connection.getresponse()
    print(answer.status, answer.read().decode().strip())
except OSError as error:
    print(error)
";

/// A project with the client, settings, and a server on this machine's own loopback, which no command can reach by
/// itself.
struct Scene {
    room: Room,
    server: ModelServer,
}

impl Scene {
    /// The scene, if this machine can confine. `SERVER` in the settings is the server with its port.
    fn set(settings: &str) -> Option<Self> {
        let room = project();
        if !needs("python3") || !can_confine(&room) {
            return None;
        }
        let server = ModelServer::answering(|request| match request.path.as_str() {
            "/elsewhere" => Response::new(302, "text/plain", "").header("Location", "/secret"),
            path => Response::new(200, "text/plain", format!("{path} {}", request.text())),
        });
        room.write("client.py", CLIENT);
        let address = server.url().replace("http://", "");
        room.config(&settings.replace("SERVER", &address));
        Some(Self { room, server })
    }

    fn sandboxed(&self, words: &[&str]) -> Finished {
        let all = ["--sandbox", "workspace+network", "sandbox", "run", "--"];
        self.room.run([&all, words].concat())
    }

    /// Lets the model run a command, with a yes to every question.
    fn by_the_model(&self, line: &str) -> Finished {
        let model = self.room.model(&json!([
            {"tool_calls": [{"name": "shell", "arguments": {"command": line}}]},
            {"text": "done"},
        ]));
        let options = ["--yes", "--json", "--sandbox", "workspace+network"];
        let ended = self.room.run([&options[..], &["--model", &model, "go"]].concat());
        ended.ended_with(0)
    }

    /// What the client prints about a path of the server.
    fn ask(&self, way: &str, method: &str, path: &str) -> String {
        let url = format!("{}{path}", self.server.url());
        let asked = self.sandboxed(&["python3", "client.py", way, method, &url]);
        asked.ended_with(0).stdout
    }
}

#[test]
fn a_command_reaches_the_addresses_that_are_allowed_and_no_others() {
    let Some(scene) =
        Scene::set("[url_policy]\nallow = [\"http://SERVER/page*\", \"http://SERVER/elsewhere\"]\n")
    else {
        return;
    };
    assert_eq!(scene.ask("plain", "GET", "/page?x=1"), "200 /page?x=1\n");
    let refused = scene.ask("plain", "GET", "/secret");
    assert!(
        refused.starts_with("403 becket: nothing allows http://"),
        "{refused}"
    );
    // A redirect is for the client, and what it asks for then is judged like everything else.
    assert_eq!(scene.ask("plain", "GET", "/elsewhere").trim(), "302");
    let denied = scene.ask("plain", "GET", "/page/..%2fsecret");
    assert!(denied.starts_with("403 "), "{denied}");
    // A name that nothing allows is not looked up, which would tell it to others.
    let url = "http://s3cret.nowhere.invalid/";
    scene
        .sandboxed(&["python3", "client.py", "plain", "GET", url])
        .said("403 becket: nothing allows http://s3cret.nowhere.invalid/");
    let paths: Vec<String> = scene
        .server
        .requests()
        .into_iter()
        .map(|request| request.path)
        .collect();
    assert_eq!(paths, ["/page?x=1", "/elsewhere"]);
}

#[test]
fn a_request_arrives_as_it_was_sent_at_the_server_that_was_judged() {
    let Some(scene) = Scene::set("[url_policy]\nallow = [\"http://SERVER/*\"]\n") else {
        return;
    };
    let url = format!("{}/things", scene.server.url());
    scene
        .sandboxed(&["python3", "client.py", "plain", "POST", &url, "a body"])
        .ended_with(0)
        .said("200 /things a body");
    let request = scene.server.only_request();
    assert_eq!(request.method, "POST");
    assert_eq!(
        request.header("host"),
        Some(&*scene.server.url().replace("http://", ""))
    );
    assert_eq!(request.header("x-kept"), Some("kept"));
    assert_eq!(request.header("x-dropped"), None);
}

#[test]
fn a_tunnel_needs_a_rule_for_the_whole_server() {
    let pages = "[url_policy]\nallow = [\"*://SERVER/page*\"]\n";
    let whole = "[url_policy]\nallow = [\"*://SERVER/*\"]\n";
    let but_one = "[url_policy]\nallow = [\"*://SERVER/*\"]\ndeny = [\"*://SERVER/secret*\"]\n";
    for (settings, expected) in [(pages, "403"), (whole, "200 /page"), (but_one, "403")] {
        let Some(scene) = Scene::set(settings) else { return };
        let answer = scene.ask("tunnel", "GET", "/page");
        assert!(answer.contains(expected), "{settings}: {answer}");
        assert_eq!(
            scene.server.requests().len(),
            usize::from(settings == whole),
            "{settings}"
        );
        // What is not encrypted can be judged by its path.
        assert_eq!(scene.ask("plain", "GET", "/page"), "200 /page\n", "{settings}");
    }
}

#[test]
fn without_a_rule_nothing_is_reached_whatever_the_user_answers() {
    let Some(scene) = Scene::set("") else { return };
    let line = format!("python3 client.py plain GET {}/page; exit 3", scene.server.url());
    scene
        .by_the_model(&line)
        .said("403 becket: nothing allows http://127.0.0.1")
        .said("not reached: nothing allows http://127.0.0.1");
    assert!(scene.server.requests().is_empty());
}

#[test]
fn only_the_proxy_leads_out() {
    let Some(scene) = Scene::set("[url_policy]\nallow = [\"*://SERVER/*\"]\n") else {
        return;
    };
    let port = scene.server.url().rsplit(':').next().expect("a port").to_owned();
    let code = format!("import socket; socket.create_connection(('127.0.0.1', {port}), 5)");
    scene
        .sandboxed(&["python3", "-c", &code])
        .ended_with(1)
        .complained("refused");
    // Its own loopback is there.
    let code = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname(), 5)";
    scene.sandboxed(&["python3", "-c", code]).ended_with(0);
    assert!(scene.server.requests().is_empty());
}

#[test]
fn guards_and_rules_about_fetching_count_for_commands() {
    let allow = "[url_policy]\nallow = [\"http://SERVER/*\"]\n";
    let rule = |list: &str| format!("{allow}[permissions]\n{list} = [\"fetch:url=http://SERVER/page*\"]\n");
    let guard = "[[hook]]\nevent = \"pre_fetch\"\ncommand = \"echo no pages >&2; exit 2\"\n";
    for (settings, why) in [
        (rule("deny"), "the rule `fetch:url="),
        (rule("ask"), "requires asking the user"),
        (format!("{allow}{guard}"), "no pages"),
    ] {
        let Some(scene) = Scene::set(&settings) else {
            return;
        };
        let line = format!("python3 client.py plain GET {}/page", scene.server.url());
        scene.by_the_model(&line).said("403 becket: ").said(why);
        assert!(scene.server.requests().is_empty(), "{settings}");
    }
}

#[test]
fn a_job_keeps_its_network_after_the_call() {
    let Some(scene) = Scene::set("[url_policy]\nallow = [\"http://SERVER/*\"]\n") else {
        return;
    };
    let job = format!(
        "until [ -e go ]; do sleep 0.1; done; python3 client.py plain GET {}/page > seen",
        scene.server.url()
    );
    let model = scene.room.model(&json!([
        {"tool_calls": [{"name": "run_background_job", "arguments": {"cmd": job}}]},
        {"tool_calls": [{"name": "shell", "arguments": {"cmd": "touch go; until [ -s seen ]; do sleep 0.1; done"}}]},
        {"text": "done"},
    ]));
    let profile = [
        "--yes",
        "--sandbox",
        "workspace+network",
        "--tools",
        "docker-agent",
    ];
    scene
        .room
        .run([&profile[..], &["--model", &model, "go"]].concat())
        .ended_with(0);
    assert_eq!(scene.room.read("seen"), "200 /page\n");
}

#[test]
fn explain_says_that_there_is_a_network() {
    let Some(scene) = Scene::set("") else { return };
    let words = ["--sandbox", "workspace+network", "sandbox", "explain"];
    scene.room.run(words).ended_with(0).said("through a proxy");
    let shown = scene.room.run([&["--json"], &words[..]].concat()).ended_with(0);
    assert_eq!(shown.events()[0]["network"], true);
}

#[test]
fn explain_says_how_far_a_command_would_get() {
    let Some(scene) = Scene::set("[url_policy]\nallow = [\"http://SERVER/page*\"]\n") else {
        return;
    };
    let url = scene.server.url();
    let line =
        format!("curl --url={url}/page {url}/secret > new/file; cp .env becket.toml; cat $FILE /etc/hosts");
    let explain = [
        "--sandbox",
        "workspace+network",
        "sandbox",
        "explain",
        "--",
        &line,
    ];
    let explained = scene.room.run(explain).ended_with(0);
    for expected in [
        format!("--url={url}/page: can be reached"),
        format!("{url}/secret: cannot be reached: nothing allows"),
        "new/file: can be read and written\n".to_owned(),
        ".env: hidden".to_owned(),
        "becket.toml: can be read\n".to_owned(),
        "/etc/hosts: can be read\n".to_owned(),
        "$FILE: not known before it runs".to_owned(),
    ] {
        assert!(
            explained.stdout.contains(&format!("  {expected}")),
            "{expected}: {explained:?}"
        );
    }
    scene
        .room
        .run(["sandbox", "explain", "--", "curl", &format!("{url}/page")])
        .said("cannot be reached: there is no network");
    assert!(scene.server.requests().is_empty() && !scene.room.has("new"));
}
