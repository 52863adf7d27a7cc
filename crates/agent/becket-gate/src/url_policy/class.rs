//! The class of place that a web address leads to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// A class of addresses that are not on the open internet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UrlClass {
    /// Addresses that no server has: for documents, tests and future use.
    Reserved,
    /// Multicast: all machines that listen.
    Multicast,
    /// The network between a provider and its customers.
    CarrierNat,
    /// A network that only its own members reach.
    PrivateNetwork,
    /// Link-local: machines on the same physical link.
    LinkLocal,
    /// This machine, by the unspecified address.
    Unspecified,
    /// This machine.
    Loopback,
    /// The metadata service of a cloud, where machines find their keys.
    CloudMetadata,
    /// A text that is no web address.
    Unparseable,
}

impl UrlClass {
    /// All classes; a later one is worse.
    pub const ALL: [Self; 9] = [
        Self::Reserved,
        Self::Multicast,
        Self::CarrierNat,
        Self::PrivateNetwork,
        Self::LinkLocal,
        Self::Unspecified,
        Self::Loopback,
        Self::CloudMetadata,
        Self::Unparseable,
    ];

    /// The class's name, in rules and for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Multicast => "multicast",
            Self::CarrierNat => "carrier_nat",
            Self::PrivateNetwork => "private_network",
            Self::LinkLocal => "link_local",
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::CloudMetadata => "cloud_metadata",
            Self::Unparseable => "unparseable",
        }
    }

    /// The class in plain English.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Reserved => "a reserved address",
            Self::Multicast => "a multicast address",
            Self::CarrierNat => "an address in a carrier's network",
            Self::PrivateNetwork => "an address in a private network",
            Self::LinkLocal => "a link-local address",
            Self::Unspecified => "the unspecified address, which is this machine",
            Self::Loopback => "a loopback address, which is this machine",
            Self::CloudMetadata => "a cloud metadata service",
            Self::Unparseable => "not a web address",
        }
    }

    /// Whether the preset of this class also covers the other one.
    pub(super) fn covers(self, other: Self) -> bool {
        self == other
            || matches!(
                (self, other),
                (Self::Loopback, Self::Unspecified)
                    | (Self::PrivateNetwork, Self::CarrierNat)
                    | (Self::Reserved, Self::Multicast)
            )
    }
}

/// The classes of an address: by the name of its host, and by each network address behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Classes {
    found: Vec<UrlClass>,
    /// Whether one of the network addresses is on the open internet.
    open: bool,
}

impl Classes {
    pub(super) fn of(url: &Url, addresses: &[IpAddr]) -> Self {
        let named = match url.host() {
            Some(Host::Domain(name)) => of_name(name),
            Some(Host::Ipv4(address)) => of_v4(address),
            Some(Host::Ipv6(address)) => of_v6(address),
            None => Some(UrlClass::Unparseable),
        };
        let behind: Vec<Option<UrlClass>> = addresses.iter().copied().map(of_address).collect();
        Self {
            open: behind.contains(&None),
            found: named.into_iter().chain(behind.into_iter().flatten()).collect(),
        }
    }

    /// The worst of the classes; `None` for the open internet.
    pub(super) fn worst(&self) -> Option<UrlClass> {
        self.found.iter().copied().max()
    }

    pub(super) fn any(&self, holds: impl Fn(UrlClass) -> bool) -> bool {
        self.found.iter().any(|class| holds(*class))
    }

    /// Whether there are classes, `holds` is true of all of them, and no network address is on the open internet.
    pub(super) fn all(&self, holds: impl Fn(UrlClass) -> bool) -> bool {
        !self.open && !self.found.is_empty() && self.found.iter().all(|class| holds(*class))
    }
}

/// The class of a host's name, whatever a name server says about it.
fn of_name(name: &str) -> Option<UrlClass> {
    const LOOPBACK: &[&str] = &[
        "localhost",
        "localdomain",
        "ip6-localhost",
        "ip6-loopback",
        "localhost6",
    ];
    const PRIVATE: &[&str] = &["local", "internal", "home.arpa", "lan", "intranet", "corp"];
    const METADATA: &[&str] = &[
        "metadata.google.internal",
        "metadata.goog",
        "metadata",
        "instance-data",
        "instance-data.ec2.internal",
        "metadata.tencentyun.com",
        "metadata.platformequinix.com",
    ];
    let ends_with = |ends: &[&str]| {
        ends.iter().any(|end| {
            name.strip_suffix(end)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    };
    match name {
        _ if METADATA.contains(&name) => Some(UrlClass::CloudMetadata),
        _ if ends_with(LOOPBACK) => Some(UrlClass::Loopback),
        _ if ends_with(PRIVATE) => Some(UrlClass::PrivateNetwork),
        _ => None,
    }
}

/// The class of a network address; `None` for the open internet.
fn of_address(address: IpAddr) -> Option<UrlClass> {
    match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => of_v6(address),
    }
}

/// The IPv4 addresses of metadata services: most clouds, the containers and pods of Amazon, Alibaba, the host of an
/// Azure machine, Oracle, Tencent, Scaleway.
const METADATA_V4: &[Ipv4Addr] = &[
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(169, 254, 0, 23),
    Ipv4Addr::new(169, 254, 42, 42),
];

/// The IPv6 addresses of metadata services: Amazon's machines and pods, Google, Scaleway.
const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

fn of_v4(address: Ipv4Addr) -> Option<UrlClass> {
    let [first, second, third, _] = address.octets();
    // Protocol assignments, the relays of 6to4, benchmarks, and what was never assigned.
    let reserved = matches!(
        (first, second, third),
        (192, 0, 0) | (192, 88, 99) | (198, 18 | 19, _)
    ) || first == 0
        || first >= 240
        || address.is_documentation();
    match address {
        _ if METADATA_V4.contains(&address) => Some(UrlClass::CloudMetadata),
        _ if address.is_loopback() => Some(UrlClass::Loopback),
        _ if address.is_unspecified() => Some(UrlClass::Unspecified),
        _ if address.is_link_local() => Some(UrlClass::LinkLocal),
        _ if address.is_private() => Some(UrlClass::PrivateNetwork),
        _ if first == 100 && (64..128).contains(&second) => Some(UrlClass::CarrierNat),
        _ if address.is_multicast() => Some(UrlClass::Multicast),
        _ if reserved => Some(UrlClass::Reserved),
        _ => None,
    }
}

fn of_v6(address: Ipv6Addr) -> Option<UrlClass> {
    let first = address.segments()[0];
    let own = match address {
        _ if METADATA_V6.contains(&address) => Some(UrlClass::CloudMetadata),
        _ if address.is_loopback() => Some(UrlClass::Loopback),
        _ if address.is_unspecified() => Some(UrlClass::Unspecified),
        _ if address.is_unicast_link_local() => Some(UrlClass::LinkLocal),
        // Site-local addresses are deprecated, but still in use here and there.
        _ if address.is_unique_local() || first & 0xffc0 == 0xfec0 => Some(UrlClass::PrivateNetwork),
        _ if address.is_multicast() => Some(UrlClass::Multicast),
        _ if is_reserved_v6(address) => Some(UrlClass::Reserved),
        _ => None,
    };
    own.max(embedded_v4(address).into_iter().filter_map(of_v4).max())
}

/// Whether no server of the open internet has such an address.
fn is_reserved_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, ..] = address.segments();
    let mapped = [a, b, c, d, e, f] == [0, 0, 0, 0, 0, 0xffff];
    let translated = [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0];
    // Servers have addresses that begin with 2 or 3, or older ones inside of newer ones.
    let elsewhere = a & 0xe000 != 0x2000 && !mapped && !translated;
    // 2001:0::/23 is for protocols, Teredo among them; then documents.
    let special = (a == 0x2001 && (b < 0x200 || b == 0xdb8)) || (a == 0x3fff && b < 0x1000);
    elsewhere || special
}

/// The IPv4 addresses that an IPv6 address stands for: mapped, compatible, translated, or the ends of a tunnel.
pub(super) fn embedded_v4(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let from = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0 | 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => {
            vec![from(g, h)]
        }
        // A network's own translation may put the IPv4 address at the end as well.
        [0x64, 0xff9b, 1, ..] => vec![from(g, h)],
        [0x2002, high, low, ..] => vec![from(high, low)],
        // Teredo: the server, and the client with all bits turned.
        [0x2001, 0, high, low, ..] => vec![from(high, low), from(!g, !h)],
        [_, _, _, _, 0 | 0x200, 0x5efe] => vec![from(g, h)],
        _ => Vec::new(),
    }
}
