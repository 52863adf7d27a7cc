//! The `becket-jq` program, which hooks find as `jq`.

fn main() -> std::process::ExitCode {
    becket_jq::hook_jq::main()
}
