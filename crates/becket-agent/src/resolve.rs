//! Finds out what a call really touches, before anybody judges it: the file behind links and `..`, and the addresses
//! behind a host's name.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use url::Url;

/// More links than this in one path are a circle.
const MAX_LINKS: usize = 40;

/// How long a name server may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// The absolute path behind links and `..`. What does not exist yet is resolved as far as it exists.
pub fn resolve_path(directory: &Path, path: &str) -> Result<PathBuf, String> {
    if path.is_empty() || path.contains('\0') {
        return Err("the path is empty or holds a NUL byte".into());
    }
    let absolute = directory.join(path);
    let mut pending: VecDeque<PathBuf> = absolute
        .components()
        .map(|part| part.as_os_str().into())
        .collect();
    let mut resolved = PathBuf::new();
    let mut links = 0;
    while let Some(part) = pending.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                resolved.pop();
                continue;
            }
            Some(Component::CurDir) | None => continue,
            _ => {}
        }
        let candidate = resolved.join(&part);
        match std::fs::symlink_metadata(&candidate) {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(format!("too many links in {}", absolute.display()));
                }
                let target = std::fs::read_link(&candidate).map_err(|error| describe(&candidate, &error))?;
                for part in target.components().rev() {
                    pending.push_front(part.as_os_str().into());
                }
            }
            Ok(_) => resolved = candidate,
            // Below something that does not exist, or that is no folder, there are no links to follow.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                resolved = candidate;
            }
            Err(error) => return Err(describe(&candidate, &error)),
        }
    }
    Ok(resolved)
}

fn describe(path: &Path, error: &std::io::Error) -> String {
    format!("cannot resolve {}: {error}", path.display())
}

/// An address of the web with everything that stands behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedUrl {
    /// The address, normalised.
    pub url: String,
    /// Where a connection would go.
    pub addresses: Vec<SocketAddr>,
    /// Why that is sensitive, if it is.
    pub sensitive: Option<&'static str>,
}

/// Looks up what stands behind an address of the web.
pub async fn resolve_url(text: &str) -> Result<ResolvedUrl, String> {
    let url = Url::parse(text).map_err(|error| format!("`{text}` is not an address: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "`{}` cannot be fetched, only http and https",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address with a name or a password in it is not fetched".into());
    }
    let port = url.port_or_known_default().unwrap_or(80);
    let addresses: Vec<SocketAddr> = match url.host() {
        Some(url::Host::Ipv4(address)) => vec![(address, port).into()],
        Some(url::Host::Ipv6(address)) => vec![(address, port).into()],
        Some(url::Host::Domain(name)) => {
            let lookup = tokio::time::timeout(LOOKUP_TIMEOUT, tokio::net::lookup_host((name, port))).await;
            let found = lookup.map_err(|_| format!("looking up {name} took too long"))?;
            found
                .map_err(|error| format!("cannot look up {name}: {error}"))?
                .collect()
        }
        None => return Err(format!("`{text}` names no host")),
    };
    let sensitive = addresses.iter().find_map(|address| sensitivity(address.ip()));
    Ok(ResolvedUrl {
        url: url.to_string(),
        addresses,
        sensitive,
    })
}

/// Why an address is not one of the open internet; `None` if it is.
fn sensitivity(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => sensitivity_v4(address),
        IpAddr::V6(address) => sensitivity_v6(address).or_else(|| sensitivity_v4(embedded_v4(address)?)),
    }
}

fn sensitivity_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [first, second, third, _] = address.octets();
    let shared = first == 100 && (64..128).contains(&second);
    let special =
        matches!((first, second, third), (192, 0, 0) | (198, 18 | 19, _)) || first == 0 || first >= 240;
    match address {
        _ if address == Ipv4Addr::new(169, 254, 169, 254) => Some("cloud_metadata"),
        _ if address.is_loopback() || address.is_unspecified() => Some("loopback"),
        _ if address.is_private() || shared => Some("private_network"),
        _ if address.is_link_local() => Some("link_local"),
        _ if address.is_multicast() || special => Some("reserved"),
        _ => None,
    }
}

fn sensitivity_v6(address: Ipv6Addr) -> Option<&'static str> {
    let site_local = address.segments()[0] & 0xffc0 == 0xfec0;
    match address {
        _ if address.is_loopback() || address.is_unspecified() => Some("loopback"),
        _ if address.is_unique_local() || site_local => Some("private_network"),
        _ if address.is_unicast_link_local() => Some("link_local"),
        _ if address.is_multicast() => Some("reserved"),
        _ => None,
    }
}

/// The older kind of address that a newer one stands for: mapped, compatible, translated, or tunnelled.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let from = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0 | 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => from(g, h),
        [0x2002, high, low, ..] => from(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_dots_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        std::fs::write(root.join("real/file"), "").unwrap();
        std::os::unix::fs::symlink(root.join("real/deep"), root.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere/x", root.join("dangling")).unwrap();
        std::os::unix::fs::symlink("circle", root.join("circle")).unwrap();
        let at = |path: &str| resolve_path(&root, path).unwrap();
        assert_eq!(at("./real/../real/file"), root.join("real/file"));
        assert_eq!(
            at("link/../file"),
            root.join("real/file"),
            "`..` goes up from where the link leads"
        );
        assert_eq!(at("link/new.txt"), root.join("real/deep/new.txt"));
        assert_eq!(
            at("dangling"),
            root.join("nowhere/x"),
            "a write would go to the link's target"
        );
        assert_eq!(at("none/../../x"), root.parent().unwrap().join("x"));
        assert!(
            resolve_path(&root, "circle")
                .unwrap_err()
                .contains("too many links")
        );
        assert!(resolve_path(&root, "a\0b").is_err());
    }

    #[tokio::test]
    async fn addresses_are_seen_through() {
        let table = [
            ("http://127.0.0.1/x", Ok(Some("loopback"))),
            ("http://2130706433/", Ok(Some("loopback"))),
            ("http://0x7f.1/", Ok(Some("loopback"))),
            ("http://[::1]/", Ok(Some("loopback"))),
            ("http://[::ffff:10.0.0.1]/", Ok(Some("private_network"))),
            ("http://169.254.169.254/latest", Ok(Some("cloud_metadata"))),
            ("http://192.168.1.1/", Ok(Some("private_network"))),
            ("http://[::127.0.0.1]/", Ok(Some("loopback"))),
            ("http://[64:ff9b::7f00:1]/", Ok(Some("loopback"))),
            ("http://[2002:7f00:1::]/", Ok(Some("loopback"))),
            ("http://[fec0::1]/", Ok(Some("private_network"))),
            ("http://[2001:4860:4860::8888]/", Ok(None)),
            ("http://192.0.0.192/", Ok(Some("reserved"))),
            ("http://198.18.0.1/", Ok(Some("reserved"))),
            ("http://240.0.0.1/", Ok(Some("reserved"))),
            ("http://8.8.8.8/", Ok(None)),
            ("ftp://8.8.8.8/", Err(())),
            ("http://user:pass@8.8.8.8/", Err(())),
            ("not an address", Err(())),
        ];
        for (text, expected) in table {
            let found = resolve_url(text)
                .await
                .map(|resolved| resolved.sensitive)
                .map_err(|_| ());
            assert_eq!(found, expected, "{text}");
        }
    }
}
