//! The slots of one image, as the engine's source of linear memories.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use super::map::Reservation;
use super::scan::Scanner;
use super::slot::{ImageFile, Region, Reset};
use super::{GUARD_BYTES, RESERVED_BYTES};

/// The slots of one image. A call takes one (or makes one), and gives it back reset when its store is dropped.
pub(crate) struct SlotPool {
    image: Arc<ImageFile>,
    reset: Reset,
    scanner: Option<Scanner>,
    idle: Mutex<Vec<Region>>,
    /// Slots beyond this many are unmapped when they come back instead of kept.
    keep: usize,
}

impl SlotPool {
    pub fn new(image: Arc<ImageFile>, reset: Reset, keep: usize) -> io::Result<Arc<SlotPool>> {
        let scanner = if reset == Reset::Scan { Some(Scanner::new()?) } else { None };
        Ok(Arc::new(SlotPool { image, reset, scanner, idle: Mutex::default(), keep }))
    }

    fn take(&self) -> io::Result<Region> {
        // A poisoned lock means a panic between two list operations, each of which leaves the list whole.
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(region) => Ok(region),
            None => Region::new(&self.image, self.reset, (RESERVED_BYTES + GUARD_BYTES) as usize),
        }
    }

    fn give_back(&self, mut region: Region) {
        if let Err(error) = region.reset(&self.image, self.reset, self.scanner.as_ref()) {
            // The region is unmapped, so nothing of the call is left; the next call makes a new one.
            tracing::warn!(%error, "a memory slot could not be reset and was dropped");
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.keep {
            idle.push(region);
        }
    }

    /// The idle slots that differ from the image. For tests: there must never be one.
    #[cfg(test)]
    pub fn differing(&self) -> usize {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.iter_mut().filter_map(|region| (region.bytes_mut() != self.image.bytes()).then_some(())).count()
    }
}

/// What an engine with this pool asks when it needs a memory. The pool itself cannot be the creator, because a slot
/// must own a handle to its pool.
pub(crate) struct Creator {
    slots: Arc<SlotPool>,
    heaps: Arc<HeapPool>,
}

impl Creator {
    pub fn new(slots: Arc<SlotPool>) -> Creator {
        let heaps = HeapPool { idle: Mutex::default(), keep: slots.keep };
        Creator { slots, heaps: Arc::new(heaps) }
    }
}

// SAFETY: a slot is at least `minimum` bytes (checked), never moves (the whole 32-bit range is reserved), faults
// between its size and the end of the guard, and is owned by one instance at a time: it leaves the pool when it is
// taken and comes back when it is dropped. It is not zero-filled but holds the image, which is the point: the modules
// that run on it had the data segments taken out that would have been laid over zeros.
unsafe impl MemoryCreator for Creator {
    fn new_memory(
        &self,
        _ty: MemoryType,
        minimum: usize,
        _maximum: Option<usize>,
        reserved_size_in_bytes: Option<usize>,
        guard_size_in_bytes: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        // The engine's own heap for exception objects comes this way too; it reserves less.
        if reserved_size_in_bytes != Some(RESERVED_BYTES as usize) {
            let reserved = reserved_size_in_bytes.unwrap_or(0);
            let heap = self.heaps.take(minimum, reserved, guard_size_in_bytes);
            return heap.map_err(|error| format!("no address space for exception objects: {error}"));
        }
        if guard_size_in_bytes > GUARD_BYTES as usize {
            return Err(format!("a guard of {guard_size_in_bytes} bytes was asked for, slots have {GUARD_BYTES}"));
        }
        if minimum > self.slots.image.len() {
            let image = self.slots.image.len();
            return Err(format!("the module needs {minimum} bytes of memory, but its image holds {image}"));
        }
        let region = self.slots.take().map_err(|error| format!("no address space for a memory slot: {error}"))?;
        Ok(Box::new(Slot { pool: self.slots.clone(), region: Some(region) }))
    }
}

/// One call's linear memory.
struct Slot {
    pool: Arc<SlotPool>,
    /// Always there until the drop takes it.
    region: Option<Region>,
}

impl Slot {
    fn region(&self) -> &Region {
        self.region.as_ref().expect("a slot holds its region until it is dropped")
    }
}

// SAFETY: the base never moves; `byte_size` bytes are accessible and the rest of the reservation faults; the region
// is owned by this slot alone.
unsafe impl LinearMemory for Slot {
    fn byte_size(&self) -> usize {
        self.region().size()
    }

    fn byte_capacity(&self) -> usize {
        RESERVED_BYTES as usize
    }

    fn grow_to(&mut self, size: usize) -> wasmtime::Result<()> {
        if size > RESERVED_BYTES as usize {
            wasmtime::bail!("{size} bytes are more than a 32-bit memory holds");
        }
        let region = self.region.as_mut().expect("a slot holds its region until it is dropped");
        Ok(region.grow(size)?)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.region().base()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(region) = self.region.take() {
            self.pool.give_back(region);
        }
    }
}

/// The address space of heaps for exception objects. Most calls reserve one and never touch it.
struct HeapPool {
    idle: Mutex<Vec<Reservation>>,
    keep: usize,
}

impl HeapPool {
    fn take(self: &Arc<Self>, minimum: usize, reserved: usize, guard: usize) -> io::Result<Box<dyn LinearMemory>> {
        let capacity = reserved.max(minimum);
        let needed = capacity.saturating_add(guard);
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reservation = match idle {
            Some(reservation) if reservation.len() >= needed => reservation,
            _ => Reservation::new(needed)?,
        };
        reservation.commit(0..minimum)?;
        Ok(Box::new(Heap { pool: self.clone(), reservation: Some(reservation), size: minimum, capacity }))
    }
}

struct Heap {
    pool: Arc<HeapPool>,
    /// Always there until the drop takes it.
    reservation: Option<Reservation>,
    size: usize,
    capacity: usize,
}

// SAFETY: the memory is zero-filled (a heap goes back to the pool without any page), owned by one instance, does not
// move, and faults behind its size up to the end of the guard.
unsafe impl LinearMemory for Heap {
    fn byte_size(&self) -> usize {
        self.size
    }

    fn byte_capacity(&self) -> usize {
        self.capacity
    }

    fn grow_to(&mut self, size: usize) -> wasmtime::Result<()> {
        if size > self.capacity {
            wasmtime::bail!("{size} bytes were asked of a heap that reserved {}", self.capacity);
        }
        let reservation = self.reservation.as_mut().expect("a heap holds its reservation until it is dropped");
        reservation.commit(self.size..size)?;
        self.size = size;
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        self.reservation.as_ref().expect("a heap holds its reservation until it is dropped").base()
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        let Some(mut reservation) = self.reservation.take() else { return };
        if self.size > 0 && reservation.release(0..self.size).is_err() {
            return;
        }
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.pool.keep {
            idle.push(reservation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::StackPool;
    use crate::runtime::engine;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use wasmtime::{Instance, Module, Store};

    /// Writes every page, grows to its limit and writes that too, then ends in one of several ways.
    const HOSTILE: &str = r#"(module
        (memory (export "memory") 4 64)
        (func $fill (memory.fill (i32.const 0) (i32.const 0xEE) (i32.mul (memory.size) (i32.const 65536))))
        (func (export "return") (call $fill) (drop (memory.grow (i32.const 60))) (call $fill))
        (func (export "trap") (call $fill) (drop (memory.grow (i32.const 60))) (call $fill) unreachable)
        (func (export "loop") (call $fill) (loop $l (br $l)))
        (func (export "first") (result i32) (i32.load8_u (i32.const 0))))"#;

    fn pool(reset: Reset, keep: usize) -> (tempfile::TempDir, Arc<SlotPool>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let bytes: Vec<u8> = (0..4 * 65536).map(|i| (i / 7 + 1) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let image = ImageFile::open(&path, bytes.len() as u64).unwrap();
        (dir, SlotPool::new(Arc::new(image), reset, keep).unwrap())
    }

    #[test]
    fn every_slot_equals_its_image_after_hostile_calls_from_many_threads() {
        for reset in [Some(Reset::best()), cfg!(unix).then_some(Reset::Remap), Some(Reset::Copy)].into_iter().flatten()
        {
            let (_dir, pool) = pool(reset, 8);
            let engine = engine::runner(Arc::new(Creator::new(pool.clone())), StackPool::new(8)).unwrap();
            let module = Module::new(&engine, wat::parse_str(HOSTILE).unwrap()).unwrap();
            let calls = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                        while calls.fetch_add(1, Ordering::Relaxed) < 60 {
                            for way in ["return", "trap", "loop"] {
                                let mut store = Store::new(&engine, ());
                                store.set_fuel(5_000_000).unwrap();
                                store.set_epoch_deadline(u64::MAX / 2);
                                runtime.block_on(async {
                                    let instance = Instance::new_async(&mut store, &module, &[]).await.unwrap();
                                    let first = instance.get_typed_func::<(), u32>(&mut store, "first").unwrap();
                                    assert_eq!(first.call_async(&mut store, ()).await.unwrap(), 1);
                                    let hostile = instance.get_typed_func::<(), ()>(&mut store, way).unwrap();
                                    let ended = hostile.call_async(&mut store, ()).await;
                                    assert_eq!(ended.is_ok(), way == "return");
                                });
                            }
                        }
                    });
                }
            });
            assert!(!pool.idle.lock().unwrap().is_empty(), "{reset:?}");
            assert_eq!(pool.differing(), 0, "{reset:?}");
        }
    }

    #[test]
    fn a_module_that_needs_more_memory_than_its_image_holds_is_refused() {
        let (_dir, pool) = pool(Reset::Copy, 1);
        let engine = engine::runner(Arc::new(Creator::new(pool)), StackPool::new(1)).unwrap();
        let module = Module::new(&engine, wat::parse_str("(module (memory 5))").unwrap()).unwrap();
        let error = Instance::new(&mut Store::new(&engine, ()), &module, &[]).unwrap_err().to_string();
        assert!(error.contains("needs 327680 bytes of memory, but its image holds 262144"), "{error}");
    }
}
