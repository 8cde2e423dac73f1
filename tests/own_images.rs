//! Images of the user's own: another's memory after one more warm-up.
//!
//! Needs the runtimes: `ampoule runtime install python`, `sh` and `javascript`.

#[allow(dead_code, reason = "each test uses a part of it")]
mod program;

use std::time::{Duration, Instant};

use program::{Place, Ran};

/// A name for an image in the home that other tests use, too. It is removed with the test.
struct Image {
    place: Place,
    name: String,
}

impl Image {
    fn new(name: &str) -> Image {
        Image { place: Place::new(), name: format!("test-{name}-{}", std::process::id()) }
    }

    /// Makes it from `from` after the warm-up `text`, with these words besides.
    fn try_build(&self, from: &str, text: &str, words: &[&str]) -> Ran {
        self.place.write("warm", text);
        let mut command =
            self.place.ampoule(["image", "build", "--from", from, "--warm", "warm", "--name", &self.name]);
        self.place.end(command.args(words))
    }

    #[track_caller]
    fn build(&self, from: &str, text: &str, words: &[&str]) {
        let ran = self.try_build(from, text, words);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!ran.stderr.contains("compiling"), "{}", ran.stderr);
    }

    /// It is not made, for this reason, and nothing of it is there.
    #[track_caller]
    fn is_refused(&self, from: &str, text: &str, words: &[&str], said: &[&str]) {
        self.try_build(from, text, words).fails(125, said);
        let list = self.place.end(&mut self.place.ampoule(["image", "list"])).stdout;
        assert!(!list.contains(&self.name), "{list}");
    }

    #[track_caller]
    fn run(&self, code: &str) -> Ran {
        self.place.run(["--image", &self.name, "-e", code])
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = self.place.ampoule(["image", "remove", &self.name]).output();
    }
}

#[test]
fn a_script_finds_what_the_warm_up_imported_and_read() {
    let image = Image::new("data");
    image.place.write("data.csv", "a,b\n1,2\n3,4\n");
    let warm = "import csv, wave\nwith open('data.csv') as file:\n    rows = list(csv.DictReader(file))\n";
    image.build("python", warm, &["--file", "data.csv"]);
    let script = "import sys\nfrom ampoule_image import rows\nprint(rows[1]['b'], 'wave' in sys.modules)";
    image.run(script).prints("4 True\n");
    // The files themselves were the warm-up's.
    image.run("import os; print(os.listdir())").prints("[]\n");
}

#[test]
fn the_image_is_as_sealed_as_the_one_it_was_made_from() {
    let image = Image::new("sealed");
    let warm = "import os, random, sys, tempfile, uuid\nrandom.seed(1)\nrandom.random()\nos.environ['LEFT'] = 'x'\n\
                sys.argv = ['left']\nsys.path.append('/left')\nprint('said')\n";
    image.build("python", warm, &[]);
    let script = "import os, random, sys, __main__\nprint(random.random(), file=sys.stderr)\n\
                  print('LEFT' in os.environ, sys.argv, hasattr(__main__, 'warm_up'), os.getcwd() == os.environ['HOME'])";
    let (first, second) = (image.run(script), image.run(script));
    first.prints("False ['script.py'] False True\n");
    assert_ne!(first.stderr, second.stderr, "two calls share random numbers");
}

#[test]
fn a_shell_keeps_the_functions_and_variables_of_its_warm_up() {
    let image = Image::new("sh");
    image.build("sh", "greeting=hello\ngreet() { echo \"$greeting, $1\"; }\n", &[]);
    image.place.write("script.sh", "greet \"$1\"\n");
    image.place.run(["--image", &image.name, "script.sh", "--", "world"]).prints("hello, world\n");
}

#[test]
fn javascript_keeps_the_globals_of_its_warm_up_and_random_numbers_of_each_call() {
    let image = Image::new("js");
    image.build("javascript", "globalThis.rows = [1, 2];\nglobalThis.seen = Math.random();\n", &[]);
    image.place.write("script.js", "console.log(rows.length, process.argv.length);\nconsole.error(Math.random());\n");
    let run = || image.place.run(["--image", &image.name, "script.js"]);
    let (first, second) = (run(), run());
    first.prints("2 2\n");
    assert_ne!(first.stderr, second.stderr, "two calls share random numbers");
    let bad = Image::new("js-bad");
    bad.is_refused("javascript", "let x = 1;\nthrow new Error('what is wrong');\n", &[], &["what is wrong"]);
    bad.is_refused("javascript", "process.exitCode = 3;", &[], &["status 3"]);
}

#[test]
fn an_image_takes_about_the_time_of_its_warm_up() {
    let image = Image::new("time");
    let start = Instant::now();
    image.build("sh", ":", &[]);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn an_image_is_listed_verified_replaced_and_removed() {
    let image = Image::new("list");
    image.build("sh", "x=1", &[]);
    image.build("sh", "x=2", &[]);
    image.place.write("script.sh", "echo $x\n");
    image.place.run(["--image", &image.name, "script.sh"]).prints("2\n");
    let run = |words: &[&str]| image.place.end(&mut image.place.ampoule(words));
    let list = run(&["image", "list"]).stdout;
    assert!(
        list.lines().any(|line| line.starts_with(&image.name) && line.contains("ready") && line.ends_with("from sh"))
    );
    run(&["image", "verify", &image.name]).prints(&format!("{}: ready\n", image.name));
    run(&["image", "remove", &image.name]).prints("");
    run(&["image", "remove", &image.name]).fails(125, &["no image named", &image.name]);
    run(&["run", "--image", &image.name, "-e", ""]).fails(127, &[&image.name]);
}

#[test]
fn an_image_can_be_made_from_an_image_of_one_s_own() {
    let (first, second) = (Image::new("first"), Image::new("second"));
    first.build("sh", "x=1", &[]);
    second.build(&first.name, "y=2", &[]);
    second.place.write("script.sh", "echo $x$y\n");
    second.place.run(["--image", &second.name, "script.sh"]).prints("12\n");
}

#[test]
fn a_warm_up_that_fails_loops_or_leaves_a_file_open_makes_no_image() {
    let image = Image::new("bad");
    image.is_refused("python", "x = 1\n1/0\n", &[], &["ZeroDivisionError", "line 2"]);
    image.is_refused("python", "def f(:\n", &[], &["SyntaxError"]);
    image.is_refused("python", "import sys; sys.exit(3)", &[], &["status"]);
    image.is_refused("python", "while True: pass", &["--timeout", "1s"], &["longer than 1s"]);
    image.is_refused("python", "import time; time.sleep(60)", &["--timeout", "1s"], &["longer than 1s"]);
    image.is_refused("python", "f = open('f', 'w')", &[], &["left a file open"]);
    image.is_refused("python", "import os; os.abort()", &[], &["unreachable"]);
    image.is_refused("python", "x = [bytearray(1 << 30) for _ in range(4)]", &[], &["MemoryError"]);
    image.is_refused("sh", "false", &[], &["ended with status 1"]);
}

#[test]
fn names_that_are_taken_unknown_or_no_names_are_refused() {
    let image = Image::new("name");
    image.try_build("nothing", ":", &[]).fails(127, &["no runtime named `nothing`"]);
    for (name, said) in [("python", "`python` is taken"), ("python-data", "is taken"), ("../x", "lower-case letters")] {
        image.place.write("warm", ":");
        let ran = image
            .place
            .end(&mut image.place.ampoule(["image", "build", "--from", "sh", "--warm", "warm", "--name", name]));
        ran.fails(125, &[said]);
    }
}

#[test]
fn an_image_outlives_the_runtime_that_it_was_made_from() {
    let place = Place::new();
    let run = |words: &[&str]| place.end(place.ampoule(words).env("AMPOULE_HOME", place.path("home")));
    place.write("warm", "x=kept");
    run(&["image", "build", "--from", "sh", "--warm", "warm", "--name", "mine"]).fails(125, &["`sh` is not installed"]);
    assert_eq!(run(&["runtime", "install", "sh"]).code, Some(0));
    assert_eq!(run(&["image", "build", "--from", "sh", "--warm", "warm", "--name", "mine"]).code, Some(0));
    run(&["runtime", "remove", "sh"]).prints("");
    place.write("script.sh", "echo $x\n");
    run(&["run", "--no-install", "--image", "mine", "script.sh"]).prints("kept\n");
}

#[test]
fn an_image_is_not_made_from_itself_or_from_one_that_was_made_from_it() {
    let (first, second) = (Image::new("first"), Image::new("second"));
    first.build("sh", "a=1", &[]);
    first.try_build(&first.name, "b=1", &[]).fails(125, &["is the image itself, or was made from it"]);
    second.build(&first.name, "b=2", &[]);
    first.try_build(&second.name, "c=3", &[]).fails(125, &["is the image itself, or was made from it"]);
    second.run("echo $a $b").prints("1 2\n");
}
