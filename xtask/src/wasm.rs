//! The two WebAssembly artefacts: the component, and the core module of the npm package.

use crate::counts::Counts;
use crate::files::files;
use crate::inputs::collect;
use crate::plan::Line;
use crate::workspace::{Build, Workspace};
use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Stack of the component. rustc's default of 1 MiB would be four times the linear memory allowed for a fresh instance.
const STACK_BYTES: u32 = 72 * 1024;

/// The features that rustc's wasm targets and wasm-bindgen use, and SIMD; a stripped module does not name its features.
///
/// A function with a single caller is inlined only if it is small: engines compile a function when it is first called,
/// and one made of many waits for code that hardly ever runs (a first verdict took 30 ms because of two of those). A
/// second `-Oz` saves another 1.2 KB.
///
/// The first 1,024 bytes hold nothing but the end of the stack, so a load may add a small offset to a pointer itself:
/// this makes a difference only after a stack overflow, and then the load traps.
const WASM_OPT: [&str; 15] = [
    "-Oz",
    "-Oz",
    "--one-caller-inline-max-function-size=40",
    "--low-memory-unused",
    "--strip-debug",
    "--strip-producers",
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-simd",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-mutable-globals",
    "--enable-multivalue",
    "--enable-reference-types",
    "--enable-call-indirect-overlong",
];

/// How functions are ordered, and how panic locations are removed.
const ORDER: &[u8] = include_bytes!("../wasm/src/order.rs");
const PLACES: &[u8] = include_bytes!("../wasm/src/places.rs");

/// Builds the tool that makes glue and components from modules.
pub(crate) fn tools(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    line.run(&mut workspace.cargo(["build", "--package=xtask-wasm"])).map(|_| Counts::default())
}

/// That tool, as built by `tools`. Not run through cargo, which would wait for a build in progress.
fn program(workspace: &Workspace) -> Command {
    Command::new(workspace.target.join("debug").join(format!("xtask-wasm{}", env::consts::EXE_SUFFIX)))
}

/// Builds the component, optimises it, and checks that it imports nothing.
pub(crate) fn component(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let core = component_module(workspace, line)?;
    let artefact = workspace.component();
    let stamp = Stamp::new(artefact.with_extension("stamp"), [core.clone(), optimiser(workspace)?]);
    if stamp.is_fresh(&artefact) {
        return Ok(Counts::default());
    }
    let folder = artefact.parent().context("the component has no folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let module = folder.join("core.wasm");
    write(&module, &core)?;
    wasm_opt(workspace, line, &module)?;
    // Under another name until it is known to be fit for shipping.
    let made = folder.join("made.wasm");
    line.run(program(workspace).arg("component").arg(&module).arg(&made))?;
    names_no_folder(workspace, "the component", &read(&made)?)?;
    fs::rename(&made, &artefact).with_context(|| format!("cannot write {}", artefact.display()))?;
    stamp.set()?;
    Ok(Counts::default())
}

/// The core module of the component, as built by cargo.
fn component_module(workspace: &Workspace, line: &mut Line) -> Result<Vec<u8>> {
    let stack = format!("link-arg=-zstack-size={STACK_BYTES}");
    let mut command = wasm_cargo(workspace, "component", "wasm32-wasip2");
    // wasm-opt reads only core modules, so the linker must not wrap the module into a component yet.
    command.args(["--", "-C", "link-arg=--export=cabi_realloc", "-C", &stack, "-C", "link-arg=--skip-wit-component"]);
    line.compile(&mut command)?;
    read(&wasm_artefact(workspace, "wasm32-wasip2"))
}

/// A module of the npm package, as built by cargo.
fn npm_module(workspace: &Workspace, line: &mut Line, feature: &str, level: Option<&str>) -> Result<Vec<u8>> {
    line.compile(&mut npm_cargo(workspace, feature, level))?;
    read(&wasm_artefact(&of_module(workspace, level), NPM_TARGET))
}

/// Where a module of the npm package is built. Cargo gives both the same name, so in one folder each build would
/// replace the other's.
fn of_module(workspace: &Workspace, level: Option<&str>) -> Workspace {
    match level {
        Some(_) if workspace.build != Build::Trial => workspace.elsewhere("npm-tools"),
        _ => workspace.built(workspace.build),
    }
}

/// The build of a module of the npm package.
fn npm_cargo(workspace: &Workspace, feature: &str, level: Option<&str>) -> Command {
    // In a trial build, one module serves as both, so that it is compiled once.
    let trial = workspace.build == Build::Trial;
    let features = if trial { "js,tools" } else { feature };
    let mut command = wasm_cargo(&of_module(workspace, level), features, NPM_TARGET);
    if let Some(level) = level.filter(|_| !trial) {
        command.env("CARGO_PROFILE_WASM_OPT_LEVEL", level);
    }
    // After a trap the wrapper resets the stack pointer.
    command.args(["--", "-C", "link-arg=--export=__stack_pointer"]);
    command
}

/// Compiles the first module of the npm package while the tool that processes it is not built yet.
pub(crate) fn core_module(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    line.compile(&mut first_module(workspace)).map(|()| Counts::default())
}

/// The build of the npm package's first module, for starting it alongside other work.
pub(crate) fn first_module(workspace: &Workspace) -> Command {
    let [(feature, _, level), ..] = MODULES;
    npm_cargo(workspace, feature, level)
}

/// Builds every module again from scratch and compares the bytes.
pub(crate) fn twice(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let again = workspace.elsewhere("again");
    if again.target.exists() {
        fs::remove_dir_all(&again.target).with_context(|| format!("cannot empty {}", again.target.display()))?;
    }
    ensure!(
        component_module(workspace, line)? == component_module(&again, line)?,
        "two builds of the component's module differ"
    );
    for (feature, name, level) in MODULES {
        let (first, second) = (npm_module(workspace, line, feature, level)?, npm_module(&again, line, feature, level)?);
        ensure!(first == second, "two builds of the module `{name}` differ");
    }
    fs::remove_dir_all(&again.target).with_context(|| format!("cannot remove {}", again.target.display()))?;
    let passed = 1 + u32::try_from(MODULES.len())?;
    Ok(Counts { passed, ..Counts::default() })
}

/// Fails if a shipped file contains paths of the build machine.
fn names_no_folder(workspace: &Workspace, what: &str, bytes: &[u8]) -> Result<()> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let tools = |name: &str, folder: &str| env::var_os(name).map(PathBuf::from).or(Some(home.as_ref()?.join(folder)));
    let folders = [Some(workspace.root.clone()), Some(workspace.target.clone())];
    let folders = folders.into_iter().chain([tools("CARGO_HOME", ".cargo"), tools("RUSTUP_HOME", ".rustup")]).flatten();
    match folders.filter_map(|folder| folder.to_str().map(str::to_owned)).find(|folder| holds(bytes, folder)) {
        Some(folder) => bail!("{what} names {folder}"),
        None => Ok(()),
    }
}

/// Whether bytes contain the path of a folder.
fn holds(bytes: &[u8], folder: &str) -> bool {
    folder.len() > 1 && bytes.windows(folder.len()).any(|window| window == folder.as_bytes())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The modules of the npm package: feature, name of the files in `js/glue`, and optimisation level if it is not the
/// profile's. The tools are rarely called and only have to be small.
const MODULES: [(&str, &str, Option<&str>); 2] = [("js", "loopwarden", None), ("tools", "tools", Some("z"))];

/// The target of the npm package's modules.
const NPM_TARGET: &str = "wasm32-unknown-unknown";

/// Builds the npm package's modules and their JavaScript glue into `js/glue`.
pub(crate) fn glue(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    for (feature, name, level) in MODULES {
        let module = npm_module(workspace, line, feature, level)?;
        let folder = workspace.js().join("glue");
        let path = folder.join(format!("{name}_bg.wasm"));
        let stamp = workspace.js().join(format!("node_modules/.loopwarden-glue-{name}"));
        let built = wasm_artefact(&of_module(workspace, level), NPM_TARGET);
        let stamp = Stamp::new(stamp, [module, optimiser(workspace)?]);
        if stamp.is_fresh(&path) {
            continue;
        }
        line.run(program(workspace).arg("glue").arg(&built).arg(&folder).arg(name))?;
        wasm_opt(workspace, line, &path)?;
        order(workspace, line, &path)?;
        names_no_folder(workspace, &format!("the module `{name}`"), &read(&path)?)?;
        stamp.set()?;
    }
    Ok(Counts::default())
}

/// Builds the npm package from its sources, the glue and the schemas.
pub(crate) fn package(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let mut inputs = Vec::new();
    for entry in ["src", "scripts", "glue", "schema"] {
        collect(&workspace.js().join(entry), &workspace.root, &mut inputs)?;
    }
    for path in files(&workspace.js())? {
        if path.extension().is_some_and(|extension| extension != "tgz") {
            collect(&path, &workspace.root, &mut inputs)?;
        }
    }
    let stamp = Stamp::new(workspace.js().join("node_modules/.loopwarden-package"), inputs);
    if stamp.is_fresh(&workspace.js().join("dist")) {
        return Ok(Counts::default());
    }
    line.run(&mut workspace.npm(["run", "build"]))?;
    stamp.set()?;
    Ok(Counts::default())
}

/// SHA-256 of parts, each preceded by its length, in hexadecimal.
pub(crate) fn digest(parts: impl IntoIterator<Item = Vec<u8>>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    hex(&hasher.finalize())
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The build of the library as a core module, before its linker arguments.
fn wasm_cargo(workspace: &Workspace, feature: &str, target: &str) -> Command {
    let mut command = workspace.cargo(["rustc", "--package=loopwarden", "--lib", "--crate-type=cdylib"]);
    command.args([
        "--no-default-features",
        "--profile",
        workspace.build.profile(),
        "--features",
        feature,
        "--target",
        target,
    ]);
    // The same bytes from every checkout: panic messages would contain local paths.
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")));
    let mut flags = vec![format!("--remap-path-prefix={}=loopwarden", workspace.root.display())];
    // Texts are scanned sixteen bytes at a time, in half the time: `src/text/scan/vectors.rs`.
    flags.push("-Ctarget-feature=+simd128".into());
    // By default, level `s` inlines functions up to a cost of 50, and up to 325 if marked `#[inline]`, as most of the
    // standard library is. Lower thresholds save a fifteenth of the download for less than a tenth of a pair's time
    // (docs/performance.md, *Size*).
    flags.push("-Cllvm-args=-inline-threshold=3 -inlinehint-threshold=6".into());
    flags.extend(home.map(|home| format!("--remap-path-prefix={}=cargo", home.display())));
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    command
}

/// Where cargo puts the core module for a target.
fn wasm_artefact(workspace: &Workspace, target: &str) -> PathBuf {
    workspace.target.join(target).join(workspace.build.profile()).join("loopwarden.wasm")
}

/// Optimises a module for size if it is to be shipped.
fn wasm_opt(workspace: &Workspace, line: &mut Line, module: &Path) -> Result<()> {
    if workspace.build == Build::Trial {
        return Ok(());
    }
    line.run(program(workspace).arg("places").arg(module))?;
    let mut command = workspace.tool("wasm-opt");
    line.run(command.args(WASM_OPT).arg(module).arg("-o").arg(module)).map(|_| ())
}

/// Distances in bytes within which functions are put next to similar ones. Which of them suits a module best is a matter
/// of chance: with brotli, it takes 0.5 KB less than with the average one, and 2 KB less than with the worst.
const WINDOWS: [&str; 12] =
    ["8000", "10000", "12000", "14000", "16000", "18000", "20000", "22000", "24000", "26000", "28000", "40000"];

/// Pieces that more functions share say nothing of their likeness; which of the numbers suits a module is as much chance.
const COMMON: [&str; 2] = ["60", "2000"];

/// Puts similar functions next to each other, in the order that compresses best: the download is compressed, and gzip
/// only looks back a short way.
fn order(workspace: &Workspace, line: &mut Line, module: &Path) -> Result<()> {
    if workspace.build == Build::Trial {
        return Ok(());
    }
    let (given, mut best) = (read(module)?, None);
    for (window, common) in WINDOWS.iter().flat_map(|window| COMMON.map(|common| (window, common))) {
        write(module, &given)?;
        line.run(program(workspace).arg("order").arg(module).arg(window).arg(common))?;
        let features = WASM_OPT.iter().filter(|option| option.starts_with("--enable"));
        let mut command = workspace.tool("wasm-opt");
        command.args(features).args(["--reorder-functions-by-name", "--strip-debug"]).arg(module).arg("-o").arg(module);
        line.run(&mut command)?;
        let ordered = (compressed(line, module)?, read(module)?);
        if best.as_ref().is_none_or(|(size, _)| ordered.0 < *size) {
            best = Some(ordered);
        }
    }
    best.map_or(Ok(()), |(_, ordered)| write(module, &ordered))
}

/// Bytes that a file takes when compressed with brotli.
fn compressed(line: &mut Line, file: &Path) -> Result<usize> {
    let script = "console.log(require('zlib').brotliCompressSync(require('fs').readFileSync(process.argv[1])).length)";
    let size = line.run(Command::new("node").args(["-e", script]).arg(file))?;
    size.trim().parse().with_context(|| format!("node printed `{size}` instead of a size"))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// What else determines the bytes of an artefact: wasm-opt's options and locked version, how functions are ordered, and
/// what is removed.
fn optimiser(workspace: &Workspace) -> Result<Vec<u8>> {
    let lock = workspace.js().join("tools/binaryen/package-lock.json");
    let lock = fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let options = [WASM_OPT.concat(), WINDOWS.concat(), COMMON.concat()].concat();
    Ok([options.into_bytes(), lock, ORDER.to_vec(), PLACES.to_vec()].concat())
}

/// Records what an artefact was made from.
struct Stamp {
    path: PathBuf,
    digest: String,
}

impl Stamp {
    fn new(path: PathBuf, inputs: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self { path, digest: digest(inputs) }
    }

    fn is_fresh(&self, artefact: &Path) -> bool {
        artefact.exists() && fs::read_to_string(&self.path).is_ok_and(|digest| digest == self.digest)
    }

    fn set(&self) -> Result<()> {
        fs::write(&self.path, &self.digest).with_context(|| format!("cannot write {}", self.path.display()))
    }
}
