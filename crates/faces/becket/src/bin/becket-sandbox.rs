//! The `becket-sandbox` program, which confines itself and becomes another one.

fn main() -> std::process::ExitCode {
    becket_sandbox::launcher::main()
}
