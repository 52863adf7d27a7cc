//! The `becket-hook` program, which other agents start for each of their events.

fn main() -> std::process::ExitCode {
    becket_hook::main()
}
