//! TypeScript to JavaScript: types go; enums, namespaces and parameter properties become code.

use std::fmt::Write;
use std::path::Path;

use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};

use crate::mistake;

/// The JavaScript of a TypeScript file, with a source map at its end. The error is what to show the file's author.
pub fn of(path: &str, text: &str) -> Result<String, String> {
    let allocator = Allocator::default();
    // Whether it is a module, its imports and exports tell, as with JavaScript.
    let kind = SourceType::ts().with_unambiguous(true);
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let mut parsed = Parser::new(&allocator, text, kind).with_options(options).parse();
    mistake::first_of(path, text, &parsed.diagnostics)
        .map_err(|mistake| if is_jsx(text) { mistake + NO_JSX } else { mistake })?;
    let analysed = SemanticBuilder::new().with_check_syntax_error(true).build(&parsed.program);
    mistake::first_of(path, text, &analysed.diagnostics)?;
    let scoping = analysed.semantic.into_scoping();
    let options = TransformOptions::default();
    let changed =
        Transformer::new(&allocator, Path::new(path), &options).build_with_scoping(scoping, &mut parsed.program);
    mistake::first_of(path, text, &changed.diagnostics)?;
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
    let allocator = Allocator::default();
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let kind = SourceType::tsx().with_unambiguous(true);
    Parser::new(&allocator, text, kind).with_options(options).parse().diagnostics.is_empty()
}
