//! The way out of a network that has only a loopback: a socket that listens in there and is answered out here.
//!
//! A socket stays in the network in which it was made, whoever holds it. So the small program makes one that listens on
//! the new loopback and hands it over through a socket with a path, before it confines itself. Nothing of the program
//! inside has to pass anything on, and the other networks of the machine stay out of its reach.

#[cfg(target_os = "linux")]
pub(crate) use linux::Proxy;
#[cfg(target_os = "linux")]
pub use linux::handed_over;

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, IoSlice, IoSliceMut};
    use std::mem::MaybeUninit;
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;

    use rustix::net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
        SendFlags, recvmsg, sendmsg,
    };

    use crate::plan::{Network, Plan};
    use crate::problem::Problem;

    /// Variables by which programs find a proxy. Some read only small letters, some only capitals.
    const VARIABLES: [&str; 6] = [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ];

    /// What is reached without the proxy: the loopback inside.
    const INSIDE: &str = "localhost,127.0.0.1,::1";

    /// Whoever answers the proxy's socket.
    pub(crate) struct Proxy(UnixStream);

    impl Proxy {
        /// Connects with whoever answers for the plan's network, if it has one. Later the path is out of reach.
        pub(crate) fn of(plan: &Plan) -> Result<Option<Self>, Problem> {
            let Network::Proxy(path) = &plan.network else {
                return Ok(None);
            };
            if !plan.strength.has_namespaces() {
                return Err(Problem::new("without namespaces there can be no proxy"));
            }
            let stream = UnixStream::connect(path).map_err(|error| {
                Problem::at(format!("cannot reach the proxy at {}", path.display()), error)
            })?;
            Ok(Some(Self(stream)))
        }

        /// Makes the socket in the network in which this process is now, and hands it over. Returns the variables that
        /// lead programs to it.
        pub(crate) fn hand_over(self) -> Result<Vec<(&'static str, String)>, Problem> {
            let failed = |error| Problem::at("cannot hand over the proxy's socket", error);
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
            let port = listener.local_addr().map_err(failed)?.port();
            send(&self.0, &listener).map_err(failed)?;
            let address = format!("http://127.0.0.1:{port}");
            let mut variables: Vec<_> = VARIABLES.iter().map(|name| (*name, address.clone())).collect();
            variables.extend([("no_proxy", INSIDE.to_owned()), ("NO_PROXY", INSIDE.to_owned())]);
            // Node looks at the others only if it is told to.
            variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
            Ok(variables)
        }
    }

    fn send(stream: &UnixStream, listener: &TcpListener) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        let sockets = [listener.as_fd()];
        message.push(SendAncillaryMessage::ScmRights(&sockets));
        // A message needs at least one byte.
        sendmsg(stream, &[IoSlice::new(&[0])], &mut message, SendFlags::empty())?;
        Ok(())
    }

    /// The proxy's socket, from the small program at the other end. It has to be there already.
    pub fn handed_over(stream: impl AsFd) -> io::Result<TcpListener> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::CMSG_CLOEXEC;
        recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut message, flags)?;
        let mut sockets = message.drain().filter_map(|part| match part {
            RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
            _ => None,
        });
        let socket: Option<OwnedFd> = sockets.next().and_then(|mut sockets| sockets.next());
        match socket {
            Some(socket) => Ok(TcpListener::from(socket)),
            None => Err(io::Error::other("nothing was handed over")),
        }
    }
}

/// The proxy's socket: there is none where there is nothing to confine with.
#[cfg(not(target_os = "linux"))]
pub fn handed_over(_: impl std::os::fd::AsFd) -> std::io::Result<std::net::TcpListener> {
    Err(std::io::ErrorKind::Unsupported.into())
}
