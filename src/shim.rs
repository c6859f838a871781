//! What a `no_std` module has to bring itself: an allocator for both sides of the boundary, an end for panics, and, for
//! the component, `cabi_realloc` and `memcmp`.

use core::arch::wasm32::unreachable as trap;

/// dlmalloc asks the module's own memory for more and returns freed blocks to it, so no import is needed.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Ends the instance. The lints keep panics out of the core: what is left is a host that refuses memory. Nothing is
/// written, so that no text of a panic is in the module.
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    trap()
}

#[cfg(feature = "component")]
mod component {
    use super::trap;
    use alloc::alloc::{Layout, alloc, realloc};
    use core::ptr;

    /// Where the host puts the strings and lists it passes. The detector frees them, so they must come from its own
    /// allocator: left undefined here, the linker would silently take the C library's, which has another heap.
    ///
    /// Traps where the memory cannot be had: the canonical ABI knows no other answer.
    ///
    /// # Safety
    /// `old_size` is 0, or `old` is a block of `old_size` bytes and alignment `align` that this function returned and
    /// `new_size` is not 0.
    #[expect(unsafe_code, reason = "the canonical ABI prescribes this function and its raw memory")]
    #[unsafe(no_mangle)]
    unsafe extern "C" fn cabi_realloc(old: *mut u8, old_size: usize, align: usize, new_size: usize) -> *mut u8 {
        if new_size == 0 {
            return ptr::without_provenance_mut(align);
        }
        let Ok(layout) = Layout::from_size_align(if old_size == 0 { new_size } else { old_size }, align) else {
            trap()
        };
        // SAFETY: neither size is 0 here, and an old block has this layout by the contract above.
        let block = unsafe { if old_size == 0 { alloc(layout) } else { realloc(old, layout, new_size) } };
        if block.is_null() { trap() } else { block }
    }

    // Compiled code calls `memcmp`, which on this target is the C library's (it comes with the Rust target). Nothing
    // else of it is linked, so nothing of WASI is.
    #[expect(unsafe_code, reason = "declares nothing: it only names the library to the linker")]
    #[link(name = "c")]
    unsafe extern "C" {}
}
