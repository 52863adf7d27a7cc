//! Fetching behind the real gate: what was judged is where the connection goes, from the first address to the last.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becket_agent::Hooks;
use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer, user_at};
use becket_agent::gate::{Applicant, ApprovalSettings, Gate, Judgement};
use becket_agent::tool::{Tool, ToolOutput, ToolRun};
use becket_agent::url_policy::{PolicyLists, Resolver, UrlJudge, UrlPolicy, UrlVerdict};
use becket_agent::vfs::Vfs;
use becket_events::{Part, PermissionMode, PreFetch, PreFetchReply, Profile, Scope, Strictest, Verdict};
use becket_hooks::Engine;
use becket_tools::{ToolSettings, operation_tools};
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// A user who gives one answer, and remembers how often they were asked.
struct Person(UserAnswer, Mutex<Vec<String>>);

impl Front for Person {
    fn show(&self, _: FrontUpdate<'_>) {}

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer> {
        self.1
            .lock()
            .unwrap()
            .push(question.reason.clone().unwrap_or_default());
        let answer = match &self.0 {
            UserAnswer::Yes => UserAnswer::Yes,
            UserAnswer::YesAgain => UserAnswer::YesAgain,
            _ => UserAnswer::Nobody,
        };
        Box::pin(async move { answer })
    }
}

/// A name server whose answers to each question for a host come one after the other; the last one stays.
#[derive(Default)]
struct Names(Mutex<Vec<(String, VecDeque<Vec<IpAddr>>)>>);

impl Names {
    fn with(self, host: &str, answers: &[&[&str]]) -> Self {
        let answers = answers
            .iter()
            .map(|answer| answer.iter().map(|ip| ip.parse().unwrap()).collect());
        self.0.lock().unwrap().push((host.to_owned(), answers.collect()));
        self
    }
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>> {
        let mut names = self.0.lock().unwrap();
        let found = names
            .iter_mut()
            .find(|(name, _)| name == host)
            .map(|(_, answers)| match answers.len() {
                1 => answers[0].clone(),
                _ => answers.pop_front().unwrap(),
            });
        Box::pin(async move { found.ok_or_else(|| "there is no such host".to_owned()) })
    }
}

/// A web server that answers from a list and keeps the requests.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn at(address: &str, answers: Vec<String>) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = stream.read_u8().await else { break };
                    head.push(byte);
                }
                seen.lock()
                    .unwrap()
                    .push(String::from_utf8_lossy(&head).into_owned());
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { address, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    fn port(&self) -> u16 {
        self.address.port()
    }
}

fn page(words: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{words}",
        words.len()
    )
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
}

fn policy(allow_override: &[&str], deny: &[&str], default: UrlVerdict) -> Option<UrlPolicy> {
    let own = |rules: &[&str]| rules.iter().map(ToString::to_string).collect();
    let lists = PolicyLists {
        allow_override: own(allow_override),
        deny: own(deny),
        ..PolicyLists::default()
    };
    Some(UrlPolicy::parse(&lists, default).unwrap())
}

/// Everything that judges a fetch.
struct World {
    policy: Option<UrlPolicy>,
    names: Names,
    person: UserAnswer,
    yes: bool,
    engine: Engine,
    redirects: usize,
}

impl Default for World {
    fn default() -> Self {
        Self {
            policy: None,
            names: Names::default(),
            person: UserAnswer::Nobody,
            yes: false,
            engine: Engine::new(None),
            redirects: 10,
        }
    }
}

/// The output of a fetch, and how often the user was asked.
struct Told {
    result: Result<ToolOutput, String>,
    questions: Vec<String>,
}

impl Told {
    fn text(&self) -> &str {
        match &self.result {
            Ok(output) => match output.content.as_slice() {
                [Part::Text { text }] => text,
                other => panic!("one text expected: {other:?}"),
            },
            Err(reason) => reason,
        }
    }

    fn is_error(&self) -> bool {
        self.result.as_ref().map_or(true, |output| output.is_error)
    }
}

impl World {
    /// Fetches the addresses one after the other, in one session.
    async fn fetch_all(self, urls: &[&str]) -> Vec<Told> {
        let folder = tempfile::tempdir().unwrap();
        let person = Arc::new(Person(self.person, Mutex::default()));
        let mode = match self.yes {
            true => PermissionMode::Yes,
            false => PermissionMode::Ask,
        };
        let approval = ApprovalSettings {
            mode: mode.into(),
            urls: UrlJudge::new(self.policy).with_resolver(Arc::new(self.names)),
            ..ApprovalSettings::default()
        };
        let gate = Gate::new(
            approval,
            folder.path(),
            Vfs::new(&folder.path().join("vfs")),
            user_at(person.clone()),
        );
        let hooks = Hooks::new(
            Arc::new(self.engine),
            user_at(person.clone()),
            CancellationToken::new(),
            Scope::default(),
        );
        let settings = ToolSettings {
            fetch_redirects: self.redirects,
            fetch_timeout: Duration::from_secs(20),
            ..ToolSettings::default()
        };
        let tools = operation_tools(&Profile::own(), settings);
        let fetch: &Arc<dyn Tool> = tools.iter().find(|tool| tool.spec().own_name == "fetch").unwrap();
        let mut told = Vec::new();
        for url in urls {
            let arguments = fetch
                .normalise(json!({"url": url}).as_object().unwrap().clone())
                .unwrap();
            let applicant = Applicant {
                tool_call_id: "call",
                tool: &&**fetch,
                arguments: &arguments,
                parent_tool_call_id: None,
            };
            let result = match gate.judge(&hooks, applicant).await {
                Judgement::Refused { reason, .. } => Err(reason),
                Judgement::Permitted(permit) => {
                    let run = ToolRun {
                        parent: None,
                        progress: tokio::sync::mpsc::unbounded_channel().0,
                        cancel: CancellationToken::new(),
                    };
                    Ok(fetch.run(permit, run).await)
                }
            };
            let questions = std::mem::take(&mut *person.1.lock().unwrap());
            told.push(Told { result, questions });
        }
        told
    }

    async fn fetch(self, url: &str) -> Told {
        self.fetch_all(&[url]).await.remove(0)
    }
}

/// The name server answers differently between the judgement and the connection.
#[tokio::test]
async fn a_connection_goes_to_the_address_that_was_judged() {
    let first = Server::at("127.0.0.1:0", vec![page("the first")]).await;
    let port = first.port();
    let second = Server::at(&format!("127.0.0.2:{port}"), vec![page("the second")]).await;
    let names = Names::default().with("fickle.example", &[&["127.0.0.1"], &["127.0.0.2"]]);
    let told = World {
        names,
        policy: policy(
            &[&format!("http://fickle.example:{port}/*")],
            &["preset:loopback"],
            UrlVerdict::Ask,
        ),
        ..World::default()
    };
    let told = told.fetch(&format!("http://fickle.example:{port}/x")).await;
    assert_eq!(told.text(), "the first");
    assert_eq!(first.requests().len(), 1);
    assert!(
        first.requests()[0]
            .to_lowercase()
            .contains("host: fickle.example")
    );
    assert!(second.requests().is_empty(), "the second answer is never used");
}

/// First the open internet, then this machine: a yes to the first is none to the second.
#[tokio::test]
async fn a_public_answer_does_not_become_a_loopback_one() {
    let server = Server::at("127.0.0.1:0", vec![page("the secret")]).await;
    // No server is at this address, and some networks swallow what is sent there, so the attempt is short.
    let names = Names::default().with("fickle.example", &[&["203.0.113.1"], &["127.0.0.1"]]);
    let folder = tempfile::tempdir().unwrap();
    let person = user_at(Arc::new(Person(UserAnswer::Yes, Mutex::default())));
    let approval = ApprovalSettings {
        mode: PermissionMode::Yes.into(),
        urls: UrlJudge::new(None).with_resolver(Arc::new(names)),
        ..ApprovalSettings::default()
    };
    let gate = Gate::new(
        approval,
        folder.path(),
        Vfs::new(&folder.path().join("vfs")),
        person.clone(),
    );
    let hooks = Hooks::new(
        Arc::new(Engine::new(None)),
        person,
        CancellationToken::new(),
        Scope::default(),
    );
    let tools = operation_tools(&Profile::own(), ToolSettings::default());
    let fetch = tools.iter().find(|tool| tool.spec().own_name == "fetch").unwrap();
    let arguments = json!({"url": format!("http://fickle.example:{}/", server.port()), "timeout_seconds": 1});
    let arguments = fetch.normalise(arguments.as_object().unwrap().clone()).unwrap();
    let applicant = Applicant {
        tool_call_id: "call",
        tool: &&**fetch,
        arguments: &arguments,
        parent_tool_call_id: None,
    };
    let Judgement::Permitted(permit) = gate.judge(&hooks, applicant).await else {
        panic!("everything is answered with yes")
    };
    let run = ToolRun {
        parent: None,
        progress: tokio::sync::mpsc::unbounded_channel().0,
        cancel: CancellationToken::new(),
    };
    assert!(fetch.run(permit, run).await.is_error);
    assert!(server.requests().is_empty());
}

/// A redirect to the same host, which is looked up anew and now has another address.
#[tokio::test]
async fn a_redirect_to_the_same_name_is_judged_by_its_new_address() {
    let first = Server::at("127.0.0.1:0", vec![redirect("/again")]).await;
    let port = first.port();
    let second = Server::at(&format!("127.0.0.2:{port}"), vec![page("the secret")]).await;
    let names = Names::default().with("fickle.example", &[&["127.0.0.1"], &["127.0.0.2"]]);
    let told = World {
        names,
        person: UserAnswer::Yes,
        ..World::default()
    };
    let told = told.fetch(&format!("http://fickle.example:{port}/")).await;
    assert!(told.text().contains("That was not followed"), "{}", told.text());
    assert!(second.requests().is_empty());
    assert_eq!(told.questions.len(), 1, "{:?}", told.questions);
}

#[tokio::test]
async fn redirects_are_followed_and_each_is_judged() {
    let server = Server::at(
        "127.0.0.1:0",
        vec![redirect("/two"), redirect("three?x=1#y"), page("the end")],
    )
    .await;
    let engine = Engine::new(None);
    type Seen = Vec<(Option<String>, Option<String>)>;
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let notes = Arc::clone(&seen);
    engine.on::<PreFetch>("witness", move |occasion| {
        let payload = &occasion.payload;
        notes
            .lock()
            .unwrap()
            .push((payload.url.clone(), payload.redirected_from.clone()));
        Ok(PreFetchReply::default())
    });
    let at = |path: &str| format!("http://127.0.0.1:{}/{path}", server.port());
    let told = World {
        person: UserAnswer::Yes,
        engine,
        ..World::default()
    };
    let told = told.fetch(&at("one")).await;
    assert_eq!(
        told.text(),
        format!("[Redirected to {}]\nthe end", at("three?x=1"))
    );
    assert_eq!(
        told.questions.len(),
        1,
        "the user has said yes to this server: {:?}",
        told.questions
    );
    let expected = [
        (Some(at("one")), None),
        (Some(at("two")), Some(at("one"))),
        (Some(at("three?x=1")), Some(at("two"))),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
    let details = told.result.unwrap().details.unwrap();
    assert_eq!(details["redirected_from"], json!([at("one"), at("two")]));
}

/// The first server is allowed by name; from there it redirects to places that are not.
#[tokio::test]
async fn a_redirect_to_a_denied_place_is_refused() {
    for target in [
        "http://127.0.0.1:PORT/secret",
        "//0x7f.1:PORT/",
        "http://[::ffff:127.0.0.1]:PORT/",
        "http://b.example:PORT/",
    ] {
        let secret = Server::at("127.0.0.1:0", vec![page("the secret")]).await;
        let target = target.replace("PORT", &secret.port().to_string());
        let start = Server::at("127.0.0.1:0", vec![redirect(&target)]).await;
        let allowed = format!("http://a.example:{}/*", start.port());
        let world = World {
            names: Names::default()
                .with("a.example", &[&["127.0.0.1"]])
                .with("b.example", &[&["127.0.0.1"]]),
            policy: policy(&[&allowed], &["preset:loopback"], UrlVerdict::Allow),
            yes: true,
            ..World::default()
        };
        let told = world.fetch(&format!("http://a.example:{}/", start.port())).await;
        assert!(
            told.is_error() && told.text().contains("the URL policy denies"),
            "{}",
            told.text()
        );
        assert!(secret.requests().is_empty(), "{target}");
    }
}

#[tokio::test]
async fn a_hook_hears_of_a_redirect_and_may_deny_it() {
    let server = Server::at("127.0.0.1:0", vec![redirect("/secret"), page("the secret")]).await;
    let engine = Engine::new(None);
    engine.on::<PreFetch>("guard", |occasion| {
        let verdict = occasion
            .payload
            .redirected_from
            .as_ref()
            .map(|_| Verdict::Deny("not from there".into()));
        Ok(PreFetchReply {
            verdict: Strictest(verdict),
            ..PreFetchReply::default()
        })
    });
    let world = World {
        engine,
        yes: true,
        ..World::default()
    };
    let told = world.fetch(&format!("http://127.0.0.1:{}/", server.port())).await;
    assert!(
        told.is_error() && told.text().contains("not from there"),
        "{}",
        told.text()
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_redirect_that_needs_a_yes_is_told() {
    let secret = Server::at("127.0.0.1:0", vec![page("the secret")]).await;
    let start = Server::at(
        "127.0.0.1:0",
        vec![redirect(&format!("http://127.0.0.1:{}/", secret.port()))],
    )
    .await;
    let world = World {
        person: UserAnswer::Yes,
        ..World::default()
    };
    let told = world.fetch(&format!("http://127.0.0.1:{}/", start.port())).await;
    assert!(!told.is_error());
    assert!(told.text().contains("is a loopback address"), "{}", told.text());
    assert!(secret.requests().is_empty());
}

/// A yes to one server is none to another, even on the open internet, and what the policy allows is no yes.
#[tokio::test]
async fn a_redirect_is_followed_only_where_nobody_would_be_asked() {
    for (person, target, followed) in [
        (UserAnswer::Yes, "http://open.example/", false),
        (UserAnswer::Yes, "/two", true),
        (UserAnswer::YesAgain, "/two", true),
        (UserAnswer::YesAgain, "http://open.example/", false),
        (UserAnswer::Nobody, "/two", false),
    ] {
        let start = Server::at("127.0.0.1:0", vec![redirect(target), page("the end")]).await;
        let first = format!("http://127.0.0.1:{}/one", start.port());
        let world = World {
            names: Names::default().with("open.example", &[&["93.184.216.34"]]),
            policy: match person {
                UserAnswer::Nobody => policy(&[&first], &[], UrlVerdict::Ask),
                _ => None,
            },
            person,
            ..World::default()
        };
        let told = world.fetch(&first).await;
        assert_eq!(
            told.text().contains("the end"),
            followed,
            "{target}: {}",
            told.text()
        );
        assert_eq!(
            told.text().contains("That was not followed"),
            !followed,
            "{}",
            told.text()
        );
    }
}

#[tokio::test]
async fn too_many_redirects_end_it() {
    let circle = || (0..20).map(|_| redirect("/round")).collect::<Vec<_>>();
    for (redirects, requests, words) in [
        (10, 11, "more than 10 redirects"),
        (2, 3, "more than 2 redirects"),
        (0, 1, "redirects are not followed"),
    ] {
        let server = Server::at("127.0.0.1:0", circle()).await;
        let world = World {
            redirects,
            yes: true,
            ..World::default()
        };
        let told = world.fetch(&format!("http://127.0.0.1:{}/", server.port())).await;
        assert!(told.text().contains(words), "{}", told.text());
        assert_eq!(server.requests().len(), requests);
    }
}

#[tokio::test]
async fn what_a_redirect_must_not_be() {
    for (location, words) in [
        ("file:///etc/passwd", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("http://u:p4ss@127.0.0.1/", "a user name or a password"),
        ("http://[broken", "not an address"),
        ("http://u:p4ss@[broken", "not an address"),
        ("http://127.0.0.1:0/", "port 0"),
    ] {
        let server = Server::at("127.0.0.1:0", vec![redirect(location)]).await;
        let world = World {
            yes: true,
            ..World::default()
        };
        let told = world.fetch(&format!("http://127.0.0.1:{}/", server.port())).await;
        assert!(
            told.is_error() && told.text().contains(words),
            "{location}: {}",
            told.text()
        );
        assert!(!told.text().contains("p4ss"), "{}", told.text());
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn nothing_secret_goes_along() {
    let server = Server::at("127.0.0.1:0", vec![redirect("/b"), page("the end")]).await;
    let world = World {
        yes: true,
        ..World::default()
    };
    world
        .fetch(&format!("http://127.0.0.1:{}/a?token=t0ken", server.port()))
        .await;
    let second = server.requests()[1].to_lowercase();
    for header in ["authorization", "cookie", "referer", "t0ken"] {
        assert!(!second.contains(header), "{second}");
    }
}

/// Who decides, without a policy and with one.
#[tokio::test]
async fn a_sensitive_address_needs_a_yes_and_a_policy_decides() {
    let loopback = &["preset:loopback"][..];
    let allow = || policy(loopback, &[], UrlVerdict::Deny);
    let deny = || policy(&[], loopback, UrlVerdict::Allow);
    let cases = [
        (None, UserAnswer::Nobody, false, Err("is a loopback address"), 1),
        (None, UserAnswer::Yes, false, Ok(()), 1),
        (None, UserAnswer::Nobody, true, Ok(()), 0),
        (allow(), UserAnswer::Nobody, false, Ok(()), 0),
        (deny(), UserAnswer::Yes, true, Err("the URL policy denies"), 0),
        (
            policy(&[], &[], UrlVerdict::Ask),
            UserAnswer::Nobody,
            false,
            Err("is a loopback address"),
            1,
        ),
        (
            policy(&[], &[], UrlVerdict::Allow),
            UserAnswer::Nobody,
            false,
            Ok(()),
            0,
        ),
        (
            policy(&[], &[], UrlVerdict::Deny),
            UserAnswer::Yes,
            true,
            Err("by default"),
            0,
        ),
    ];
    for (number, (policy, person, yes, expected, questions)) in cases.into_iter().enumerate() {
        let server = Server::at("127.0.0.1:0", vec![page("the page")]).await;
        let world = World {
            policy,
            person,
            yes,
            ..World::default()
        };
        let told = world.fetch(&format!("http://127.0.0.1:{}/", server.port())).await;
        match expected {
            Ok(()) => assert_eq!(told.text(), "the page", "{number}"),
            Err(words) => {
                assert!(
                    told.result.is_err() && told.text().contains(words),
                    "{number}: {}",
                    told.text()
                );
                assert!(server.requests().is_empty(), "{number}");
            }
        }
        assert_eq!(told.questions.len(), questions, "{number}");
    }
}

#[tokio::test]
async fn a_yes_for_the_session_is_one_to_this_address_and_where_it_leads_now() {
    let pages = || (0..4).map(|_| page("a")).collect::<Vec<_>>();
    let server = Server::at("127.0.0.1:0", pages()).await;
    let port = server.port();
    let [first, other, moved] =
        ["127.0.0.1", "127.0.0.1", "moves.example"].map(|host| format!("http://{host}:{port}/"));
    let other = format!("{other}other");
    let world = World {
        person: UserAnswer::YesAgain,
        names: Names::default().with("moves.example", &[&["127.0.0.1"], &["127.0.0.2"]]),
        ..World::default()
    };
    let told = world
        .fetch_all(&[&first, &first, &other, &first, &moved, &moved])
        .await;
    let asked: Vec<usize> = told.iter().map(|told| told.questions.len()).collect();
    assert_eq!(asked, [1, 0, 1, 0, 1, 1]);
}

#[tokio::test]
async fn a_policy_allows_and_the_hook_may_still_deny() {
    let server = Server::at("127.0.0.1:0", vec![page("the secret")]).await;
    let engine = Engine::new(None);
    engine.on::<PreFetch>("guard", |occasion| {
        assert_eq!(occasion.payload.sensitive.as_deref(), Some("loopback"));
        assert_eq!(occasion.payload.addresses, ["127.0.0.1"]);
        Ok(PreFetchReply {
            verdict: Strictest(Some(Verdict::Deny("never".into()))),
            ..PreFetchReply::default()
        })
    });
    let world = World {
        policy: policy(&["*"], &[], UrlVerdict::Allow),
        engine,
        ..World::default()
    };
    let told = world.fetch(&format!("http://127.1:{}/", server.port())).await;
    assert_eq!(told.text(), "never");
    assert!(server.requests().is_empty());
}
