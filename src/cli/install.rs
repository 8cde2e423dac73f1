//! Installing with something to look at.

use std::time::Duration;

use ampoule::{InstallFrom, Installer, State, Step};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use super::exit::NotInstalled;
use super::say;

/// Installs the runtime with the image `image`, showing each step on standard error.
pub fn install(installer: &Installer, image: &str, from: &InstallFrom) -> anyhow::Result<()> {
    let mut shown = Shown::default();
    let result = installer.install(image, from, &mut |step| shown.step(&step));
    shown.end(result.is_ok());
    Ok(result?)
}

/// Makes sure that the runtime is there, installing it after saying so unless `may_install` is false.
pub fn ensure(installer: &Installer, image: &str, may_install: bool) -> anyhow::Result<()> {
    let why = match installer.state(image)? {
        State::Ready => return Ok(()),
        State::Missing => "is not installed".to_owned(),
        State::Outdated => "is of another version of ampoule".to_owned(),
        State::Damaged(error) => format!("is damaged ({error})"),
        _ => "cannot be used".to_owned(),
    };
    if !may_install {
        return Err(NotInstalled { image: image.to_owned(), why }.into());
    }
    say(format_args!("the runtime `{image}` {why}; installing it, once: this takes two to five minutes"));
    install(installer, image, &InstallFrom::default())
}

/// The step that is being shown.
#[derive(Default)]
pub struct Shown {
    bar: Option<(ProgressBar, String)>,
}

impl Shown {
    pub fn step(&mut self, step: &Step) {
        self.end(true);
        let text = match step {
            Step::Waiting => "waiting for another install of it".to_owned(),
            Step::Fetch { package, bytes } => format!("fetching {package} ({})", HumanBytes(*bytes)),
            Step::Extract => "verifying and unpacking".to_owned(),
            Step::Compile { bytes } => format!("compiling {} of WebAssembly", HumanBytes(*bytes)),
            Step::Warm { image } => format!("warming the image {image}"),
            _ => "working".to_owned(),
        };
        let bar = ProgressBar::new_spinner().with_message(text.clone());
        if bar.is_hidden() {
            // No terminal: a line for each step as it begins.
            say(&text);
        }
        bar.set_style(ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("the template is a constant"));
        bar.enable_steady_tick(Duration::from_millis(100));
        self.bar = Some((bar, text));
    }

    pub fn end(&mut self, done: bool) {
        if let Some((bar, text)) = self.bar.take() {
            let elapsed = bar.elapsed().as_secs();
            let visible = !bar.is_hidden();
            bar.finish_and_clear();
            if visible && done {
                say(format_args!("{text}: {elapsed} s"));
            }
        }
    }
}
