//! `install.sh` with a small release: what it installs, replaces, refuses and takes away again.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../install.sh");

/// A release in a folder, and a place to install it.
struct Release(TempDir);

fn sh(folder: &Path, line: &str) {
    let output = Command::new("sh")
        .args(["-ec", line])
        .current_dir(folder)
        .output();
    let output = output.expect("there is a shell");
    assert!(output.status.success(), "{line}: {output:?}");
}

impl Release {
    fn new() -> Self {
        let release = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(release.ship()).unwrap();
        std::fs::copy(SCRIPT, release.ship().join("install.sh")).unwrap();
        release
    }

    fn ship(&self) -> PathBuf {
        self.0.path().join("ship")
    }

    fn prefix(&self) -> PathBuf {
        self.0.path().join("a prefix")
    }

    /// Packs a version with these manual pages.
    fn pack(&self, version: &str, pages: &[&str]) {
        let name = format!("becket-{version}-{}-unknown-linux-gnu", std::env::consts::ARCH);
        let tree = self.ship().join(&name);
        for folder in ["completions", "man"] {
            std::fs::create_dir_all(tree.join(folder)).unwrap();
        }
        let texts = [
            "README.md",
            "CHANGELOG.md",
            "THIRD-PARTY.md",
            "LICENSE-MIT",
            "LICENSE-APACHE",
        ];
        let completions = [
            "completions/becket",
            "completions/_becket",
            "completions/becket.fish",
        ];
        for file in texts
            .into_iter()
            .chain(completions)
            .chain(["becket-hook", "becket-jq", "becket-sandbox"])
        {
            std::fs::write(tree.join(file), file).unwrap();
        }
        for page in pages {
            std::fs::write(tree.join("man").join(page), page).unwrap();
        }
        std::fs::write(tree.join("becket"), format!("#!/bin/sh\necho becket {version}\n")).unwrap();
        sh(
            &self.ship(),
            &format!(
                "rm -f *.tar.xz SHA256SUMS; tar -cJf {name}.tar.xz {name}; rm -r {name}; sha256sum * >SHA256SUMS"
            ),
        );
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new("sh")
            .arg(self.ship().join("install.sh"))
            .args(arguments)
            .arg("--prefix")
            .arg(self.prefix())
            .env("HOME", self.0.path())
            .output()
            .expect("there is a shell")
    }

    /// The files below the prefix.
    fn files(&self) -> Vec<String> {
        let list = Command::new("find")
            .args([".", "-type", "f"])
            .current_dir(self.prefix())
            .output();
        let list = String::from_utf8(list.unwrap().stdout).unwrap();
        let mut files: Vec<String> = list.lines().map(ToOwned::to_owned).collect();
        files.sort();
        files
    }
}

fn said(output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr];
    streams
        .map(|stream| String::from_utf8_lossy(stream).into_owned())
        .concat()
}

#[test]
fn a_release_is_installed_replaced_and_removed() {
    let release = Release::new();
    release.pack("0.1.0", &["becket.1", "becket-old.1"]);
    let output = release.run(&[]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        said(&output).contains("installed becket 0.1.0"),
        "{}",
        said(&output)
    );
    assert!(release.prefix().join("share/man/man1/becket-old.1").exists());
    std::fs::write(release.prefix().join("bin/mine"), "x").unwrap();
    release.pack("0.2.0", &["becket.1"]);
    let output = release.run(&["--from", release.ship().to_str().unwrap()]);
    assert!(
        said(&output).contains("installed becket 0.2.0"),
        "{}",
        said(&output)
    );
    assert!(
        !release.prefix().join("share/man/man1/becket-old.1").exists(),
        "it is no longer part of it"
    );
    let output = release.run(&["--uninstall"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(release.files(), ["./bin/mine"]);
    let output = release.run(&["--uninstall"]);
    assert!(
        !output.status.success() && said(&output).contains("nothing is installed"),
        "{}",
        said(&output)
    );
}

#[test]
fn what_is_not_the_release_is_not_installed() {
    let release = Release::new();
    release.pack("0.1.0", &["becket.1"]);
    for (arguments, words) in [
        (&["--version", "9.9.9"][..], "no archive"),
        (&["--from", "/nowhere"], "there is no /nowhere/SHA256SUMS"),
        (&["--from", "http://example.org/x"], "only https"),
        (&["--form", "x"], "unknown option --form"),
    ] {
        let output = release.run(arguments);
        assert!(
            !output.status.success() && said(&output).contains(words),
            "{arguments:?}: {}",
            said(&output)
        );
    }
    sh(
        &release.ship(),
        "for file in *.tar.xz; do printf x >>\"$file\"; done",
    );
    let output = release.run(&[]);
    assert!(
        !output.status.success() && said(&output).contains("nothing was installed"),
        "{}",
        said(&output)
    );
    assert!(!release.prefix().exists());
}

#[test]
fn a_release_comes_from_an_address() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !has("curl") && !has("wget") {
        return testkit::skipped("curl or wget");
    }
    let release = Release::new();
    release.pack("0.1.0", &["becket.1"]);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let folder = release.ship();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let name = request
                .split(' ')
                .nth(1)
                .unwrap_or_default()
                .trim_start_matches('/')
                .to_owned();
            let body = std::fs::read(folder.join(name)).unwrap_or_default();
            let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(&body));
        }
    });
    let output = release.run(&["--from", &address]);
    assert!(
        output.status.success() && said(&output).contains("installed becket 0.1.0"),
        "{}",
        said(&output)
    );
}
