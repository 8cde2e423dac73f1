//! TypeScript to JavaScript.

use std::fmt::Write;
use std::io;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::thread;

use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};
use tokio::sync::{Semaphore, oneshot};

/// The largest file that is taken.
const BYTES_AT_MOST: usize = 256 << 10;

/// The parser and what follows it call themselves for each level of nesting, and a stranger's text may be nothing but
/// nesting. A level takes a byte of text at least, and 1.6 KiB of stack at most (measured on thirty ways to nest): no
/// text can use up a stack of this much for each of its bytes. What is not used costs address space alone.
const STACK_FOR_EACH_BYTE: usize = 2 << 10;

/// The stack for a file with next to nothing in it.
const LEAST_STACK_BYTES: usize = 1 << 20;

/// The texts that are changed at once: one for each core. One that takes long goes on when its call is over, and keeps
/// its place until it is done, so that such texts cannot take more cores than there are, nor fill memory with threads.
static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(cores))
});

/// The JavaScript of a TypeScript file, with a source map at its end. The inner error is what to show its author.
///
/// It is made on a thread of its own, which goes on to its end when nobody waits for it any more.
pub(super) async fn to_javascript(path: &str, text: &str) -> io::Result<Result<String, String>> {
    if text.len() > BYTES_AT_MOST {
        return Ok(Err(format!(
            "{path}: this TypeScript file has {} bytes, and {BYTES_AT_MOST} are taken at most: divide it, or give \
             JavaScript\n",
            text.len()
        )));
    }
    let stack = LEAST_STACK_BYTES + text.len() * STACK_FOR_EACH_BYTE;
    let place = PLACES.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (sender, done) = oneshot::channel();
    let (name, text) = (path.to_owned(), text.to_owned());
    thread::Builder::new().name("ampoule-transform".to_owned()).stack_size(stack).spawn(move || {
        // Where the receiver is gone, so is the call.
        let _ = sender.send(transform(&name, &text));
        drop(place);
    })?;
    done.await.map_err(|_| io::Error::other(format!("transforming `{path}` panicked")))
}

fn transform(path: &str, text: &str) -> Result<String, String> {
    let allocator = Allocator::default();
    // Whether it is a module, its imports and exports tell, as with JavaScript.
    let kind = SourceType::ts().with_unambiguous(true);
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let mut parsed = Parser::new(&allocator, text, kind).with_options(options).parse();
    if let Some(mistake) = parsed.diagnostics.first() {
        let error = shown(path, text, mistake);
        return Err(if is_jsx(text) { format!("{error}{NO_JSX}") } else { error });
    }
    let analysed = SemanticBuilder::new().with_check_syntax_error(true).build(&parsed.program);
    if let Some(mistake) = analysed.diagnostics.first() {
        return Err(shown(path, text, mistake));
    }
    let scoping = analysed.semantic.into_scoping();
    let options = TransformOptions::default();
    let changed =
        Transformer::new(&allocator, Path::new(path), &options).build_with_scoping(scoping, &mut parsed.program);
    if let Some(mistake) = changed.diagnostics.first() {
        return Err(shown(path, text, mistake));
    }
    let options = CodegenOptions {
        comments: CommentOptions::disabled(),
        source_map_path: Some(path.into()),
        // Nobody reads it, and the indentation of what is nested deeply would be most of it.
        indent_width: 0,
        ..CodegenOptions::default()
    };
    let generated = Codegen::new().with_options(options).build(&parsed.program);
    let mut code = generated.code;
    if let Some(map) = generated.map {
        let _ = write!(code, "\n//# sourceMappingURL={}\n", map.to_data_url());
    }
    Ok(code)
}

/// What a text is told that would be right as JSX.
const NO_JSX: &str = "JSX is not taken: write the calls that its elements stand for.\n";

fn is_jsx(text: &str) -> bool {
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let allocator = Allocator::default();
    let kind = SourceType::tsx().with_unambiguous(true);
    Parser::new(&allocator, text, kind).with_options(options).parse().diagnostics.is_empty()
}

/// A mistake as the engine would show it: where it is, the line, and what is wrong.
fn shown(path: &str, text: &str, mistake: &oxc_diagnostics::OxcDiagnostic) -> String {
    let offset = mistake.labels.first().map_or(0, |label| label.offset() as usize).min(text.len());
    let before = text.get(..offset).unwrap_or_default();
    let number = before.matches('\n').count() + 1;
    let line = text.lines().nth(number - 1).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let indent: String = before[start..].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    format!("{path}:{number}\n{line}\n{indent}^\n\nSyntaxError: {}\n", mistake.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(text: &str) -> Result<String, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(to_javascript("a.ts", text)).unwrap()
    }

    fn code(text: &str) -> String {
        let code = done(text).unwrap();
        code.split("\n//# sourceMappingURL=data:application/json").next().unwrap().trim_end().to_owned()
    }

    #[test]
    fn types_go_and_what_has_a_meaning_stays() {
        let text = "interface A { x: number }\nconst f = <T,>(a: T, b?: string): T => a!;\nf<A>({ x: 1 } as A);";
        assert_eq!(code(text), "const f = (a, b) => a;\nf({ x: 1 });");
        assert!(code("enum E { A, B = 5, C }").contains("\"C\""));
        assert!(code("namespace N { export const a = 1 }").contains("N"));
        assert!(code("class P { constructor(private x: number) {} }").contains("this.x = x"));
    }

    #[test]
    fn imports_of_types_go_and_others_stay() {
        let text = "import type { T } from './t.ts';\nimport { U, v } from './u.ts';\nlet u: U = v;";
        assert_eq!(code(text), "import { v } from \"./u.ts\";\nlet u = v;");
    }

    #[test]
    fn a_mistake_is_shown_with_its_line() {
        let error = done("let a: number = 1;\nlet = ;\n").unwrap_err();
        assert!(error.starts_with("a.ts:2\nlet = ;\n") && error.contains("SyntaxError: "), "{error}");
    }

    #[test]
    fn jsx_is_said_to_be_some() {
        assert!(done("const x = <div>hi</div>;").unwrap_err().contains("JSX is not taken"));
        assert!(!done("const x = <div>hi;").unwrap_err().contains("JSX"));
    }

    #[test]
    fn no_nesting_uses_up_the_stack() {
        // What a byte may use does not depend on how many there are, and the parser's time grows faster than the text.
        const BYTES: usize = 16 << 10;
        for (open, middle, close) in [
            ("(", "1", ")"),
            ("[", "", "]"),
            ("{", "", "}"),
            ("!", "1", ""),
            ("`${", "1", "}`"),
            ("x=>", "1", ""),
            ("if(a)", "b", ""),
            ("A<", "b", ">"),
            ("a+", "b", ""),
            ("<a>", "b", ""),
            ("x=function(){return ", "1", "}"),
            ("namespace a{", "", "}"),
        ] {
            let times = BYTES / (open.len() + close.len());
            let closed = format!("{}{middle}{}", open.repeat(times), close.repeat(times));
            let unclosed = open.repeat(BYTES / open.len());
            for text in [closed, unclosed] {
                // Right or wrong, it is said and nothing falls.
                let _ = done(&text);
            }
        }
    }

    #[test]
    fn a_file_of_the_largest_size_is_taken_and_one_larger_is_refused() {
        let text = |bytes: usize| format!("/*{}*/", "x".repeat(bytes - 4));
        done(&text(BYTES_AT_MOST)).unwrap();
        let error = done(&text(BYTES_AT_MOST + 1)).unwrap_err();
        assert!(error.contains("has 262145 bytes, and 262144 are taken at most"), "{error}");
    }

    #[test]
    fn a_thousand_lines_take_less_than_ten_milliseconds() {
        let part = "export class Point<T extends number> { constructor(public x: T, readonly y: T = x) {} \n\
                    length(scale?: number): number { return Math.hypot(this.x, this.y) * (scale ?? 1); }\n}\n\
                    type Pair<A> = [A, A];\nexport const swap = <A,>([a, b]: Pair<A>): Pair<A> => [b, a];\n";
        let text: String = (0..200)
            .map(|i| {
                part.replace("Point", &format!("P{i}"))
                    .replace("swap", &format!("s{i}"))
                    .replace("Pair", &format!("Q{i}"))
            })
            .collect();
        assert!(text.lines().count() >= 1000);
        let fastest = (0..40).map(|_| {
            let start = std::time::Instant::now();
            done(&text).unwrap();
            start.elapsed()
        });
        // Where optimizations are off it takes longer, and says nothing.
        let limit = if cfg!(debug_assertions) { 1000 } else { 10 };
        let fastest = fastest.min().unwrap();
        println!("{fastest:?} for {} lines", text.lines().count());
        assert!(fastest < std::time::Duration::from_millis(limit), "{fastest:?}");
    }
}
