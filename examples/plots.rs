//! Lets matplotlib draw a picture in the image `python-data`, and keeps the file that the script leaves behind.
//!
//! ```sh
//! ampoule runtime install python   # once; makes both images
//! cargo run --release --example plots
//! ```

use ampoule::{Call, CancellationToken, Home, Status, WasmExecutor};

const SCRIPT: &str = r#"
import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, 10, 500)
plt.plot(x, np.sin(x) * np.exp(-x / 5))
plt.title("a damped wave")
plt.savefig("wave.png")
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let executor = WasmExecutor::builder(Home::from_env()?).allow("python", "python-data").build()?;
    let folder = tempfile::tempdir()?;
    let mut call = Call::new(SCRIPT);
    call.keep = Some(folder.path().to_owned());
    let outcome = executor.call("python", call, &CancellationToken::new()).await?;
    if outcome.status != Status::Exited(0) {
        return Err(outcome.stderr_text().into());
    }
    // A stranger's bytes: what they claim to be is looked at before they are used.
    let picture = std::fs::read(folder.path().join("wave.png"))?;
    let is_png = picture.starts_with(b"\x89PNG\r\n\x1a\n");
    println!("wave.png: {} bytes, {}", picture.len(), if is_png { "a PNG" } else { "not a PNG" });
    Ok(())
}
