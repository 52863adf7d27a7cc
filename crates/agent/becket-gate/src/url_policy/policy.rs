//! The user's URL policy: which addresses are allowed and which are denied.
//!
//! Four lists of rules, and a default. The first list with a rule that matches decides: `deny_override`,
//! `allow_override`, `deny`, `allow`. A rule is `preset:CLASS`, or a glob for the whole address, in which `*` stands
//! for anything, `?` after the host for one character, and `\` escapes the next one. A rule that denies is read
//! generously and one that allows strictly: what could be meant both ways is denied. A metadata service of the cloud is
//! denied under every name, unless it is allowed as such.

use std::net::IpAddr;

use url::{Host, Url};

use super::address::read_url;
use super::class::{Classes, UrlClass, embedded_v4};

/// The verdict about an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlVerdict {
    /// The address may be fetched without a question.
    Allow,
    /// The user is asked.
    Ask,
    /// The address is not fetched.
    Deny,
}

/// The verdict about addresses that no rule matches.
pub type PolicyDefault = UrlVerdict;

/// How much is wanted of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What is at one address.
    Page,
    /// A connection in which nobody sees which of its addresses are asked for.
    Server,
}

/// A verdict, and the rule that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// The verdict.
    pub verdict: UrlVerdict,
    /// The rule with its list, such as `deny preset:loopback`; or `default`.
    pub rule: String,
}

impl Ruling {
    /// The ruling without a policy: the user decides.
    pub(super) fn without_policy() -> Self {
        Self {
            verdict: UrlVerdict::Ask,
            rule: "no policy".into(),
        }
    }
}

/// The rules as they are written in the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyLists {
    /// Denied, whatever the other lists say.
    pub deny_override: Vec<String>,
    /// Allowed, unless `deny_override` denies.
    pub allow_override: Vec<String>,
    /// Denied, unless an override says otherwise.
    pub deny: Vec<String>,
    /// Allowed, unless another list denies.
    pub allow: Vec<String>,
}

/// The user's policy: four lists of rules and a default.
#[derive(Debug, Clone)]
pub struct UrlPolicy {
    /// The lists, in the order in which they count.
    lists: [(List, Vec<UrlRule>); 4],
    default: PolicyDefault,
}

/// The name of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    DenyOverride,
    AllowOverride,
    Deny,
    Allow,
}

impl List {
    const fn name(self) -> &'static str {
        match self {
            Self::DenyOverride => "deny_override",
            Self::AllowOverride => "allow_override",
            Self::Deny => "deny",
            Self::Allow => "allow",
        }
    }

    const fn verdict(self) -> UrlVerdict {
        match self {
            Self::DenyOverride | Self::Deny => UrlVerdict::Deny,
            Self::AllowOverride | Self::Allow => UrlVerdict::Allow,
        }
    }
}

/// A rule of one of the lists.
#[derive(Debug, Clone)]
struct UrlRule {
    text: String,
    matcher: Matcher,
}

#[derive(Debug, Clone)]
enum Matcher {
    /// Addresses of a class.
    Class(UrlClass),
    /// Addresses of any class: all that are not on the open internet.
    Sensitive,
    /// Addresses that match a glob.
    Glob(UrlGlob),
}

/// An address as rules see it.
struct KnownAddress<'a> {
    forms: Forms,
    /// The classes; `None` before the host was looked up.
    classes: Option<&'a Classes>,
}

impl UrlPolicy {
    /// Parses the rules; the error names the one that is wrong.
    pub fn parse(lists: &PolicyLists, default: PolicyDefault) -> Result<Self, String> {
        let read = |list: List, rules: &[String]| -> Result<(List, Vec<UrlRule>), String> {
            let rules = rules.iter().map(|rule| UrlRule::parse(rule, list.verdict()));
            let rules: Result<Vec<UrlRule>, String> = rules.collect();
            Ok((list, rules.map_err(|error| format!("{}: {error}", list.name()))?))
        };
        Ok(Self {
            lists: [
                read(List::DenyOverride, &lists.deny_override)?,
                read(List::AllowOverride, &lists.allow_override)?,
                read(List::Deny, &lists.deny)?,
                read(List::Allow, &lists.allow)?,
            ],
            default,
        })
    }

    /// The policy's ruling about an address and everything behind it.
    pub(super) fn rule(&self, what: (&Url, Extent), classes: &Classes, addresses: &[IpAddr]) -> Ruling {
        self.judge(&KnownAddress {
            forms: Forms::of(what, addresses),
            classes: Some(classes),
        })
    }

    /// The policy's ruling before the host was looked up: what it denies now is denied whatever its host resolves to,
    /// and what nothing allows now is not allowed later.
    pub(super) fn rule_by_name(&self, what: (&Url, Extent)) -> Ruling {
        self.judge(&KnownAddress {
            forms: Forms::of(what, &[]),
            classes: None,
        })
    }

    fn judge(&self, place: &KnownAddress<'_>) -> Ruling {
        for (list, rules) in &self.lists {
            if let Some(rule) = rules.iter().find(|rule| rule.matches(*list, place)) {
                return Ruling {
                    verdict: list.verdict(),
                    rule: format!("{} {}", list.name(), rule.text),
                };
            }
        }
        // A name that was allowed, or that no rule matches, may be pointed at a metadata service.
        let is_metadata = |classes: &Classes| classes.any(|class| class == UrlClass::CloudMetadata);
        match place.classes.is_some_and(is_metadata) {
            true => Ruling {
                verdict: UrlVerdict::Deny,
                rule: "preset:cloud_metadata, unless allow_override names it".into(),
            },
            false => Ruling {
                verdict: self.default,
                rule: "default".into(),
            },
        }
    }
}

/// Checks a glob for addresses, for a rule with this verdict.
pub fn check_glob(text: &str, verdict: UrlVerdict) -> Result<(), String> {
    UrlGlob::parse(text, verdict).map(|_| ())
}

/// Checks a rule, for a list with this verdict.
pub fn check_rule(text: &str, verdict: UrlVerdict) -> Result<(), String> {
    UrlRule::parse(text, verdict).map(|_| ())
}

/// The forms in which a rule that forbids may write an address.
pub(super) fn texts(url: &Url, addresses: &[IpAddr]) -> Vec<String> {
    let forms = Forms::of((url, Extent::Page), addresses);
    let texts = forms.wider.iter().flat_map(|authority| forms.wholes(authority));
    texts.chain([url.to_string()]).collect()
}

/// Whether a glob leaves the host open, so that it names no single one.
pub fn leaves_host_open(glob: &str) -> bool {
    UrlGlob::parse(glob, UrlVerdict::Allow).map_or(true, |glob| glob.open_host)
}

/// Whether a glob that allows certainly means the address.
pub(super) fn is_certainly(glob: &str, what: (&Url, Extent)) -> bool {
    UrlGlob::parse(glob, UrlVerdict::Allow).is_ok_and(|glob| glob.matches_strictly(&Forms::of(what, &[])))
}

/// Whether a glob that denies may mean the address.
pub(super) fn is_possibly(glob: &str, what: (&Url, Extent), addresses: &[IpAddr]) -> bool {
    UrlGlob::parse(glob, UrlVerdict::Deny)
        .is_ok_and(|glob| glob.matches_generously(&Forms::of(what, addresses)))
}

impl UrlRule {
    fn parse(text: &str, verdict: UrlVerdict) -> Result<Self, String> {
        let matcher = match text.strip_prefix("preset:") {
            Some("sensitive") => Matcher::Sensitive,
            Some(name) => {
                Matcher::Class(class_named(name).map_err(|error| format!("rule `{text}`: {error}"))?)
            }
            None => Matcher::Glob(UrlGlob::parse(text, verdict).map_err(|error| {
                let presets = if text.contains("://") {
                    ""
                } else {
                    ", or `preset:CLASS`"
                };
                format!("rule `{text}`: {error}{presets}")
            })?),
        };
        Ok(Self {
            text: text.into(),
            matcher,
        })
    }

    /// Whether the rule matches. A preset denies if one of the network addresses is of its class, and allows only if
    /// all are. Before the host was looked up, a rule that may yet allow counts as matching.
    fn matches(&self, list: List, place: &KnownAddress<'_>) -> bool {
        let denies = list.verdict() == UrlVerdict::Deny;
        let Some(classes) = place.classes else {
            return match &self.matcher {
                Matcher::Glob(glob) if denies => glob.matches_generously(&place.forms),
                Matcher::Glob(glob) => glob.matches_strictly(&place.forms),
                Matcher::Class(_) | Matcher::Sensitive => !denies,
            };
        };
        match &self.matcher {
            Matcher::Class(preset) if denies => classes.any(|class| preset.covers(class)),
            Matcher::Class(preset) => classes.all(|class| preset.covers(class)),
            // A rule that allows a host does not mean the metadata service that its name may lead to.
            _ if list == List::Allow && classes.any(|class| class == UrlClass::CloudMetadata) => false,
            Matcher::Sensitive if denies => classes.any(|_| true),
            Matcher::Sensitive => classes.all(|_| true),
            Matcher::Glob(glob) if denies => glob.matches_generously(&place.forms),
            // A rule that allows all hosts does not mean names that were pointed at this machine.
            Matcher::Glob(glob) if list == List::Allow && glob.open_host && classes.worst().is_some() => {
                false
            }
            Matcher::Glob(glob) => glob.matches_strictly(&place.forms),
        }
    }
}

fn class_named(name: &str) -> Result<UrlClass, String> {
    if let Some(class) = UrlClass::ALL.into_iter().find(|class| class.name() == name) {
        return Ok(class);
    }
    let names = UrlClass::ALL.map(UrlClass::name);
    Err(match becket_hooks::nearest(name, names) {
        Some(near) => format!("there is no preset `{name}`; did you mean `preset:{near}`?"),
        None => format!(
            "there is no preset `{name}`; there are sensitive, {}",
            names.join(", ")
        ),
    })
}

/// The forms in which an address can be written.
struct Forms {
    scheme: String,
    extent: Extent,
    /// The host with its port, and without if it is the default one.
    authorities: Vec<String>,
    /// The hosts without a port in any case, and the network addresses in their place, including IPv4 addresses
    /// embedded in IPv6 ones: everything that a rule that forbids may name.
    wider: Vec<String>,
    /// Path and query.
    rest: String,
    /// Path and query as a server may read them.
    meant: String,
}

impl Forms {
    fn of((url, extent): (&Url, Extent), addresses: &[IpAddr]) -> Self {
        let host = url.host_str().unwrap_or_default().to_owned();
        let port = url.port_or_known_default().unwrap_or(80);
        let bare = url.port().is_none().then(|| host.clone());
        let named = match url.host() {
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            _ => None,
        };
        let addresses = named.into_iter().chain(addresses.iter().copied());
        let hosts = [host.clone()]
            .into_iter()
            .chain(addresses.flat_map(hosts_of_address));
        let query = url.query().map_or(String::new(), |query| format!("?{query}"));
        let rest = plainly(&format!("{}{query}", url.path()));
        Self {
            scheme: url.scheme().to_owned(),
            extent,
            authorities: [Some(format!("{host}:{port}")), bare]
                .into_iter()
                .flatten()
                .collect(),
            wider: hosts.flat_map(|host| [format!("{host}:{port}"), host]).collect(),
            meant: as_meant(&rest),
            rest,
        }
    }

    fn wholes(&self, authority: &str) -> [String; 2] {
        [&self.rest, &self.meant].map(|rest| format!("{}://{authority}{rest}", self.scheme))
    }
}

/// A network address as a host, and the IPv4 addresses that it stands for.
fn hosts_of_address(address: IpAddr) -> Vec<String> {
    match address {
        IpAddr::V4(address) => vec![address.to_string()],
        IpAddr::V6(address) => {
            // A URL writes an IPv6 address differently.
            let own = Host::<String>::Ipv6(address).to_string();
            let embedded = embedded_v4(address);
            [own]
                .into_iter()
                .chain(embedded.iter().map(ToString::to_string))
                .collect()
        }
    }
}

/// A path in its simplest encoding: `%61` is `a`, and `%2f` is `%2F`.
fn plainly(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(start) = rest.find('%') {
        plain.push_str(&rest[..start]);
        let code = rest
            .get(start + 1..start + 3)
            .filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(code) = code else {
            plain.push('%');
            rest = &rest[start + 1..];
            continue;
        };
        let character = u8::from_str_radix(code, 16).map_or('\0', char::from);
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.' | '_' | '~' => plain.push(character),
            _ => plain.extend(
                ['%']
                    .into_iter()
                    .chain(code.chars().map(|digit| digit.to_ascii_uppercase())),
            ),
        }
        rest = &rest[start + 3..];
    }
    plain.push_str(rest);
    plain
}

/// Path and query as read by a server that takes an encoded slash for a slash, however often it is encoded, then
/// follows `..`, and ignores repeated slashes.
fn as_meant(rest: &str) -> String {
    let end = rest.find('?').unwrap_or(rest.len());
    let (path, query) = rest.split_at(end);
    if !path.starts_with('/') {
        return rest.to_owned();
    }
    let decoded = with_plain_separators(path);
    let mut parts: Vec<&str> = Vec::new();
    for part in decoded.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let is_folder = decoded.ends_with(['/']) || decoded.ends_with("/.") || decoded.ends_with("/..");
    let slash = if is_folder && !parts.is_empty() { "/" } else { "" };
    format!("/{}{slash}{query}", parts.join("/"))
}

/// A path with its slashes and dots decoded; `%252f` is one, too.
fn with_plain_separators(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(start) = rest.find('%') {
        plain.push_str(&rest[..start]);
        let code = rest[start + 1..].trim_start_matches("25");
        let separator = match code.get(..2).map(str::to_ascii_lowercase).as_deref() {
            Some("2f" | "5c") => Some('/'),
            Some("2e") => Some('.'),
            _ => None,
        };
        plain.push(separator.unwrap_or('%'));
        rest = match separator {
            Some(_) => &code[2..],
            None => &rest[start + 1..],
        };
    }
    plain + rest
}

/// Whether a glob for what follows the host leaves nothing out.
fn is_any_path(rest: &str) -> bool {
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    !rest.is_empty() && rest.chars().all(|character| character == '*')
}

/// A glob for addresses.
#[derive(Debug, Clone)]
struct UrlGlob {
    whole: String,
    /// Scheme, host with port, and what follows; `None` for a glob that is not written like a URL.
    parts: Option<(String, String, String)>,
    /// Whether the glob leaves the host open.
    open_host: bool,
}

impl UrlGlob {
    fn parse(text: &str, verdict: UrlVerdict) -> Result<Self, String> {
        if text.is_empty() || text.trim() != text {
            return Err("it is empty or has spaces around it".into());
        }
        if text.contains('#') {
            return Err("the part after a `#` is never sent, so no rule can match it; leave it out".into());
        }
        let Some((scheme, after)) = text.split_once("://") else {
            if text != "*" && (verdict != UrlVerdict::Deny || !text.starts_with('*')) {
                return Err(format!(
                    "write the whole address, as in `https://{}/*`",
                    text.trim_start_matches(['*', '.'])
                        .split('/')
                        .next()
                        .map(|host| host.trim_end_matches('*'))
                        .filter(|host| !host.is_empty())
                        .unwrap_or("example.com")
                ));
            }
            return Ok(Self {
                whole: text.to_lowercase(),
                parts: None,
                open_host: true,
            });
        };
        let end = after.find('/').unwrap_or(after.len());
        let (authority, rest) = (&after[..end], &after[end..]);
        if authority.is_empty() {
            return Err("it names no host; `*` matches any".into());
        }
        if !authority.is_ascii() {
            return Err("write the host in ASCII, as `xn--…`; `becket url check` shows it".into());
        }
        if authority.contains('@') {
            return Err("addresses with a user name or a password are never fetched".into());
        }
        let whole_port = authority == "*" || authority.ends_with(":*");
        if verdict != UrlVerdict::Deny && authority.ends_with('*') && !whole_port {
            return Err(format!(
                "it would also allow `{scheme}://{}.evil.example`; end the host with `/`",
                authority.trim_end_matches('*')
            ));
        }
        let scheme = scheme.to_lowercase();
        if !["http", "https"].iter().any(|known| glob_matches(&scheme, known)) {
            return Err(format!(
                "`{scheme}` is never fetched; write `http`, `https`, or `*` for both"
            ));
        }
        let authority = plain_authority(&authority.to_lowercase())?;
        let rest = plainly(rest);
        Ok(Self {
            whole: format!("{scheme}://{authority}{rest}"),
            open_host: host_of(&authority).contains('*'),
            parts: Some((scheme, authority, rest)),
        })
    }

    /// Whether the glob may mean the address: in any of its forms, by its text or by its parts.
    fn matches_generously(&self, forms: &Forms) -> bool {
        forms.wider.iter().any(|authority| {
            let wholes = forms.wholes(authority);
            match self.parts {
                Some(_) => {
                    wholes.iter().any(|whole| glob_matches(&self.whole, whole))
                        || self.has_parts_of(forms, authority, UrlVerdict::Deny)
                }
                // `*.example.com` is a host, `*secret*` is anything.
                None => {
                    let covers = |whole: &String| glob_matches(&self.whole, &whole.to_lowercase());
                    let may_name_a_path = self.whole.ends_with('*') || self.whole.contains('/');
                    glob_matches(&self.whole, authority)
                        || wholes.iter().any(covers)
                        || (forms.extent == Extent::Server && may_name_a_path)
                }
            }
        })
    }

    /// Whether the glob certainly means the address: a `*` in the host covers nothing but the host.
    fn matches_strictly(&self, forms: &Forms) -> bool {
        forms
            .authorities
            .iter()
            .any(|authority| self.has_parts_of(forms, authority, UrlVerdict::Allow))
    }

    fn has_parts_of(&self, forms: &Forms, wanted: &str, verdict: UrlVerdict) -> bool {
        let Some((scheme, authority, rest)) = &self.parts else {
            return self.whole == "*";
        };
        let rest_matches = match rest.as_str() {
            // A host without a path: to deny it is to deny everything on it.
            "" if verdict == UrlVerdict::Deny || authority.ends_with('*') => true,
            // Some path of the server may be denied, and all of them have to be allowed.
            rest if forms.extent == Extent::Server => verdict == UrlVerdict::Deny || is_any_path(rest),
            "" => forms.rest == "/",
            rest => {
                let by_text = glob_matches(rest, &forms.rest);
                let by_meaning = glob_matches(&as_meant(rest), &forms.meant);
                match verdict {
                    UrlVerdict::Deny => by_text || by_meaning,
                    UrlVerdict::Allow | UrlVerdict::Ask => by_text && by_meaning,
                }
            }
        };
        rest_matches && glob_matches(scheme, &forms.scheme) && glob_matches(authority, wanted)
    }
}

/// The host and the port of a rule, normalised as in an address: another form would never match.
fn plain_authority(authority: &str) -> Result<String, String> {
    if authority.contains(['?', '\\']) {
        return Err("a host has no `?` and no `\\`; end it with `/`, or write `*` for a part of it".into());
    }
    let host = host_of(authority);
    let port = &authority[host.len()..];
    let host = match host.contains('*') {
        true => host.strip_suffix('.').unwrap_or(host).to_owned(),
        false => read_url(&format!("http://{host}/"))?
            .host_str()
            .unwrap_or_default()
            .to_owned(),
    };
    match port.strip_prefix(':') {
        None => Ok(host),
        Some(port) if port.contains('*') => Ok(format!("{host}:{port}")),
        Some(port) => match port.parse::<u16>() {
            Ok(port) if port > 0 => Ok(format!("{host}:{port}")),
            _ => Err(format!("there is no port `{port}`; `:*` matches any")),
        },
    }
}

/// The host of a host with a port; an IPv6 address has colons of its own, in brackets.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}

/// Whether a glob covers the whole text. Takes no longer than the product of both lengths.
fn glob_matches(glob: &str, text: &str) -> bool {
    let glob = glob_pieces(glob);
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut read) = (0, 0);
    // Where the last `*` stands, and how far it reaches so far.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match glob.get(at) {
            Some(Piece::Any) => {
                star = Some((at, read));
                at += 1;
            }
            Some(Piece::One) => (at, read) = (at + 1, read + 1),
            Some(Piece::Exactly(character)) if *character == text[read] => (at, read) = (at + 1, read + 1),
            _ => {
                let Some((place, reach)) = star else {
                    return false;
                };
                star = Some((place, reach + 1));
                (at, read) = (place + 1, reach + 1);
            }
        }
    }
    glob[at..].iter().all(|piece| matches!(piece, Piece::Any))
}

enum Piece {
    Any,
    One,
    Exactly(char),
}

fn glob_pieces(glob: &str) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(glob.len());
    let mut characters = glob.chars();
    while let Some(character) = characters.next() {
        pieces.push(match character {
            '*' => Piece::Any,
            '?' => Piece::One,
            '\\' => Piece::Exactly(characters.next().unwrap_or('\\')),
            character => Piece::Exactly(character),
        });
    }
    pieces
}
