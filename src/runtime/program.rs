//! A runtime's image, loaded: code mapped, slots ready, globals known.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::{AsContextMut, Engine, ExternType, Instance, Module, ModuleExport, Mutability, V128, Val, ValType};

use super::manifest::SCRIPT_WORD;
use super::record::{Buffer, DriverRecord, GlobalRecord, GlobalValue, Record, Thoroughness};
use super::{Home, RecordError, Transform, engine};
use crate::memory::{Creator, ImageFile, Reset, SlotPool, StackPool, load_code};

/// Why an installed runtime could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It is not there.
    #[error("the runtime image `{0}` is not installed: run `ampoule runtime install {0}`")]
    NotInstalled(String),
    /// It is there, but not as it was written, or for another engine.
    #[error("the runtime `{name}` cannot be loaded: {error}; run `ampoule runtime install {name}` to make it anew")]
    Unusable {
        /// Which runtime.
        name: String,
        /// Why.
        error: RecordError,
    },
    /// What its files are to go through is no WASI program.
    #[error("the runtime `{name}` has files go through `{filter}`, which is no program (`driver = \"program\"`)")]
    NoFilter {
        /// Which runtime.
        name: String,
        /// The image that its manifest names.
        filter: String,
    },
    /// The folder it lies in cannot be trusted.
    #[error(transparent)]
    Home(#[from] super::HomeError),
    /// The system or the engine refused.
    #[error("the runtime `{name}` cannot be loaded: {error:#}")]
    Engine {
        /// Which runtime.
        name: String,
        /// What it said.
        error: wasmtime::Error,
    },
}

/// How programs are loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loading {
    pub reset: Reset,
    /// Idle slots and stacks that are kept for each image.
    pub keep: usize,
}

/// A runtime image that can be instantiated.
pub(crate) struct Program {
    pub name: String,
    pub driver: DriverRecord,
    /// For a command, what comes before the script's own arguments; `{script}` stands for its file.
    arguments: Vec<String>,
    pub default_script_name: String,
    pub seed: bool,
    pub transforms: Vec<Transform>,
    pub environment: BTreeMap<String, String>,
    /// Host folders and where the guest sees them, read-only, in an order that never changes: the guest's C library
    /// has numbered them by the time an image is taken.
    pub mounts: Vec<(PathBuf, String)>,
    pub engine: Engine,
    pub module: Module,
    pub buffer: Option<Buffer>,
    pub image_bytes: usize,
    globals: Vec<(ModuleExport, Val)>,
    directory_names: Vec<u32>,
}

impl Program {
    /// Loads the installed image `image`, whichever runtime it belongs to.
    pub fn load(home: &Home, image: &str, loading: Loading) -> Result<Program, LoadError> {
        if !home.root().exists() {
            return Err(LoadError::NotInstalled(image.to_owned()));
        }
        home.check()?;
        let Some(record) = find(home, image)? else { return Err(LoadError::NotInstalled(image.to_owned())) };
        Program::of_record(home, &record, image, loading)
    }

    /// The arguments of a command that runs the script in this file.
    pub fn command_line<'a>(&'a self, script: &'a str, arguments: &'a [String]) -> Vec<&'a str> {
        let before = self.arguments.iter().map(|word| if word == SCRIPT_WORD { script } else { word });
        // A record that is older than these words has none.
        let alone = self.arguments.is_empty().then_some(script);
        alone.into_iter().chain(before).chain(arguments.iter().map(String::as_str)).collect()
    }

    /// Loads an image of a runtime whose record is at hand.
    pub fn of_record(home: &Home, record: &Record, image: &str, loading: Loading) -> Result<Program, LoadError> {
        let name = &record.name;
        let failed = |error| LoadError::Engine { name: name.clone(), error };
        let unusable = |error| LoadError::Unusable { name: name.clone(), error };
        record.check_files(home, Thoroughness::Quick).map_err(unusable)?;
        let found = record.images.get(image).ok_or_else(|| LoadError::NotInstalled(image.to_owned()))?;

        let memory = found.memory.path(home);
        let io = |error: io::Error| failed(wasmtime::Error::from(error).context(memory.display().to_string()));
        let file = Arc::new(ImageFile::open(&memory, found.memory.bytes).map_err(io)?);
        let image_bytes = file.len();
        let slots = SlotPool::new(file, loading.reset, loading.keep).map_err(io)?;
        let engine = engine::runner(Arc::new(Creator::new(slots)), StackPool::new(loading.keep)).map_err(failed)?;
        record.check_engine(&engine::fingerprint(&engine)).map_err(unusable)?;
        let code = record.code.path(home);
        home.check_code(&code)?;
        let module = load_code(&engine, &code).map_err(failed)?;
        let folder = record.folder(home);
        Ok(Program {
            name: image.to_owned(),
            driver: record.driver,
            arguments: record.arguments.clone(),
            default_script_name: record.default_script_name.clone(),
            seed: record.seed,
            transforms: record.transforms.clone(),
            environment: record.environment.clone(),
            mounts: record.mounts.iter().map(|mount| (folder.join(&mount.folder), mount.guest.clone())).collect(),
            globals: resolve(&module, &found.globals).map_err(failed)?,
            buffer: found.buffer,
            directory_names: found.directory_names.clone(),
            image_bytes,
            engine,
            module,
        })
    }

    /// Sets the mutable globals of a fresh instance to the image's values.
    pub fn restore_globals(&self, mut store: impl AsContextMut, instance: &Instance) -> wasmtime::Result<()> {
        for (export, value) in &self.globals {
            let global = instance.get_module_export(&mut store, export).and_then(|item| item.into_global());
            let global = global.ok_or_else(|| wasmtime::format_err!("a global of the image is not exported"))?;
            global.set(&mut store, *value)?;
        }
        Ok(())
    }

    /// Puts the name of the call's directory where the image holds the one it was made with.
    pub fn name_directory(
        &self,
        mut store: impl AsContextMut,
        instance: &Instance,
        name: &[u8],
    ) -> wasmtime::Result<()> {
        if self.directory_names.is_empty() {
            return Ok(());
        }
        let memory = instance.get_memory(&mut store, "memory");
        let memory = memory.ok_or_else(|| wasmtime::format_err!("the module does not export its memory"))?;
        for place in &self.directory_names {
            memory.write(&mut store, *place as usize, name)?;
        }
        Ok(())
    }
}

/// The record that holds the image: the runtime of that name, else any runtime that has it.
pub(crate) fn find(home: &Home, image: &str) -> Result<Option<Record>, LoadError> {
    let unusable = |name: &str| {
        let name = name.to_owned();
        move |error| LoadError::Unusable { name, error }
    };
    if let Some(record) = Record::read(home, image).map_err(unusable(image))? {
        return Ok(Some(record));
    }
    let (records, damaged) = Record::all(home);
    let found = records.into_iter().find(|record| record.images.contains_key(image));
    match (found, damaged.into_iter().next()) {
        (Some(record), _) => Ok(Some(record)),
        // It may be the one that had the image.
        (None, Some(error)) => Err(LoadError::Unusable { name: image.to_owned(), error }),
        (None, None) => Ok(None),
    }
}

fn resolve(module: &Module, globals: &[GlobalRecord]) -> wasmtime::Result<Vec<(ModuleExport, Val)>> {
    let resolve = |record: &GlobalRecord| {
        let export = module.get_export_index(&record.export);
        let export = export.ok_or_else(|| wasmtime::format_err!("the code does not export `{}`", record.export))?;
        Ok((export, record.value.into()))
    };
    globals.iter().map(resolve).collect()
}

impl From<GlobalValue> for Val {
    fn from(value: GlobalValue) -> Val {
        match value {
            GlobalValue::I32(value) => Val::I32(value),
            GlobalValue::I64(value) => Val::I64(value),
            GlobalValue::F32(bits) => Val::F32(bits),
            GlobalValue::F64(bits) => Val::F64(bits),
            GlobalValue::V128(bits) => Val::V128(V128::from(bits)),
        }
    }
}

/// The mutable globals of an instance, by their exported names.
pub(crate) fn read_globals(
    mut store: impl AsContextMut,
    module: &Module,
    instance: &Instance,
    names: &[String],
) -> wasmtime::Result<Vec<GlobalRecord>> {
    let mut read = |name: &String| {
        let ty = module.get_export(name);
        let global = instance.get_global(&mut store, name);
        let (Some(ExternType::Global(ty)), Some(global)) = (ty, global) else {
            wasmtime::bail!("the code does not export the global `{name}`");
        };
        debug_assert!(ty.mutability() == Mutability::Var && !matches!(ty.content(), ValType::Ref(_)));
        let value = match global.get(&mut store) {
            Val::I32(value) => GlobalValue::I32(value),
            Val::I64(value) => GlobalValue::I64(value),
            Val::F32(bits) => GlobalValue::F32(bits),
            Val::F64(bits) => GlobalValue::F64(bits),
            Val::V128(bits) => GlobalValue::V128(bits.as_u128()),
            _ => wasmtime::bail!("the global `{name}` holds a reference"),
        };
        Ok(GlobalRecord { export: name.clone(), value })
    };
    names.iter().map(&mut read).collect()
}
