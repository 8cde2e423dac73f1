//! The shell, as it was installed.

use std::sync::LazyLock;

use ampoule::{Call, CancellationToken, Home, Outcome, WasmExecutor};

pub static SHELL: LazyLock<WasmExecutor> =
    LazyLock::new(|| WasmExecutor::builder(Home::from_env().unwrap()).allow("sh", "sh").build().unwrap());

pub async fn run(shell: &WasmExecutor, call: Call) -> Outcome {
    shell.call("sh", call, &CancellationToken::new()).await.unwrap()
}
