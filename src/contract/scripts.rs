//! The scripts that the claims run.

/// A script's text for each thing that the claims need done. Take a language's and replace what is different in yours.
///
/// A field that is an `Option` is for what a language, or its sandbox, may be unable to do; `None` leaves that part of
/// the claim out.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Scripts {
    /// Copies standard input to standard output.
    pub copies_input: String,
    /// Writes `out` and a newline to standard output, `err` and a newline to standard error, and ends with 7.
    pub fails: String,
    /// Writes 1,000 times `o` to standard output, then 600 times `e` to standard error, and nothing else.
    pub writes: String,
    /// Writes the ten bytes of `aé€😀` 100 times to standard output, and nothing else.
    pub writes_wide: String,
    /// Writes to standard output without end, as fast as it can.
    pub writes_endlessly: String,
    /// Writes `before` and a newline, then sleeps for 30 s.
    pub sleeps: String,
    /// Writes `before` and a newline, then computes without end.
    pub computes: String,
    /// Writes `before` and a newline, then waits for input that does not come for 30 s.
    pub waits_for_input: Option<String>,
    /// Writes `before` and a newline, then waits for a child that sleeps for 30 s.
    pub waits_for_child: Option<String>,
    /// Writes `before` and a newline, starts a child that sleeps for 30 s and holds both output streams open, and ends.
    pub leaves_child: Option<String>,
    /// Writes each variable of the environment as a line `NAME=value`.
    pub lists_environment: String,
    /// Makes an empty file, named like the skill (`TRACON_SKILL_NAME`), in `TRACON_SKILL_TEMP`; waits 300 ms; writes
    /// that directory's path on a line, then the names in it, one to a line.
    pub marks_directory: String,
    /// Reads a path from standard input, without a newline at its end, and writes `there` or `gone` and a newline.
    pub looks_for_path: String,
    /// Writes `content` and a newline.
    pub says_content: String,
    /// Writes `file` and a newline.
    pub says_file: String,
    /// Ends well without reading its input.
    pub does_nothing: String,
    /// Crashes, in the worst way the language has.
    pub crashes: Option<String>,
}

impl Scripts {
    /// In the shell of POSIX.
    pub fn sh() -> Scripts {
        Scripts {
            copies_input: "cat".into(),
            fails: "echo out; echo err >&2; exit 7".into(),
            writes: "printf '%01000d' 0 | tr 0 o; printf '%0600d' 0 | tr 0 e >&2".into(),
            writes_wide: "i=0; while [ $i -lt 100 ]; do printf 'aé€😀'; i=$((i+1)); done".into(),
            writes_endlessly: "line=0123456789; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do line=$line$line; done; \
                               while :; do echo \"$line\"; done"
                .into(),
            sleeps: "echo before; sleep 30".into(),
            computes: "echo before; while :; do :; done".into(),
            waits_for_input: Some("echo before; sleep 30 | cat".into()),
            waits_for_child: Some("echo before; sh -c 'sleep 30; echo after'".into()),
            leaves_child: Some("echo before; sleep 30 & exit 0".into()),
            lists_environment: "env".into(),
            marks_directory: r#": >"$TRACON_SKILL_TEMP/$TRACON_SKILL_NAME"; sleep 0.3
                echo "$TRACON_SKILL_TEMP"; ls -A "$TRACON_SKILL_TEMP""#
                .into(),
            looks_for_path: r#"path=$(cat); if [ -e "$path" ]; then echo there; else echo gone; fi"#.into(),
            says_content: "echo content".into(),
            says_file: "echo file".into(),
            does_nothing: "true".into(),
            crashes: Some("kill -9 $$".into()),
        }
    }

    /// In Python 3.
    pub fn python() -> Scripts {
        let before = "print('before', flush=True)\n";
        let children = |rest: &str| Some(format!("import subprocess\n{before}{rest}"));
        Scripts {
            copies_input: "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)".into(),
            fails: "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)".into(),
            writes: "import sys; sys.stdout.write('o' * 1000); sys.stdout.flush(); sys.stderr.write('e' * 600)".into(),
            writes_wide: "import sys; sys.stdout.buffer.write('aé€😀'.encode() * 100)".into(),
            writes_endlessly: "import sys\nwhile True: sys.stdout.write('0' * 60000 + '\\n')".into(),
            sleeps: format!("import time\n{before}time.sleep(30)"),
            computes: format!("{before}while True: pass"),
            waits_for_input: children("subprocess.run('sleep 30 | cat', shell=True)"),
            waits_for_child: children("subprocess.run(['sleep', '30'])"),
            leaves_child: children("subprocess.Popen(['sleep', '30'])"),
            lists_environment: "import os\nfor pair in os.environ.items(): print('='.join(pair))".into(),
            marks_directory: "import os, time\nfolder = os.environ['TRACON_SKILL_TEMP']\n\
                              open(folder + '/' + os.environ['TRACON_SKILL_NAME'], 'w').close()\ntime.sleep(0.3)\n\
                              print(folder, *os.listdir(folder), sep='\\n')"
                .into(),
            looks_for_path: "import os, sys; print('there' if os.path.exists(sys.stdin.read()) else 'gone')".into(),
            says_content: "print('content')".into(),
            says_file: "print('file')".into(),
            does_nothing: "pass".into(),
            crashes: Some("import os; os.abort()".into()),
        }
    }

    /// In JavaScript, for Node's command line.
    pub fn javascript() -> Scripts {
        let before = "console.log('before');\n";
        let children = |rest: &str| Some(format!("const child = require('node:child_process');\n{before}{rest}"));
        let files = |rest: &str| format!("const fs = require('node:fs');\n{rest}");
        Scripts {
            copies_input: files("fs.writeSync(1, fs.readFileSync(0));"),
            fails: "console.log('out'); console.error('err'); process.exitCode = 7;".into(),
            writes: files("fs.writeSync(1, 'o'.repeat(1000)); fs.writeSync(2, 'e'.repeat(600));"),
            writes_wide: files("fs.writeSync(1, 'aé€😀'.repeat(100));"),
            writes_endlessly: files("const line = '0'.repeat(60000) + '\\n'; while (true) fs.writeSync(1, line);"),
            sleeps: format!("{before}setTimeout(() => {{}}, 30000);"),
            computes: format!("{before}while (true) {{}}"),
            waits_for_input: children("child.spawnSync('sh', ['-c', 'sleep 30 | cat']);"),
            waits_for_child: children("child.spawnSync('sleep', ['30']);"),
            leaves_child: children("child.spawn('sleep', ['30'], { stdio: 'inherit' }).unref();"),
            lists_environment: "for (const pair of Object.entries(process.env)) console.log(pair.join('='));".into(),
            marks_directory: files(
                "const folder = process.env.TRACON_SKILL_TEMP;\n\
                 fs.writeFileSync(`${folder}/${process.env.TRACON_SKILL_NAME}`, '');\n\
                 setTimeout(() => console.log([folder, ...fs.readdirSync(folder)].join('\\n')), 300);",
            ),
            looks_for_path: files("console.log(fs.existsSync(fs.readFileSync(0, 'utf8')) ? 'there' : 'gone');"),
            says_content: "console.log('content');".into(),
            says_file: "console.log('file');".into(),
            does_nothing: ";".into(),
            crashes: Some("process.abort();".into()),
        }
    }

    /// Without what needs child processes: for a sandbox that has none.
    pub fn without_children(self) -> Scripts {
        Scripts { waits_for_input: None, waits_for_child: None, leaves_child: None, ..self }
    }
}
