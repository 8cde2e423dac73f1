//! What lies in a home is damaged, or an install of it is cut short: nothing of it is used, and the next install works.
//!
//! The runtime is a small one of the tests' own, so that an install takes a moment.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ampoule::{
    BuildError, Call, CancellationToken, Catalog, Home, InstallError, InstallFrom, Installer, Recipe, State, Status,
    Step, WasmExecutor,
};
use tempfile::TempDir;

const MANIFEST: &str = "\
name = 'tiny'
version = '1'
extensions = ['tiny']
driver = 'command'
module = 'm.wasm'
source = { folder = '.' }
[images.tiny]
[images.tiny-too]
";

/// A command that writes what its start function put into its memory. The other functions are work for the compiler,
/// and the data makes the image larger than the code.
fn module(word: &str) -> Vec<u8> {
    let work: String = (0..60)
        .map(|n| {
            format!(
                "(func (export \"work{n}\") (param i64) (result i64) (local i64) (loop \
                 (local.set 1 (i64.mul (i64.add (local.get 1) (local.get 0)) (i64.const {n}))) \
                 (local.set 0 (i64.sub (local.get 0) (i64.const 1))) (br_if 0 (i64.ne (local.get 0) (i64.const 0)))) \
                 (local.get 1))\n"
            )
        })
        .collect();
    let filler = "x".repeat(1 << 20);
    let (length, word) = (word.len(), word.bytes().map(|byte| format!("\\{byte:02x}")).collect::<String>());
    let text = format!(
        "(module
            (import \"wasi_snapshot_preview1\" \"fd_write\"
                (func $write (param i32 i32 i32 i32) (result i32)))
            (memory (export \"memory\") 64)
            (data (i32.const 100) \"{word}\")
            (data (i32.const 65536) \"{filler}\")
            (func $begin (i32.store (i32.const 0) (i32.const 100)) (i32.store (i32.const 4) (i32.const {length})))
            (start $begin)
            {work}
            (func (export \"_start\")
                (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))))"
    );
    wat::parse_str(text).unwrap()
}

/// A folder with the runtime in it, and a home beside it.
struct Place {
    dir: TempDir,
    installer: Installer,
}

fn installer(dir: &Path) -> Installer {
    let recipe = Recipe::from_folder(&dir.join("runtime")).unwrap();
    Installer::new(Home::at(dir.join("home")), Catalog::built_in().with(recipe).unwrap())
}

/// Installs and returns the steps, or the error.
fn install(installer: &Installer) -> Result<Vec<Step>, InstallError> {
    let mut steps = Vec::new();
    installer.install("tiny", &InstallFrom::Manifest, &mut |step| steps.push(step))?;
    Ok(steps)
}

fn compiles(steps: &[Step]) -> usize {
    steps.iter().filter(|step| matches!(step, Step::Compile { .. })).count()
}

impl Place {
    /// Nothing is installed yet.
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("runtime")).unwrap();
        fs::write(dir.path().join("runtime/runtime.toml"), MANIFEST).unwrap();
        fs::write(dir.path().join("runtime/m.wasm"), module("hi")).unwrap();
        let installer = installer(dir.path());
        Place { dir, installer }
    }

    fn installed() -> Place {
        let place = Place::new();
        assert_eq!(compiles(&install(&place.installer).unwrap()), 1);
        place.works("hi");
        place
    }

    fn home(&self, path: &str) -> PathBuf {
        self.dir.path().join("home").join(path)
    }

    fn record(&self) -> PathBuf {
        self.home("runtimes/tiny/installed.json")
    }

    /// The names in a folder of the home; none if there is no such folder.
    fn names(&self, folder: &str) -> Vec<PathBuf> {
        fs::read_dir(self.home(folder)).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    }

    fn code(&self) -> PathBuf {
        let names = self.names("code");
        assert_eq!(names.len(), 1, "{names:?}");
        names[0].clone()
    }

    /// The image that both images of the runtime are.
    fn image(&self) -> PathBuf {
        let record: serde_json::Value = serde_json::from_slice(&fs::read(self.record()).unwrap()).unwrap();
        self.home(record["images"]["tiny"]["memory"]["path"].as_str().unwrap())
    }

    fn load(&self, image: &str) -> Result<WasmExecutor, BuildError> {
        let home = self.installer.home().clone();
        WasmExecutor::builder(home).allow("tiny", image).scratch_folder(self.dir.path()).build()
    }

    /// Both images run, and write this.
    #[track_caller]
    fn works(&self, word: &str) {
        for image in ["tiny", "tiny-too"] {
            let executor = self.load(image).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let outcome = runtime.block_on(executor.call("tiny", Call::new(""), &CancellationToken::new())).unwrap();
            assert_eq!((&outcome.status, outcome.stdout_text().as_str()), (&Status::Exited(0), word));
        }
        assert!(matches!(self.installer.verify("tiny").unwrap(), State::Ready));
    }

    /// Loading fails with all of this in its message, and the command that mends it.
    #[track_caller]
    fn is_not_loaded(&self, said: &[&str]) {
        for image in ["tiny", "tiny-too"] {
            let Err(error) = self.load(image).map(drop) else { panic!("{image} was loaded") };
            let error = error.to_string();
            for said in said.iter().chain(&["run `ampoule runtime install tiny"]) {
                assert!(error.contains(said), "no {said:?} in: {error}");
            }
        }
    }

    /// Verifying says that the file is damaged, and how.
    #[track_caller]
    fn is_damaged(&self, file: &Path, said: &str) {
        match self.installer.verify("tiny").unwrap() {
            State::Damaged(error) => {
                let error = error.to_string();
                assert!(error.contains(&format!("`{}`", file.display())) && error.contains(said), "{error}");
            }
            state => panic!("{state:?}"),
        }
    }

    /// An install makes it anew, and leaves nothing unfinished.
    #[track_caller]
    fn is_mended(&self) {
        install(&self.installer).unwrap();
        self.works("hi");
        assert!(self.names("partial").is_empty());
    }
}

/// Cuts a file short.
fn truncate(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
}

/// Changes a byte in the middle of a file, and its time to this one.
fn tamper(path: &Path, time: SystemTime) {
    let mut content = fs::read(path).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(path, content).unwrap();
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn time(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn a_file_that_was_cut_short_is_named_and_not_loaded_and_an_install_mends_it() {
    let place = Place::installed();
    for path in [place.code(), place.image()] {
        let length = fs::metadata(&path).unwrap().len();
        truncate(&path);
        let said = format!("it holds {} bytes, but {length} were written", length / 2);
        place.is_damaged(&path, &said);
        place.is_not_loaded(&["the runtime `tiny` cannot be loaded", &path.display().to_string(), &said]);
        place.is_mended();
    }
}

#[test]
fn a_file_that_was_tampered_with_is_named_and_not_loaded_and_an_install_mends_it() {
    let place = Place::installed();
    for path in [place.code(), place.image()] {
        tamper(&path, time(&path) + Duration::from_secs(1));
        place.is_damaged(&path, "its SHA-256 is");
        place.is_not_loaded(&["the runtime `tiny` cannot be loaded", &path.display().to_string(), "its SHA-256 is"]);
        place.is_mended();
    }
}

#[test]
fn tampering_that_hides_behind_the_old_time_is_found_by_verifying_and_an_install_mends_it() {
    let place = Place::installed();
    for path in [place.code(), place.image()] {
        tamper(&path, time(&path));
        assert!(matches!(place.installer.state("tiny").unwrap(), State::Ready));
        place.is_damaged(&path, "its SHA-256 is");
        place.is_mended();
    }
}

#[cfg(unix)]
#[test]
fn code_that_others_may_write_or_that_lies_where_they_may_is_not_loaded() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::installed();
    let code = place.code();
    for path in [code.as_path(), code.parent().unwrap()] {
        let was = fs::metadata(path).unwrap().permissions();
        for mode in [0o777, 0o720, 0o702] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            let Err(error) = place.load("tiny").map(drop) else { panic!("loaded with mode {mode:o}") };
            let error = error.to_string();
            let said = format!("`{}` can be written by others (mode {mode:o})", path.display());
            assert!(error.contains(&said) && error.contains("cannot be trusted"), "{error}");
        }
        fs::set_permissions(path, was).unwrap();
        place.works("hi");
    }
}

#[test]
fn a_file_that_is_gone_is_named_and_an_install_mends_it() {
    let place = Place::installed();
    for path in [place.code(), place.image()] {
        fs::remove_file(&path).unwrap();
        place.is_damaged(&path, "No such file");
        place.is_not_loaded(&[&path.display().to_string(), "No such file"]);
        place.is_mended();
    }
    let folder = place.names("runtimes/tiny").into_iter().find(|path| path.is_dir()).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    place.is_damaged(&folder, "the folder is missing");
    place.is_not_loaded(&[&folder.display().to_string(), "the folder is missing"]);
    place.is_mended();
}

#[test]
fn a_record_that_cannot_be_read_is_named_and_an_install_mends_it() {
    let place = Place::installed();
    let sound = fs::read_to_string(place.record()).unwrap();
    let outside = sound.replace("code/", "../code/");
    assert_ne!(outside, sound);
    let half = &sound[..sound.len() / 2];
    let unlike = sound.replace("\"driver\"", "\"river\"");
    for (damaged, said) in [
        ("", "EOF"),
        (half, "EOF"),
        ("\0\0\0\0", "expected value"),
        (&unlike, "missing field `driver`"),
        (&outside, "no path inside the home"),
    ] {
        fs::write(place.record(), damaged).unwrap();
        place.is_damaged(&place.record(), said);
        place.is_not_loaded(&[]);
        place.is_mended();
    }
    fs::write(place.record(), [0xFF, 0xFE]).unwrap();
    place.is_damaged(&place.record(), "UTF-8");
    place.is_mended();
}

#[test]
fn a_record_of_another_format_counts_as_not_installed() {
    let place = Place::installed();
    let record = fs::read_to_string(place.record()).unwrap().replace("\"format\": ", "\"format\": 9");
    for other in [&record, "{}", "[]"] {
        fs::write(place.record(), other).unwrap();
        assert!(matches!(place.installer.state("tiny").unwrap(), State::Missing));
        place.is_not_loaded(&["is not installed"]);
        place.is_mended();
    }
}

#[test]
fn the_damaged_record_of_one_runtime_does_not_keep_another_from_loading() {
    let place = Place::installed();
    fs::create_dir(place.home("runtimes/another")).unwrap();
    fs::write(place.home("runtimes/another/installed.json"), "{").unwrap();
    place.works("hi");
}

#[test]
fn code_for_another_engine_is_never_loaded_and_an_install_makes_it_anew() {
    let place = Place::installed();
    let record = fs::read_to_string(place.record()).unwrap();
    let code = place.code();
    let name = code.file_stem().unwrap().to_str().unwrap();
    let (digest, fingerprint) = name.rsplit_once('-').unwrap();
    let other = "0123456789abcdef";
    fs::rename(&code, code.with_file_name(format!("{digest}-{other}.cwasm"))).unwrap();
    fs::write(place.record(), record.replace(fingerprint, other)).unwrap();
    assert!(matches!(place.installer.state("tiny").unwrap(), State::Outdated));
    let said = format!("compiled for another version of the engine ({other}, not {fingerprint})");
    place.is_not_loaded(&["the runtime `tiny` cannot be loaded", &said]);
    assert_eq!(compiles(&install(&place.installer).unwrap()), 1);
    place.works("hi");
    assert_eq!(place.code(), code);
}

#[test]
fn an_install_of_what_is_ready_does_nothing_and_another_module_replaces_it() {
    let place = Place::installed();
    assert_eq!(install(&place.installer).unwrap(), []);
    fs::write(place.dir.path().join("runtime/m.wasm"), module("other")).unwrap();
    assert!(matches!(place.installer.state("tiny").unwrap(), State::Outdated));
    install(&place.installer).unwrap();
    place.works("other");
}

#[test]
fn an_install_that_fails_leaves_what_was_installed_before() {
    let place = Place::installed();
    let path = place.dir.path().join("runtime/m.wasm");
    for (content, said) in [
        (b"junk".to_vec(), "the module `m.wasm`"),
        (wat::parse_str("(module (memory 1) (memory 1))").unwrap(), "the module `m.wasm`"),
    ] {
        fs::write(&path, content).unwrap();
        let error = install(&place.installer).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        assert!(place.load("tiny").is_ok());
        assert!(place.names("partial").is_empty());
    }
    fs::remove_file(&path).unwrap();
    let error = install(&place.installer).unwrap_err().to_string();
    assert!(error.contains("m.wasm` cannot be read") && error.contains("No such file"), "{error}");
    assert!(place.load("tiny").is_ok());
    fs::write(&path, module("hi")).unwrap();
    place.is_mended();
}

#[test]
fn installs_at_once_by_threads_do_the_work_once() {
    let place = Place::new();
    let steps: Vec<Vec<Step>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| install(&place.installer).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(steps.iter().map(|steps| compiles(steps)).sum::<usize>(), 1, "{steps:?}");
    place.works("hi");
    assert!(place.names("partial").is_empty());
}

#[test]
fn what_killed_installs_left_unfinished_is_swept_by_the_next() {
    let place = Place::installed();
    fs::create_dir_all(place.home("partial/tiny.killed/files")).unwrap();
    fs::write(place.home("partial/tiny.killed/image"), "half").unwrap();
    truncate(&place.code());
    place.is_mended();
}

/// Installs in processes of their own, which a shell limits and the tests kill.
#[cfg(unix)]
mod processes {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Child, ChildStdout, Command, Stdio};
    use std::time::Instant;

    use super::*;

    impl Place {
        /// The install of this place in a process of its own, under a shell that first does this.
        fn child(&self, first: &str) -> Running {
            let mut command = Command::new("sh");
            command.arg("-c").arg(format!("{first} exec \"$0\" \"$@\""));
            command.arg(std::env::current_exe().unwrap());
            command.args(["--exact", "processes::installs_in_a_process_of_its_own", "--ignored", "--nocapture"]);
            command.env(PLACE, self.dir.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            Running(command.spawn().unwrap())
        }
    }

    /// A process that is ended with the test, however that ends.
    struct Running(Child);

    impl Running {
        /// Waits until the install begins.
        fn begun(&mut self) -> BufReader<ChildStdout> {
            let mut reader = BufReader::new(self.0.stdout.take().unwrap());
            let mut line = String::new();
            while !line.contains("begins") {
                line.clear();
                assert!(reader.read_line(&mut line).unwrap() > 0, "the process ended before it began");
            }
            reader
        }

        /// What it wrote to its end.
        fn output(mut self) -> String {
            let mut text = String::new();
            self.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
            self.0.stderr.take().unwrap().read_to_string(&mut text).unwrap();
            self.0.wait().unwrap();
            text
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Names the folder of the place to the process that installs.
    const PLACE: &str = "AMPOULE_TEST_PLACE";

    #[test]
    #[ignore = "other tests start it, in a process of its own"]
    fn installs_in_a_process_of_its_own() {
        let Some(dir) = std::env::var_os(PLACE) else { return };
        println!("begins");
        match install(&installer(Path::new(&dir))) {
            Ok(steps) => println!("installed: {steps:?}"),
            Err(error) => println!("error: {error}"),
        }
    }

    #[test]
    fn installs_at_once_by_processes_do_the_work_once() {
        let place = Place::new();
        let children = [place.child(""), place.child("")];
        let texts = children.map(Running::output);
        assert!(texts.iter().all(|text| text.contains("installed: ")), "{texts:?}");
        assert_eq!(texts.iter().filter(|text| text.contains("Compile")).count(), 1, "{texts:?}");
        place.works("hi");
        assert!(place.names("partial").is_empty());
    }

    #[test]
    fn an_install_that_is_killed_at_any_moment_harms_nothing_and_the_next_one_works() {
        const TIMES: u32 = 20;
        let whole = Place::new();
        let mut child = whole.child("");
        let mut reader = child.begun();
        let start = Instant::now();
        reader.read_to_string(&mut String::new()).unwrap();
        let whole = start.elapsed();
        let mut unfinished = 0;
        for time in 0..TIMES {
            let place = Place::new();
            let mut child = place.child("");
            let _reader = child.begun();
            std::thread::sleep(whole * time / TIMES);
            child.0.kill().unwrap();
            child.0.wait().unwrap();
            match place.installer.verify("tiny").unwrap() {
                State::Missing => {
                    unfinished += 1;
                    place.is_not_loaded(&["is not installed"]);
                }
                State::Ready => place.works("hi"),
                state => panic!("killed after {:?}: {state:?}", whole * time / TIMES),
            }
            place.is_mended();
        }
        assert!(unfinished > 0, "each was done before it was killed");
    }

    #[test]
    fn a_disk_that_is_full_fails_the_install_with_the_file_and_the_next_one_works() {
        let sound = Place::installed();
        let blocks = |path: &Path| fs::metadata(path).unwrap().len() / 512;
        let (code, image) = (blocks(&sound.code()), blocks(&sound.image()));
        assert!(code < image, "the code of {code} blocks would hide an image of {image}");
        for (limit, file) in [(0, "home/code/"), (code / 2, "home/code/"), ((code + image) / 2, "home/partial/tiny.")] {
            let place = Place::new();
            // A file that grows beyond the limit is a write that fails, as on a full disk, once the signal is ignored.
            let text = place.child(&format!("trap '' XFSZ; ulimit -f {limit};")).output();
            let named = format!("error: `{}", place.dir.path().join(file).display());
            assert!(text.contains(&named) && text.contains("File too large"), "{limit}: {text}");
            assert!(matches!(place.installer.state("tiny").unwrap(), State::Missing));
            place.is_not_loaded(&["is not installed"]);
            for folder in ["partial", "images", "runtimes"] {
                assert!(place.names(folder).iter().all(|path| !path.is_file()), "{folder}");
            }
            assert!(place.names("code").iter().all(|path| path.extension().is_some_and(|found| found == "cwasm")));
            place.is_mended();
        }
    }
}

#[test]
fn a_damaged_record_can_be_removed() {
    let place = Place::installed();
    fs::write(place.record(), "{").unwrap();
    assert!(installer(place.dir.path()).remove("tiny").unwrap());
    assert!(!place.record().exists());
    // One of a runtime that the catalog does not know, too.
    let unknown = place.home("runtimes/unknown");
    fs::create_dir_all(&unknown).unwrap();
    fs::write(unknown.join("installed.json"), "{").unwrap();
    assert!(installer(place.dir.path()).remove("unknown").unwrap());
    assert!(!unknown.exists());
}
