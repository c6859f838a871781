//! What `cargo xtask` does to the core modules built by cargo. A separate program, since it takes far longer to compile
//! than the build script, which can start other work meanwhile.

mod order;
mod panics;
mod places;

use anyhow::{Context, Result, bail, ensure};
use std::env;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use wasm_bindgen_cli_support::Bindgen;
use wasmparser::{Parser, Payload, Validator, WasmFeatures};
use wit_component::ComponentEncoder;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // The message for a person, without a backtrace, which would help nobody.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["glue", module, folder, name] => glue(Path::new(module), Path::new(folder), name),
        ["component", module, out] => component(Path::new(module), Path::new(out)),
        ["order", module, window, common] => order(Path::new(module), window.parse()?, common.parse()?),
        ["places", module] => places(Path::new(module)),
        _ => bail!(
            "usage: xtask-wasm glue MODULE FOLDER NAME | component MODULE OUT | order MODULE WINDOW COMMON | places MODULE"
        ),
    }
}

/// Writes a module for JavaScript, its glue and its types into a folder.
fn glue(module: &Path, folder: &Path, name: &str) -> Result<()> {
    let mut bindgen = Bindgen::new();
    // While functions still have names.
    let module = panics::without(&read(module)?).context("the module cannot be read")?;
    bindgen.input_bytes(name, module).out_name(name).typescript(true);
    bindgen.remove_name_section(true).remove_producers_section(true);
    bindgen.web(true)?.generate(folder).context("wasm-bindgen failed")
}

/// Names a module's functions by the order in which they compress well.
fn order(module: &Path, window: usize, common: usize) -> Result<()> {
    let named = order::named(&read(module)?, window, common).context("the module cannot be read")?;
    fs::write(module, named).with_context(|| format!("cannot write {}", module.display()))
}

/// Removes panics, as far as their functions have names, and their source locations from a module.
fn places(module: &Path) -> Result<()> {
    let without = panics::without(&read(module)?).and_then(|module| places::without(&module));
    let without = without.context("the module cannot be read")?;
    fs::write(module, without).with_context(|| format!("cannot write {}", module.display()))
}

/// Wraps a module into a component, which must import nothing.
fn component(module: &Path, out: &Path) -> Result<()> {
    let component = ComponentEncoder::default()
        .module(&read(module)?)
        .and_then(|encoder| encoder.validate(true).encode())
        .context("the module cannot be wrapped into a component")?;
    let imports = imports(&component)?;
    ensure!(imports.is_empty(), "the component must import nothing, but imports {}", imports.join(", "));
    fs::write(out, component).with_context(|| format!("cannot write {}", out.display()))
}

/// The names a component imports.
///
/// # Errors
/// The bytes are not a valid component.
fn imports(component: &[u8]) -> Result<Vec<String>> {
    Validator::new_with_features(WasmFeatures::default()).validate_all(component).context("not a valid component")?;
    let mut names = Vec::new();
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    names.push(import?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
