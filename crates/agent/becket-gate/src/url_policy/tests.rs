//! The table of addresses, and the laws of the lists.

use proptest::prelude::*;

use super::*;

/// A name server with a few peculiar hosts; all others are on the open internet.
struct Table;

impl Resolver for Table {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>> {
        let addresses: &[&str] = match host {
            "nowhere.example" => &[],
            "empty.example" => return Box::pin(async { Ok(Vec::new()) }),
            "rebind.example" | "127.0.0.1.nip.example" | "liar.allowed.example" => &["127.0.0.1"],
            "six-loop.example" => &["::1"],
            "six.example" => &["2606:4700::1"],
            "mixed.example" => &["93.184.216.34", "10.0.0.1"],
            "inside.example" | "wiki.corp.example" => &["10.1.2.3"],
            "cloud.example" | "metadata.example" => &["169.254.169.254"],
            "mapped-cloud.example" => &["::ffff:169.254.169.254"],
            "mapped.example" => &["::ffff:9.9.9.9"],
            "zero.example" => &["0.0.0.0"],
            _ => &["93.184.216.34"],
        };
        let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        Box::pin(async move {
            match addresses.is_empty() {
                true => Err("there is no such host".to_owned()),
                false => Ok(addresses),
            }
        })
    }
}

fn lists(deny_override: &[&str], allow_override: &[&str], deny: &[&str], allow: &[&str]) -> PolicyLists {
    let own = |rules: &[&str]| rules.iter().map(ToString::to_string).collect();
    PolicyLists {
        deny_override: own(deny_override),
        allow_override: own(allow_override),
        deny: own(deny),
        allow: own(allow),
    }
}

fn judge_with(lists: &PolicyLists, default: PolicyDefault) -> UrlJudge {
    let policy = UrlPolicy::parse(lists, default).unwrap();
    UrlJudge::new(Some(policy)).with_resolver(Arc::new(Table))
}

/// The policy of the table.
fn judge() -> UrlJudge {
    let lists = lists(
        &["preset:cloud_metadata", "*://*.forbidden.example/*"],
        &["http://localhost:3000/*", "https://wiki.corp.example/*"],
        &[
            "preset:loopback",
            "preset:private_network",
            "preset:link_local",
            "preset:reserved",
            "https://example.org:443/private/*",
            "https://files.example/admin/*",
            "https://whole.example",
            "*badhost.example",
        ],
        &[
            "https://docs.example/*",
            "https://*.allowed.example/*",
            "https://files.example/public/*",
            "https://git.example/projects/a%2Fb/*",
        ],
    );
    judge_with(&lists, UrlVerdict::Ask)
}

#[tokio::test]
async fn a_metadata_service_is_denied_under_every_name_unless_it_is_allowed_as_such() {
    let (named, own) = ("http://cloud.example/*", "http://169.254.169.254/*");
    let table = [
        (lists(&[], &[], &[], &[named]), UrlVerdict::Deny),
        (lists(&[], &[], &[], &[own]), UrlVerdict::Deny),
        (lists(&[], &[], &[], &["*"]), UrlVerdict::Deny),
        (lists(&[], &[], &[], &["preset:sensitive"]), UrlVerdict::Deny),
        (lists(&[], &[], &[], &[]), UrlVerdict::Deny),
        (
            lists(&[], &[], &[], &["preset:cloud_metadata"]),
            UrlVerdict::Allow,
        ),
        (lists(&[], &[named], &[], &[]), UrlVerdict::Allow),
    ];
    for (lists, expected) in table {
        for default in [UrlVerdict::Ask, UrlVerdict::Allow] {
            let judge = judge_with(&lists, default);
            let judged = judge.judge("http://cloud.example/latest/").await.unwrap();
            assert_eq!(judged.ruling().verdict, expected, "{lists:?}");
        }
    }
    let judge = judge_with(&lists(&[], &[], &[], &[named]), UrlVerdict::Ask);
    let judged = judge.judge("http://cloud.example/").await.unwrap();
    assert!(judged.denied().unwrap().contains("allow_override"), "{judged:?}");
}

/// An address of the table with its escapes resolved.
fn unescaped(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        result.push_str(before);
        let (character, length) = match after.as_bytes()[0] {
            b't' => ('\t', 1),
            b'n' => ('\n', 1),
            b'r' => ('\r', 1),
            b'u' => {
                let (code, _) = after[2..].split_once('}').unwrap();
                (
                    u32::from_str_radix(code, 16)
                        .ok()
                        .and_then(char::from_u32)
                        .unwrap(),
                    code.len() + 3,
                )
            }
            _ => ('\\', 1),
        };
        result.push(character);
        rest = &after[length..];
    }
    result + rest
}

#[tokio::test]
async fn every_address_of_the_table_is_what_it_is() {
    let rows: Vec<&str> = include_str!("addresses.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    assert!(rows.len() >= 300, "{} rows", rows.len());
    let judge = judge();
    let mut wrong = Vec::new();
    for row in rows {
        let mut words = row.splitn(3, ' ');
        let (class, verdict) = (words.next().unwrap(), words.next().unwrap());
        let url = unescaped(words.next().unwrap_or_default());
        let found = match judge.judge(&url).await {
            Ok(judged) => {
                let class = judged.class().map_or("open", UrlClass::name);
                let verdict = match judged.ruling().verdict {
                    UrlVerdict::Allow => "allow",
                    UrlVerdict::Ask => "ask",
                    UrlVerdict::Deny => "deny",
                };
                (class, verdict)
            }
            Err(_) if read_url(&url).is_err() => ("unparseable", "refused"),
            Err(_) => ("unknown", "refused"),
        };
        if found != (class, verdict) {
            wrong.push(format!("{url:?}: {found:?} instead of {class} {verdict}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn without_a_policy_the_person_decides_and_the_class_is_known() {
    let judge = UrlJudge::default().with_resolver(Arc::new(Table));
    for (url, class) in [
        ("http://rebind.example/", Some(UrlClass::Loopback)),
        ("http://a.example/", None),
    ] {
        let judged = judge.judge(url).await.unwrap();
        assert_eq!(
            (judged.ruling().verdict, judged.class()),
            (UrlVerdict::Ask, class)
        );
        assert_eq!(judged.denied(), None);
    }
}

#[tokio::test]
async fn what_is_denied_by_its_name_is_not_looked_up() {
    struct Tattler;
    impl Resolver for Tattler {
        fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>> {
            Box::pin(async move { Err(format!("{host} was looked up")) })
        }
    }
    let table = [
        (
            lists(&["*://*.evil.example/*"], &["preset:loopback"], &[], &["*"]),
            UrlVerdict::Allow,
            false,
        ),
        (
            lists(&[], &[], &["*://*.evil.example/*"], &["*"]),
            UrlVerdict::Allow,
            false,
        ),
        (
            lists(&[], &[], &[], &["https://docs.example/*"]),
            UrlVerdict::Deny,
            false,
        ),
        // Here the host's addresses may make a difference.
        (
            lists(&[], &["preset:loopback"], &["*://*.evil.example/*"], &[]),
            UrlVerdict::Allow,
            true,
        ),
        (
            lists(&[], &[], &[], &["preset:private_network"]),
            UrlVerdict::Deny,
            true,
        ),
        (lists(&[], &[], &["preset:loopback"], &[]), UrlVerdict::Ask, true),
    ];
    for (lists, default, looked_up) in table {
        let judge = judge_with(&lists, default).with_resolver(Arc::new(Tattler));
        let judged = judge.judge("http://key.evil.example/").await;
        assert_eq!(judged.is_err(), looked_up, "{lists:?}: {judged:?}");
    }
}

#[test]
fn a_rule_that_cannot_be_meant_is_an_error() {
    let table = [
        ("", UrlVerdict::Deny, "empty"),
        (" https://a/", UrlVerdict::Deny, "spaces around it"),
        (
            "preset:loopbak",
            UrlVerdict::Deny,
            "did you mean `preset:loopback`",
        ),
        ("preset:moon", UrlVerdict::Allow, "there are sensitive, reserved"),
        ("example.com", UrlVerdict::Deny, "whole address"),
        ("*.example.com", UrlVerdict::Allow, "`https://example.com/*`"),
        ("https://example.com*", UrlVerdict::Allow, "evil.example"),
        ("https:///x", UrlVerdict::Deny, "no host"),
        ("https://münchen.de/*", UrlVerdict::Deny, "xn--"),
        ("https://a@b/*", UrlVerdict::Allow, "password"),
        ("http://localhost?admin=1", UrlVerdict::Deny, "end it with `/`"),
        ("http://a\\.example/*", UrlVerdict::Deny, "no `\\`"),
        ("http://localhost/#frag", UrlVerdict::Deny, "`#`"),
        ("*#frag", UrlVerdict::Deny, "`#`"),
        ("ftp://localhost/*", UrlVerdict::Deny, "`ftp` is never fetched"),
        ("http://localhost:65536/*", UrlVerdict::Deny, "no port `65536`"),
        ("http://localhost:0/*", UrlVerdict::Deny, "no port `0`"),
        ("http://localhost:/*", UrlVerdict::Deny, "no port ``"),
        ("http://::1/*", UrlVerdict::Deny, "not an address"),
        ("http://a..example/*", UrlVerdict::Deny, "is empty"),
    ];
    for (rule, verdict, words) in table {
        let error = check_rule(rule, verdict).unwrap_err();
        assert!(error.contains(words), "{rule}: {error}");
    }
    for (rule, verdict) in [
        ("*", UrlVerdict::Allow),
        ("*example.com*", UrlVerdict::Deny),
        ("https://example.com*", UrlVerdict::Deny),
        ("http://localhost:*", UrlVerdict::Allow),
        ("http://[::1]:8080/*", UrlVerdict::Allow),
        ("preset:sensitive", UrlVerdict::Allow),
        ("http*://localhost/*", UrlVerdict::Allow),
        ("*://localhost/a?b=1", UrlVerdict::Deny),
    ] {
        check_rule(rule, verdict).unwrap();
    }
}

// tidy: a table
#[tokio::test]
async fn an_open_host_is_a_host_of_the_open_internet() {
    let table = [
        (
            lists(&[], &[], &[], &["*"]),
            "http://rebind.example/",
            UrlVerdict::Ask,
        ),
        (
            lists(&[], &[], &[], &["http://*/*"]),
            "http://rebind.example/",
            UrlVerdict::Ask,
        ),
        (
            lists(&[], &[], &[], &["*"]),
            "http://a.example/",
            UrlVerdict::Allow,
        ),
        (
            lists(&[], &[], &[], &["http://rebind.example/*"]),
            "http://rebind.example/",
            UrlVerdict::Allow,
        ),
        (
            lists(&[], &[], &[], &["http://[::1]:*"]),
            "http://[::1]:9/x",
            UrlVerdict::Allow,
        ),
        (
            lists(&[], &["*"], &["preset:sensitive"], &[]),
            "http://rebind.example/",
            UrlVerdict::Allow,
        ),
        (
            lists(&[], &[], &[], &["preset:loopback"]),
            "http://rebind.example/",
            UrlVerdict::Allow,
        ),
        (
            lists(&[], &[], &[], &["preset:private_network"]),
            "http://inside.example/",
            UrlVerdict::Allow,
        ),
        // One of its addresses is on the open internet, and a connection may go there.
        (
            lists(&[], &[], &[], &["preset:private_network"]),
            "http://mixed.example/",
            UrlVerdict::Ask,
        ),
        (
            lists(&[], &["preset:sensitive"], &[], &[]),
            "http://mixed.example/",
            UrlVerdict::Ask,
        ),
        (
            lists(&[], &[], &[], &["preset:loopback"]),
            "http://open.localhost/",
            UrlVerdict::Ask,
        ),
        (
            lists(&[], &[], &[], &["preset:loopback"]),
            "http://mixed.example/",
            UrlVerdict::Ask,
        ),
        // A network address that is denied is denied under every name.
        (
            lists(&[], &[], &["http://10.1.2.3/*"], &["*"]),
            "http://inside.example/x",
            UrlVerdict::Deny,
        ),
    ];
    for (lists, url, expected) in table {
        let judged = judge_with(&lists, UrlVerdict::Ask).judge(url).await.unwrap();
        assert_eq!(judged.ruling().verdict, expected, "{lists:?} {url}");
    }
}

#[tokio::test]
async fn a_denied_address_is_denied_inside_of_a_newer_one() {
    let denied = lists(&[], &[], &["http://9.9.9.9/*"], &[]);
    for url in [
        "http://9.9.9.9/x",
        "http://[::ffff:9.9.9.9]/x",
        "http://[::ffff:909:909]:8080/x",
        "http://[64:ff9b::909:909]/x",
        "http://[2002:909:909::1]/x",
        "http://mapped.example/x",
    ] {
        let judged = judge_with(&denied, UrlVerdict::Allow).judge(url).await.unwrap();
        assert_eq!(judged.ruling().verdict, UrlVerdict::Deny, "{url}");
        let judged = UrlJudge::default()
            .with_resolver(Arc::new(Table))
            .judge(url)
            .await
            .unwrap();
        let texts = judged.texts();
        assert!(texts.contains(&"http://9.9.9.9/x".to_owned()), "{url}: {texts:?}");
    }
    // A rule that allows the IPv4 address does not cover what another network makes of it.
    let allowed = lists(&[], &[], &[], &["http://9.9.9.9/*"]);
    for url in ["http://[::ffff:9.9.9.9]/x", "http://mapped.example/x"] {
        let judged = judge_with(&allowed, UrlVerdict::Ask).judge(url).await.unwrap();
        assert_eq!(judged.ruling().verdict, UrlVerdict::Ask, "{url}");
        assert!(!judged.is_certainly("http://9.9.9.9/*"), "{url}");
    }
    let denied = lists(&[], &[], &["http://[::ffff:909:909]/*"], &[]);
    let judge = judge_with(&denied, UrlVerdict::Allow);
    let judged = judge.judge("http://mapped.example/").await.unwrap();
    assert_eq!(judged.ruling().verdict, UrlVerdict::Deny);
}

#[tokio::test]
async fn a_rule_means_its_host_however_it_is_written() {
    for (rule, url) in [
        ("http://127.1/*", "http://127.0.0.1/x"),
        ("http://0x7f.1/*", "http://127.0.0.1/x"),
        ("http://[0:0:0:0:0:0:0:1]/*", "http://[::1]/x"),
        ("http://[::ffff:9.9.9.9]:080/*", "http://[::ffff:909:909]/x"),
        ("http://localhost./*", "http://localhost/x"),
        ("http://*.localhost./*", "http://a.localhost/x"),
        ("http://LOCALHOST:08080/*", "http://localhost:8080/x"),
        ("http://%6cocalhost/*", "http://localhost/x"),
    ] {
        for (lists, default, expected) in [
            (lists(&[], &[], &[rule], &[]), UrlVerdict::Allow, UrlVerdict::Deny),
            (lists(&[], &[rule], &[], &[]), UrlVerdict::Deny, UrlVerdict::Allow),
        ] {
            let judged = judge_with(&lists, default).judge(url).await.unwrap();
            assert_eq!(judged.ruling().verdict, expected, "{rule} {url}");
        }
    }
}

#[test]
fn credentials_are_never_shown() {
    let table = [
        ("http://u:p4ss@a.example/x", "http://a.example/x"),
        ("http://u:p4ss@[broken/x", "http://…@[broken/x"),
        ("u:p4ss@x", "…@x"),
        ("http://a.example/", "http://a.example/"),
    ];
    for (text, shown) in table {
        assert_eq!(without_credentials(text), shown);
    }
    let error = read_url("http://u:p4ss@a.example:99999/").unwrap_err();
    assert!(!error.contains("p4ss"), "{error}");
}

/// A few rules and addresses, so that many of them match.
const RULES: &[&str] = &[
    "preset:loopback",
    "preset:private_network",
    "preset:sensitive",
    "*",
    "http://*.example/*",
    "http://rebind.example/*",
    "http://a.example/x",
    "https://a.example/*",
];
const URLS: &[&str] = &[
    "http://rebind.example/",
    "http://mixed.example/x",
    "http://a.example/x",
    "https://a.example/",
    "http://127.0.0.1:8/",
    "http://10.0.0.1/",
];

fn some_rules() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(RULES).prop_map(str::to_owned), 0..3)
}

fn some_default() -> impl Strategy<Value = UrlVerdict> {
    prop::sample::select(vec![UrlVerdict::Allow, UrlVerdict::Ask, UrlVerdict::Deny])
}

fn ruled(lists: &PolicyLists, default: PolicyDefault, url: &str) -> Ruling {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let judged = runtime.block_on(judge_with(lists, default).judge(url));
    judged.unwrap().ruling().clone()
}

proptest! {
    /// The verdict is that of the first list in which anything matches, when each list is asked alone.
    #[test]
    fn the_first_list_that_matches_decides(
        deny_override in some_rules(),
        allow_override in some_rules(),
        deny in some_rules(),
        allow in some_rules(),
        default in some_default(),
        url in prop::sample::select(URLS),
    ) {
        let all = PolicyLists { deny_override, allow_override, deny, allow };
        let none = PolicyLists::default();
        let alone = [
            PolicyLists { deny_override: all.deny_override.clone(), ..none.clone() },
            PolicyLists { allow_override: all.allow_override.clone(), ..none.clone() },
            PolicyLists { deny: all.deny.clone(), ..none.clone() },
            PolicyLists { allow: all.allow.clone(), ..none },
        ];
        let mut spoken = alone.iter().map(|lists| ruled(lists, UrlVerdict::Ask, url));
        let expected = spoken
            .find(|ruling| ruling.rule != "default")
            .unwrap_or(Ruling { verdict: default, rule: "default".into() });
        let found = ruled(&all, default, url);
        prop_assert_eq!(found.verdict, expected.verdict);
        // An address that is denied whatever its host resolves to is not looked up, and the denying rule is named.
        prop_assert!(found.rule == expected.rule || found.verdict == UrlVerdict::Deny);
    }

    /// More denying rules never allow more, and more allowing ones never deny more.
    #[test]
    fn a_rule_moves_the_verdict_one_way(
        lists in (some_rules(), some_rules(), some_rules(), some_rules()),
        more in prop::sample::select(RULES),
        default in some_default(),
        url in prop::sample::select(URLS),
    ) {
        let (deny_override, allow_override, deny, allow) = lists;
        let before = PolicyLists { deny_override, allow_override, deny, allow };
        let strictness = |lists: &PolicyLists| ruled(lists, default, url).verdict as u8;
        for denying in [true, false] {
            let mut after = before.clone();
            let (list, other) = match denying {
                true => (&mut after.deny, &mut after.deny_override),
                false => (&mut after.allow, &mut after.allow_override),
            };
            list.push(more.to_owned());
            other.push(more.to_owned());
            let (before, after) = (strictness(&before), strictness(&after));
            let right = if denying { after >= before } else { after <= before };
            prop_assert!(right, "{} {}", before, after);
        }
    }

    /// Judging ends for any text, and what is judged is a web address without credentials.
    #[test]
    fn any_text_is_survived(text in "(http|https|ftp|:|/|//|@|\\.|localhost|127|0x7f|%2e|\\[|\\]|::1|a|#|\\?|\\\\|\t| |。|１){0,12}") {
        if let Ok(url) = read_url(&text) {
            prop_assert!(matches!(url.scheme(), "http" | "https"));
            prop_assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none());
            prop_assert!(!url.host_str().unwrap_or(".").ends_with('.'));
            // Normalising twice changes nothing.
            prop_assert_eq!(read_url(url.as_str()), Ok(url));
        }
    }
}

#[tokio::test]
async fn a_whole_server_is_allowed_with_all_of_its_addresses_and_denied_with_one() {
    let all = "https://host.example/*";
    let table = [
        (lists(&[], &[], &[], &[all]), UrlVerdict::Allow),
        (
            lists(&[], &[], &[], &["https://host.example/docs/*"]),
            UrlVerdict::Ask,
        ),
        (lists(&[], &[], &[], &["https://host.example"]), UrlVerdict::Ask),
        (lists(&[], &[], &[], &["https://host.example/"]), UrlVerdict::Ask),
        (lists(&[], &[], &[], &["*://*.example/**"]), UrlVerdict::Allow),
        (lists(&[], &[], &[], &["http://host.example/*"]), UrlVerdict::Ask),
        (
            lists(&[], &[], &["https://host.example/secret/*"], &[all]),
            UrlVerdict::Deny,
        ),
        (lists(&[], &[], &["https://*/secret"], &[all]), UrlVerdict::Deny),
        (lists(&[], &[], &["*secret*"], &[all]), UrlVerdict::Deny),
        (lists(&[], &[], &["*/secret"], &[all]), UrlVerdict::Deny),
        (
            lists(&[], &[], &["https://other.example/secret"], &[all]),
            UrlVerdict::Allow,
        ),
        (lists(&[], &[], &["*.other.example"], &[all]), UrlVerdict::Allow),
        (
            lists(&[], &[all], &["https://host.example/secret"], &[]),
            UrlVerdict::Allow,
        ),
        (
            lists(&[], &["https://host.example/open"], &[all], &[]),
            UrlVerdict::Deny,
        ),
        (
            lists(&["https://host.example/x?y=*"], &[all], &[], &[]),
            UrlVerdict::Deny,
        ),
    ];
    for (lists, expected) in table {
        let judge = judge_with(&lists, UrlVerdict::Ask);
        let judged = judge
            .judge_extent("https://host.example/", Extent::Server)
            .await
            .unwrap();
        assert_eq!(judged.ruling().verdict, expected, "{lists:?}");
    }
}
